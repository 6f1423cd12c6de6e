/** Reading the backlog. */

import {
  ItemBody,
  ItemPatch,
  ItemsAnswer,
  ItemsQuery,
  ReadyAnswer,
  ReadyQuery,
} from "../../contract/items.ts";
import { Report, ReportQuery } from "../../contract/report.ts";
import { BACKLOG, itemId } from "../../domain/record-key.ts";
import { reportMarkdown } from "../../domain/report-markdown.ts";
import type { Deps } from "../../services/deps.ts";
import { keepingLate } from "../../services/late-results.ts";
import { getItem, listItems } from "../../services/read-items.ts";
import { ready } from "../../services/ready.ts";
import { report } from "../../services/report.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { updateItem } from "../../services/update-item.ts";
import { keyed } from "./once-of.ts";
import {
  FenceHeaders,
  fenceRefusals,
  ItemParams,
  RepoParams,
  type Routes,
  refusals,
  repositoryName,
} from "./route-schemas.ts";

const tags = ["Backlog"];

export function itemRoutes(app: Routes, deps: Deps): void {
  app.get(
    "/api/v1/repos/:owner/:repo/ready",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "What is ready, and why the rest is not",
        tags,
        params: RepoParams,
        querystring: ReadyQuery,
        response: { 200: ReadyAnswer, ...refusals },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return ready(deps, repository, request.query, request.caller);
    },
  );
  app.get(
    "/api/v1/repos/:owner/:repo/items",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "Items, by number",
        tags,
        params: RepoParams,
        querystring: ItemsQuery,
        response: { 200: ItemsAnswer, ...refusals },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return listItems(deps, repository, request.query, request.caller);
    },
  );
  app.get(
    "/api/v1/repos/:owner/:repo/items/:number",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "One item, with every reason against claiming it",
        tags,
        params: ItemParams,
        response: { 200: ItemBody, ...refusals },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return getItem(deps, repository, request.params.number, request.caller);
    },
  );
  app.patch(
    "/api/v1/repos/:owner/:repo/items/:number",
    {
      config: { capability: "write", scope: "filtered" },
      schema: {
        summary: "Change an item's tags and links, and under a claim its resume block",
        tags,
        params: ItemParams,
        headers: FenceHeaders,
        body: ItemPatch,
        response: { 200: ItemBody, ...fenceRefusals },
      },
    },
    async (request, reply) => {
      const { number } = request.params;
      const name = repositoryName(request.params);
      const at = { repository: await repositoryByName(deps, name), number };
      const token = request.headers["fencing-token"] ?? null;
      const late = { repository: name, topic: BACKLOG, id: itemId(number), token, request: request.body };
      return keepingLate(deps, request.caller, late, () =>
        keyed(deps, request, reply, (inside) => updateItem(inside, request.caller, at, token, request.body)),
      );
    },
  );
  app.get(
    "/api/v1/repos/:owner/:repo/report",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "Where are we? As JSON, or as markdown with Accept: text/markdown",
        tags,
        params: RepoParams,
        querystring: ReportQuery,
        response: { 200: Report, ...refusals },
      },
    },
    async (request, reply) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      const answer = await report(deps, repository, request.query, request.caller);
      if (!/\btext\/markdown\b/.test(request.headers.accept ?? "")) return answer;
      // Text: the schema describes the JSON.
      return reply
        .header("content-type", "text/markdown; charset=utf-8")
        .serializer((text: unknown) => text as string)
        .send(reportMarkdown(answer) as never);
    },
  );
}

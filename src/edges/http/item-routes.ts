/** Reading the backlog. */

import { AttemptsAnswer, AttemptsQuery } from "../../contract/attempts.ts";
import {
  ItemBody,
  ItemPatch,
  ItemsAnswer,
  ItemsQuery,
  ReadyAnswer,
  ReadyQuery,
  RootsQuery,
} from "../../contract/items.ts";
import { Report, ReportMarkdown, ReportQuery } from "../../contract/report.ts";
import { BACKLOG, itemId } from "../../domain/record-key.ts";
import { reportMarkdown } from "../../domain/report-markdown.ts";
import type { Deps } from "../../services/deps.ts";
import { itemAttempts } from "../../services/item-attempts.ts";
import { keepingLate } from "../../services/late-results.ts";
import { getItem, listItems } from "../../services/read-items.ts";
import { ready } from "../../services/ready.ts";
import { report } from "../../services/report.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { updateItem } from "../../services/update-item.ts";
import { keyed } from "./once-of.ts";
import { FENCE_CODES, KEYED_CODES, READ_CODES, refusing } from "./refusals.ts";
import { FenceHeaders, ItemParams, RepoParams, type Routes, repositoryName } from "./route-schemas.ts";

const tags = ["Backlog"];

export function itemRoutes(app: Routes, deps: Deps): void {
  app.get(
    "/api/v1/repos/:owner/:repo/ready",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "readyItems",
        summary: "What is ready, and why the rest is not",
        description:
          "The ready set in its order, what waits and for what, what is in flight, and a verdict: `idle` ends a worker, `alarm` calls a person. Every list is capped at `limit`; totals are exact up to 10,000.",
        tags,
        params: RepoParams,
        querystring: ReadyQuery,
        response: { 200: ReadyAnswer, ...refusing(...READ_CODES) },
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
        operationId: "listItems",
        summary: "Items, by number",
        description: "Filters combine. Pages go on with `nextCursor`, under the same filters.",
        tags,
        params: RepoParams,
        querystring: ItemsQuery,
        response: { 200: ItemsAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return listItems(deps, request.caller, repository, request.query);
    },
  );
  app.get(
    "/api/v1/repos/:owner/:repo/items/roots",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listRootItems",
        summary: "Items that are part of no other, by number",
        description:
          "Those that have nothing above them which the caller may see. The filters of the list of items, but for `epic`.",
        tags,
        params: RepoParams,
        querystring: RootsQuery,
        response: { 200: ItemsAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return listItems(deps, request.caller, repository, request.query, { roots: true });
    },
  );
  app.get(
    "/api/v1/repos/:owner/:repo/items/:number/attempts",
    {
      config: { capability: "read", scope: "subject" },
      schema: {
        operationId: "listAttempts",
        summary: "An item's attempts: markers, grants, which count and why",
        description:
          "A row for each fencing token, newest first, with the grant, the marker on the issue, whether it counts as an attempt and why; what comparing both says; and the threshold.",
        tags,
        params: ItemParams,
        querystring: AttemptsQuery,
        response: { 200: AttemptsAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return itemAttempts(deps, { repository, number: request.params.number }, request.query);
    },
  );
  app.get(
    "/api/v1/repos/:owner/:repo/items/:number",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "getItem",
        summary: "One item, with every reason against claiming it",
        description: "All that is known of an item. `reasons` is empty exactly when it can be claimed now.",
        tags,
        params: ItemParams,
        response: { 200: ItemBody, ...refusing(...READ_CODES) },
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
        operationId: "updateItem",
        summary: "Change an item's tags and links, and under a claim its resume block",
        description:
          "The resume block is written only under a live claim's Fencing-Token; reserved tags have calls of their own.",
        tags,
        params: ItemParams,
        headers: FenceHeaders,
        body: ItemPatch,
        response: {
          200: ItemBody,
          ...refusing(...KEYED_CODES, ...FENCE_CODES, "reserved", "cycle", "edge_refused"),
        },
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
        operationId: "getReport",
        summary: "Where are we? As JSON, or as markdown with Accept: text/markdown",
        description:
          "What is in flight and with whom, what is ready first and why, what is blocked and on what, which questions wait for a ruling, and every defect.",
        tags,
        params: RepoParams,
        querystring: ReportQuery,
        response: {
          200: {
            description: "The report",
            content: { "application/json": { schema: Report }, "text/markdown": { schema: ReportMarkdown } },
          },
          ...refusing(...READ_CODES),
        },
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

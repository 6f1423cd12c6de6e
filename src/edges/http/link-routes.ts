/** What items hang on: reading it, and asking whether an edge may be. */

import {
  BacklinksAnswer,
  BreadcrumbsAnswer,
  ChildrenAnswer,
  DependenciesAnswer,
  EdgesAnswer,
  LinksQuery,
  ValidateEdges,
} from "../../contract/links.ts";
import type { Deps } from "../../services/deps.ts";
import type { ItemAt } from "../../services/item-changes.ts";
import { backlinksOf, breadcrumbsOf, childrenOf, dependenciesOf } from "../../services/read-links.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { validateEdges } from "../../services/validate-edges.ts";
import { ItemParams, RepoParams, type Routes, refusals, repositoryName } from "./route-schemas.ts";

const tags = ["Backlog"];
const ITEM = "/api/v1/repos/:owner/:repo/items/:number";

export function linkRoutes(app: Routes, deps: Deps): void {
  const itemAt = async (params: { owner: string; repo: string; number: number }): Promise<ItemAt> => ({
    repository: await repositoryByName(deps, repositoryName(params)),
    number: params.number,
  });
  app.get(
    `${ITEM}/children`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "What is directly part of the item",
        tags,
        params: ItemParams,
        querystring: LinksQuery,
        response: { 200: ChildrenAnswer, ...refusals },
      },
    },
    async (request) => childrenOf(deps, await itemAt(request.params), request.query, request.caller),
  );
  app.get(
    `${ITEM}/breadcrumbs`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "What the item is part of, from the root down",
        tags,
        params: ItemParams,
        response: { 200: BreadcrumbsAnswer, ...refusals },
      },
    },
    async (request) => breadcrumbsOf(deps, await itemAt(request.params), request.caller),
  );
  app.get(
    `${ITEM}/dependencies`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "What the item waits for, and what waits for it",
        tags,
        params: ItemParams,
        querystring: LinksQuery,
        response: { 200: DependenciesAnswer, ...refusals },
      },
    },
    async (request) => dependenciesOf(deps, await itemAt(request.params), request.query, request.caller),
  );
  app.get(
    `${ITEM}/backlinks`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "Items and records that link to the item",
        tags,
        params: ItemParams,
        querystring: LinksQuery,
        response: { 200: BacklinksAnswer, ...refusals },
      },
    },
    async (request) => backlinksOf(deps, await itemAt(request.params), request.query, request.caller),
  );
  app.post(
    "/api/v1/repos/:owner/:repo/validate-edges",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "Which edges would be refused, and why; nothing is written",
        tags,
        params: RepoParams,
        body: ValidateEdges,
        response: { 200: EdgesAnswer, ...refusals },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return validateEdges(deps, repository, request.body, request.caller);
    },
  );
}

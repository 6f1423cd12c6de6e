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
import { READ_CODES, refusing } from "./refusals.ts";
import { ItemParams, RepoParams, type Routes, repositoryName } from "./route-schemas.ts";

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
        operationId: "listChildren",
        summary: "What is directly part of the item",
        description: "By repository and number.",
        tags,
        params: ItemParams,
        querystring: LinksQuery,
        response: { 200: ChildrenAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => childrenOf(deps, await itemAt(request.params), request.query, request.caller),
  );
  app.get(
    `${ITEM}/breadcrumbs`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listBreadcrumbs",
        summary: "What the item is part of, from the root down",
        description: "Of several parents the first that it had.",
        tags,
        params: ItemParams,
        response: { 200: BreadcrumbsAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => breadcrumbsOf(deps, await itemAt(request.params), request.caller),
  );
  app.get(
    `${ITEM}/dependencies`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listDependencies",
        summary: "What the item waits for, and what waits for it",
        description:
          "Both directions, with whether each is satisfied and, where somebody has to rule, who and on what.",
        tags,
        params: ItemParams,
        querystring: LinksQuery,
        response: { 200: DependenciesAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => dependenciesOf(deps, await itemAt(request.params), request.query, request.caller),
  );
  app.get(
    `${ITEM}/backlinks`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listBacklinks",
        summary: "Items and records that link to the item",
        description: "By any relation.",
        tags,
        params: ItemParams,
        querystring: LinksQuery,
        response: { 200: BacklinksAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => backlinksOf(deps, await itemAt(request.params), request.query, request.caller),
  );
  app.post(
    "/api/v1/repos/:owner/:repo/validate-edges",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "validateEdges",
        summary: "Which edges would be refused, and why; nothing is written",
        description: "Judged in the order given, each as if those before it were there.",
        tags,
        params: RepoParams,
        body: ValidateEdges,
        response: { 200: EdgesAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return validateEdges(deps, repository, request.body, request.caller);
    },
  );
}

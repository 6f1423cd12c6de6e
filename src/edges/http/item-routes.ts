/** Reading the backlog. */

import { ItemBody, ItemsAnswer, ItemsQuery, ReadyAnswer, ReadyQuery } from "../../contract/items.ts";
import type { Deps } from "../../services/deps.ts";
import { getItem, listItems } from "../../services/read-items.ts";
import { ready } from "../../services/ready.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { ItemParams, RepoParams, type Routes, refusals, repositoryName } from "./route-schemas.ts";

const tags = ["Backlog"];

export function itemRoutes(app: Routes, deps: Deps): void {
  app.get(
    "/api/v1/repos/:owner/:repo/ready",
    {
      schema: {
        summary: "What is ready, and why the rest is not",
        tags,
        params: RepoParams,
        querystring: ReadyQuery,
        response: { 200: ReadyAnswer, ...refusals },
      },
    },
    async (request) => {
      return ready(deps, await repositoryByName(deps, repositoryName(request.params)), request.query);
    },
  );
  app.get(
    "/api/v1/repos/:owner/:repo/items",
    {
      schema: {
        summary: "Items, by number",
        tags,
        params: RepoParams,
        querystring: ItemsQuery,
        response: { 200: ItemsAnswer, ...refusals },
      },
    },
    async (request) => {
      return listItems(deps, await repositoryByName(deps, repositoryName(request.params)), request.query);
    },
  );
  app.get(
    "/api/v1/repos/:owner/:repo/items/:number",
    {
      schema: {
        summary: "One item, with every reason against claiming it",
        tags,
        params: ItemParams,
        response: { 200: ItemBody, ...refusals },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return getItem(deps, repository, request.params.number);
    },
  );
}

/** The repositories that Leasehold knows. */

import { ReposAnswer, ReposQuery } from "../../contract/operations.ts";
import type { Deps } from "../../services/deps.ts";
import { listRepos } from "../../services/list-repositories.ts";
import { refusing } from "./refusals.ts";
import type { Routes } from "./route-schemas.ts";

export function repoRoutes(app: Routes, deps: Deps): void {
  app.get(
    "/api/v1/repos",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listRepositories",
        summary: "Repositories that the caller can see",
        description: "By id, page by page.",
        tags: ["Operations"],
        querystring: ReposQuery,
        response: { 200: ReposAnswer, ...refusing("validation_failed") },
      },
    },
    async (request) => {
      return listRepos(deps, request.query, request.caller);
    },
  );
}

/** The repositories that Leasehold knows. */

import { ReposAnswer, ReposQuery } from "../../contract/operations.ts";
import type { Deps } from "../../services/deps.ts";
import { listRepos } from "../../services/list-repositories.ts";
import { type Routes, refusals } from "./route-schemas.ts";

export function repoRoutes(app: Routes, deps: Deps): void {
  app.get(
    "/api/v1/repos",
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        summary: "Repositories that the caller can see",
        tags: ["Operations"],
        querystring: ReposQuery,
        response: { 200: ReposAnswer, ...refusals },
      },
    },
    async (request) => {
      return listRepos(deps, request.query, request.caller);
    },
  );
}

/** The doctor: where the store and GitHub differ, and having it read again. */

import { DoctorAnswer, DoctorQuery, DoctorRequest } from "../../contract/doctor.ts";
import type { Deps } from "../../services/deps.ts";
import { examine } from "../../services/doctor.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { READ_CODES, refusing } from "./refusals.ts";
import type { Routes } from "./route-schemas.ts";

const PATH = "/api/v1/doctor";
const tags = ["Operations"];
const response = { 200: DoctorAnswer, ...refusing(...READ_CODES, "conflict", "github_unavailable") };

export function doctorRoutes(app: Routes, deps: Deps): void {
  const examined = async (repo: string, repair: boolean) => {
    const [owner = "", name = ""] = repo.split("/");
    return examine(deps, await repositoryByName(deps, { owner, name }), repair);
  };
  app.get(
    PATH,
    {
      config: { capability: "admin" },
      schema: {
        operationId: "doctor",
        summary: "Compare the store with GitHub, field by field",
        description: "Costs as many requests of GitHub as reading the whole repository.",
        tags,
        querystring: DoctorQuery,
        response,
      },
    },
    async (request) => examined(request.query.repo, false),
  );
  app.post(
    PATH,
    {
      config: { capability: "admin" },
      schema: {
        operationId: "repair",
        summary: "Compare, and where they differ read everything again",
        description:
          "GitHub is right: the store is changed, and what the differences mean for items is decided by the issues' event lists.",
        tags,
        body: DoctorRequest,
        response,
      },
    },
    async (request) => examined(request.body.repo, true),
  );
}

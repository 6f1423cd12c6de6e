/** Writing the backlog: proposals and groupings. */

import { GroupingAnswer, GroupingRequest, ProposedItem, ProposeRequest } from "../../contract/authoring.ts";
import { createGrouping } from "../../services/create-grouping.ts";
import type { Deps } from "../../services/deps.ts";
import { propose } from "../../services/propose.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { onceOf } from "./once-of.ts";
import { FENCE_CODES, KEYED_CODES, refusing } from "./refusals.ts";
import { FenceHeaders, KeyHeaders, RepoParams, type Routes, repositoryName } from "./route-schemas.ts";

const tags = ["Backlog"];

export function authoringRoutes(app: Routes, deps: Deps): void {
  app.post(
    "/api/v1/repos/:owner/:repo/items",
    {
      config: { capability: "author", scope: "filtered" },
      schema: {
        operationId: "proposeItem",
        summary: "Propose an item: its issue is opened, and waits for a human to admit it",
        description:
          "The issue is opened on GitHub first, with `needs-specification`. Sent again after a lost answer, with the same Idempotency-Key or the same content, it opens nothing twice.",
        tags,
        params: RepoParams,
        headers: KeyHeaders,
        body: ProposeRequest,
        response: {
          201: ProposedItem,
          ...refusing(...KEYED_CODES, "conflict", "reserved", "cycle", "edge_refused", "github_unavailable"),
        },
      },
    },
    async (request, reply) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      const once = onceOf(deps, request, reply);
      const item = await propose(deps, request.caller, repository, request.body, once);
      return reply.code(201).send(item);
    },
  );
  app.post(
    "/api/v1/repos/:owner/:repo/groupings",
    {
      config: { capability: "author", scope: "filtered" },
      schema: {
        operationId: "createGrouping",
        summary: "Create a grouping: an epic, its items and their order, as one",
        description:
          "An epic and sub-issues on GitHub, then the records, as one. A request that failed half way goes on when it is sent again, and never doubles an issue.",
        tags,
        params: RepoParams,
        headers: FenceHeaders,
        body: GroupingRequest,
        response: {
          201: GroupingAnswer,
          ...refusing(...KEYED_CODES, ...FENCE_CODES, "cycle", "edge_refused", "github_unavailable"),
        },
      },
    },
    async (request, reply) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      const token = request.headers["fencing-token"] ?? null;
      const once = onceOf(deps, request, reply);
      const grouping = await createGrouping(deps, request.caller, repository, request.body, token, once);
      return reply.code(201).send(grouping);
    },
  );
}

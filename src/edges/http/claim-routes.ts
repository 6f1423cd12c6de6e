/** Claim, renew, release, status: on items and, by the same five names, on any memory record. */

import type { z } from "zod";
import {
  ClaimAnswer,
  ClaimHistory,
  ClaimNextAnswer,
  ClaimNextRequest,
  ClaimRequest,
  ClaimStatus,
  HistoryQuery,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from "../../contract/claims.ts";
import { BACKLOG, itemId } from "../../domain/record-key.ts";
import { type ClaimTarget, claim } from "../../services/claim.ts";
import { claimHistory } from "../../services/claim-history.ts";
import { claimNext } from "../../services/claim-next.ts";
import { claimStatus } from "../../services/claim-status.ts";
import type { Deps } from "../../services/deps.ts";
import { release } from "../../services/release.ts";
import { renew } from "../../services/renew.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { deliveryOf } from "./delivery.ts";
import { keyed, onceOf } from "./once-of.ts";
import { KEYED_CODES, READ_CODES, refusing } from "./refusals.ts";
import {
  ItemParams,
  KeyHeaders,
  RecordParams,
  RepoParams,
  type Routes,
  repositoryName,
} from "./route-schemas.ts";

/** The two addresses of a claim. */
const ADDRESSES = [
  { path: "/api/v1/repos/:owner/:repo/items/:number/claim", params: ItemParams, tag: "Claims", suffix: "" },
  {
    path: "/api/v1/repos/:owner/:repo/memory/:topic/:id/claim",
    params: RecordParams,
    tag: "Claims on memory",
    suffix: "OnRecord",
  },
] as const;

type Params = z.output<typeof ItemParams> | z.output<typeof RecordParams>;

const recordOf = (params: Params): { topic: string; id: string } =>
  "number" in params ? { topic: BACKLOG, id: itemId(params.number) } : { topic: params.topic, id: params.id };

export function claimRoutes(app: Routes, deps: Deps): void {
  const targetOf = async (params: Params): Promise<ClaimTarget> => ({
    repository: await repositoryByName(deps, repositoryName(params)),
    ...recordOf(params),
  });
  app.post(
    "/api/v1/repos/:owner/:repo/claim-next",
    {
      config: { capability: "claim", scope: "filtered" },
      schema: {
        operationId: "claimNext",
        summary: "Claim the best ready item",
        description:
          "Picks and claims in one step: many callers at once each get another item. `none_ready` says with a verdict whether to wait or to end.",
        tags: ["Claims"],
        params: RepoParams,
        headers: KeyHeaders,
        body: ClaimNextRequest,
        response: { 200: ClaimNextAnswer, ...refusing(...KEYED_CODES, "conflict") },
      },
    },
    async (request, reply) => {
      const delivery = deliveryOf(reply);
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return claimNext(
        deps,
        request.caller,
        repository,
        request.body,
        delivery,
        onceOf(deps, request, reply),
      );
    },
  );
  for (const { path, params, tag, suffix } of ADDRESSES) {
    const tags = [tag];

    app.post(
      path,
      {
        config: { capability: "claim", scope: "filtered" },
        schema: {
          operationId: `takeClaim${suffix}`,
          summary: "Take a claim; losing is an answer",
          description:
            "Always 200: `granted: false` says why not, and where waiting helps for how long. With `maxWaitSeconds` the caller stands in line, first in, first out.",
          tags,
          params,
          headers: KeyHeaders,
          body: ClaimRequest,
          response: { 200: ClaimAnswer, ...refusing(...KEYED_CODES, "conflict") },
        },
      },
      async (request, reply) => {
        // Looked at first: whoever hangs up meanwhile is seen to go.
        const delivery = deliveryOf(reply);
        const target = await targetOf(request.params);
        return claim(deps, request.caller, target, request.body, delivery, onceOf(deps, request, reply));
      },
    );
    app.post(
      `${path}/renew`,
      {
        config: { capability: "claim", scope: "subject" },
        schema: {
          operationId: `renewClaim${suffix}`,
          summary: "Move the lease's end",
          description:
            "`superseded` is terminal: stop at once. A shorter lease than before is granted too, and said so.",
          tags,
          params,
          headers: KeyHeaders,
          body: RenewRequest,
          response: { 200: RenewAnswer, ...refusing(...KEYED_CODES, "not_holder", "conflict") },
        },
      },
      async (request, reply) => {
        const target = await targetOf(request.params);
        return keyed(
          deps,
          request,
          reply,
          (inside) => renew(inside, request.caller, target, request.body),
          (answer) => (answer.granted ? { status: 200, answer } : null),
        );
      },
    );
    app.post(
      `${path}/release`,
      {
        config: { capability: "claim", scope: "subject" },
        schema: {
          operationId: `releaseClaim${suffix}`,
          summary: "Give the claim back",
          description: "Idempotent. A note is posted on the item's issue.",
          tags,
          params,
          headers: KeyHeaders,
          body: ReleaseRequest,
          response: { 200: ReleaseAnswer, ...refusing(...KEYED_CODES, "not_holder", "conflict") },
        },
      },
      async (request, reply) => {
        const target = await targetOf(request.params);
        return keyed(
          deps,
          request,
          reply,
          (inside) => release(inside, request.caller, target, request.body),
          (answer) => (answer.released ? { status: 200, answer } : null),
        );
      },
    );
    app.get(
      `${path}s`,
      {
        config: { capability: "read", scope: "subject" },
        schema: {
          operationId: `listGrants${suffix}`,
          summary: "Every grant, newest first, and how it ended",
          description: "A claim that is held has not ended.",
          tags,
          params,
          querystring: HistoryQuery,
          response: { 200: ClaimHistory, ...refusing(...READ_CODES) },
        },
      },
      async (request) => claimHistory(deps, await targetOf(request.params), request.query),
    );
    app.get(
      path,
      {
        config: { capability: "read", scope: "subject" },
        schema: {
          operationId: `claimStatus${suffix}`,
          summary: "Who holds it (advisory)",
          description: "Advisory, for people and reports: only a grant or a renewal decides anything.",
          tags,
          params,
          response: { 200: ClaimStatus, ...refusing(...READ_CODES) },
        },
      },
      async (request) => {
        return claimStatus(deps, await targetOf(request.params));
      },
    );
  }
}

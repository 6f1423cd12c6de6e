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
import {
  ItemParams,
  KeyHeaders,
  keyRefusals,
  RecordParams,
  RepoParams,
  type Routes,
  refusals,
  repositoryName,
} from "./route-schemas.ts";

/** The two addresses of a claim. */
const ADDRESSES = [
  { path: "/api/v1/repos/:owner/:repo/items/:number/claim", params: ItemParams, tag: "Claims" },
  {
    path: "/api/v1/repos/:owner/:repo/memory/:topic/:id/claim",
    params: RecordParams,
    tag: "Claims on memory",
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
        summary: "Claim the best ready item",
        tags: ["Claims"],
        params: RepoParams,
        headers: KeyHeaders,
        body: ClaimNextRequest,
        response: { 200: ClaimNextAnswer, ...keyRefusals },
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
  for (const { path, params, tag } of ADDRESSES) {
    const tags = [tag];

    app.post(
      path,
      {
        config: { capability: "claim", scope: "filtered" },
        schema: {
          summary: "Take a claim; losing is an answer",
          tags,
          params,
          headers: KeyHeaders,
          body: ClaimRequest,
          response: { 200: ClaimAnswer, ...keyRefusals },
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
          summary: "Move the lease's end",
          tags,
          params,
          headers: KeyHeaders,
          body: RenewRequest,
          response: { 200: RenewAnswer, ...keyRefusals },
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
          summary: "Give the claim back",
          tags,
          params,
          headers: KeyHeaders,
          body: ReleaseRequest,
          response: { 200: ReleaseAnswer, ...keyRefusals },
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
          summary: "Every grant, newest first, and how it ended",
          tags,
          params,
          querystring: HistoryQuery,
          response: { 200: ClaimHistory, ...refusals },
        },
      },
      async (request) => claimHistory(deps, await targetOf(request.params), request.query),
    );
    app.get(
      path,
      {
        config: { capability: "read", scope: "subject" },
        schema: {
          summary: "Who holds it (advisory)",
          tags,
          params,
          response: { 200: ClaimStatus, ...refusals },
        },
      },
      async (request) => {
        return claimStatus(deps, await targetOf(request.params));
      },
    );
  }
}

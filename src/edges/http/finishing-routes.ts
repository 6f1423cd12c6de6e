/** Finishing items and moving them: complete, park, advance, and what they went through. */

import {
  AdvanceManyAnswer,
  AdvanceManyRequest,
  AdvanceRequest,
  AdvanceResult,
  CompleteRequest,
  ParkRequest,
  TransitionsAnswer,
  TransitionsQuery,
} from "../../contract/finishing.ts";
import { ItemBody } from "../../contract/items.ts";
import { BACKLOG, itemId } from "../../domain/record-key.ts";
import { advance, advanceMany, supersededStart } from "../../services/advance.ts";
import { completeByHolder } from "../../services/complete-by-holder.ts";
import type { Deps } from "../../services/deps.ts";
import { itemTransitions } from "../../services/item-transitions.ts";
import { keepingLate } from "../../services/late-results.ts";
import { parkByHolder } from "../../services/park-by-holder.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { keyed, onceOf } from "./once-of.ts";
import { FENCE_CODES, KEYED_CODES, READ_CODES, refusing } from "./refusals.ts";
import {
  FenceHeaders,
  ItemParams,
  KeyHeaders,
  RepoParams,
  type Routes,
  repositoryName,
} from "./route-schemas.ts";

const ITEM = "/api/v1/repos/:owner/:repo/items/:number";
const tags = ["Finishing"];

export function finishingRoutes(app: Routes, deps: Deps): void {
  app.post(
    `${ITEM}/complete`,
    {
      config: { capability: "write", scope: "filtered" },
      schema: {
        operationId: "completeItem",
        summary: "Complete an item, with evidence that is checked",
        description:
          "With the merged pull request, or for research with durable places. Completing what is complete changes nothing.",
        tags,
        params: ItemParams,
        headers: FenceHeaders,
        body: CompleteRequest,
        response: {
          200: ItemBody,
          ...refusing(...KEYED_CODES, ...FENCE_CODES, "evidence_missing", "github_unavailable"),
        },
      },
    },
    async (request, reply) => {
      const { number } = request.params;
      const name = repositoryName(request.params);
      const at = { repository: await repositoryByName(deps, name), number };
      const token = request.headers["fencing-token"] ?? null;
      const late = { repository: name, topic: BACKLOG, id: itemId(number), token, request: request.body };
      const once = onceOf(deps, request, reply);
      return keepingLate(deps, request.caller, late, () =>
        completeByHolder(deps, request.caller, at, token, request.body, once),
      );
    },
  );
  app.post(
    `${ITEM}/park`,
    {
      config: { capability: "write", scope: "filtered" },
      schema: {
        operationId: "parkItem",
        summary: "Park an item that cannot proceed as specified",
        description:
          "Names who can decide and what: a human unparks it by taking the label `stale` off. Parking twice changes nothing.",
        tags,
        params: ItemParams,
        headers: FenceHeaders,
        body: ParkRequest,
        response: { 200: ItemBody, ...refusing(...KEYED_CODES, ...FENCE_CODES, "ruling_required") },
      },
    },
    async (request, reply) => {
      const { number } = request.params;
      const at = { repository: await repositoryByName(deps, repositoryName(request.params)), number };
      const token = request.headers["fencing-token"] ?? null;
      return keyed(deps, request, reply, (inside) =>
        parkByHolder(inside, request.caller, at, token, request.body),
      );
    },
  );
  app.post(
    `${ITEM}/advance`,
    {
      config: { capability: "advance", scope: "filtered" },
      schema: {
        operationId: "advanceItem",
        summary: "Move an item by a trigger",
        description:
          "`start` on an unclaimed item grants the caller a claim and answers its token; a refused claim is an answer (`applied: false`). Under a live claim the Fencing-Token is needed.",
        tags,
        params: ItemParams,
        headers: FenceHeaders,
        body: AdvanceRequest,
        response: {
          200: AdvanceResult,
          ...refusing(...KEYED_CODES, ...FENCE_CODES, "evidence_missing", "github_unavailable"),
        },
      },
    },
    async (request, reply) => {
      const { number } = request.params;
      const at = { repository: await repositoryByName(deps, repositoryName(request.params)), number };
      const fencingToken = request.headers["fencing-token"];
      const once = onceOf(deps, request, reply, supersededStart);
      return advance(deps, request.caller, at, { ...request.body, fencingToken }, once);
    },
  );
  app.post(
    "/api/v1/repos/:owner/:repo/advance",
    {
      config: { capability: "advance", scope: "filtered" },
      schema: {
        operationId: "advanceItems",
        summary: "Move several items, each by itself",
        description:
          "In the order given. One that is refused stops none of the others; its refusal stands in its result. Under an Idempotency-Key each is done once: sent again, what was done is answered again, and only the rest is tried.",
        tags,
        params: RepoParams,
        headers: KeyHeaders,
        body: AdvanceManyRequest,
        response: { 200: AdvanceManyAnswer, ...refusing(...KEYED_CODES) },
      },
    },
    async (request, reply) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      const once = onceOf(deps, request, reply, supersededStart);
      return advanceMany(deps, request.caller, repository, request.body, once);
    },
  );
  app.get(
    `${ITEM}/transitions`,
    {
      config: { capability: "read", scope: "subject" },
      schema: {
        operationId: "listTransitions",
        summary: "What an item went through, newest first",
        description: "Every transition with its actor: triggers, claims, how they ended.",
        tags,
        params: ItemParams,
        querystring: TransitionsQuery,
        response: { 200: TransitionsAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return itemTransitions(deps, repository, request.params.number, request.query);
    },
  );
}

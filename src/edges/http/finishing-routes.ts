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
import { advance, advanceMany } from "../../services/advance.ts";
import { completeByHolder } from "../../services/complete-by-holder.ts";
import type { Deps } from "../../services/deps.ts";
import { itemTransitions } from "../../services/item-transitions.ts";
import { keepingLate } from "../../services/late-results.ts";
import { parkByHolder } from "../../services/park-by-holder.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { keyed, onceOf } from "./once-of.ts";
import {
  evidenceRefusals,
  FenceHeaders,
  ItemParams,
  RepoParams,
  type Routes,
  refusals,
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
        summary: "Complete an item, with evidence that is checked",
        tags,
        params: ItemParams,
        headers: FenceHeaders,
        body: CompleteRequest,
        response: { 200: ItemBody, ...evidenceRefusals },
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
        summary: "Park an item that cannot proceed as specified",
        tags,
        params: ItemParams,
        headers: FenceHeaders,
        body: ParkRequest,
        response: { 200: ItemBody, ...evidenceRefusals },
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
        summary: "Move an item by a trigger",
        tags,
        params: ItemParams,
        headers: FenceHeaders,
        body: AdvanceRequest,
        response: { 200: AdvanceResult, ...evidenceRefusals },
      },
    },
    async (request) => {
      const { number } = request.params;
      const at = { repository: await repositoryByName(deps, repositoryName(request.params)), number };
      const fencingToken = request.headers["fencing-token"];
      return advance(deps, request.caller, at, { ...request.body, fencingToken });
    },
  );
  app.post(
    "/api/v1/repos/:owner/:repo/advance",
    {
      config: { capability: "advance", scope: "filtered" },
      schema: {
        summary: "Move several items, each by itself",
        tags,
        params: RepoParams,
        body: AdvanceManyRequest,
        response: { 200: AdvanceManyAnswer, ...refusals },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return advanceMany(deps, request.caller, repository, request.body);
    },
  );
  app.get(
    `${ITEM}/transitions`,
    {
      config: { capability: "read", scope: "subject" },
      schema: {
        summary: "What an item went through, newest first",
        tags,
        params: ItemParams,
        querystring: TransitionsQuery,
        response: { 200: TransitionsAnswer, ...refusals },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return itemTransitions(deps, repository, request.params.number, request.query);
    },
  );
}

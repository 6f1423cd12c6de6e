/** Memory records: recall, remember, update, forget; every write passes the fence. */

import type { z } from "zod";
import {
  ForgetAnswer,
  ForgetQuery,
  RecallAnswer,
  RecordAnswer,
  RememberRequest,
  UpdateRequest,
} from "../../contract/memory.ts";
import type { ClaimTarget } from "../../services/claim.ts";
import type { Deps } from "../../services/deps.ts";
import { forget } from "../../services/forget.ts";
import { keepingLate } from "../../services/late-results.ts";
import { recall } from "../../services/recall.ts";
import { remember, update } from "../../services/remember.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { keyed } from "./once-of.ts";
import { FENCE_CODES, KEYED_CODES, READ_CODES, refusing } from "./refusals.ts";
import { FenceHeaders, RecordParams, type Routes, repositoryName } from "./route-schemas.ts";

type Params = z.output<typeof RecordParams>;

const PATH = "/api/v1/repos/:owner/:repo/memory/:topic/:id";
const tags = ["Memory"];

export function memoryRoutes(app: Routes, deps: Deps): void {
  const targetOf = async (params: Params): Promise<ClaimTarget> => ({
    repository: await repositoryByName(deps, repositoryName(params)),
    topic: params.topic,
    id: params.id,
  });

  app.get(
    PATH,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "recallRecord",
        summary: "Recall a record",
        description:
          "Evaluates whether what it is anchored to changed (`stale`). An absent or expired record is an answer, `exists: false`, not an error.",
        tags,
        params: RecordParams,
        response: { 200: RecallAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      return recall(deps, await targetOf(request.params), request.caller);
    },
  );
  app.put(
    PATH,
    {
      config: { capability: "write", scope: "filtered" },
      schema: {
        operationId: "rememberRecord",
        summary: "Remember: create, or merge in place",
        description:
          "Scalars that are given replace, tags and links add, and what is left out stays. Of a record that is claimed only the holder writes, under its Fencing-Token.",
        tags,
        params: RecordParams,
        headers: FenceHeaders,
        body: RememberRequest,
        response: {
          200: RecordAnswer,
          201: RecordAnswer,
          ...refusing(
            ...KEYED_CODES,
            ...FENCE_CODES,
            "field_not_settable",
            "ttl_forbidden",
            "reserved",
            "cycle",
            "edge_refused",
          ),
        },
      },
    },
    async (request, reply) => {
      const { topic, id } = request.params;
      const address = { repository: repositoryName(request.params), topic, id };
      const token = request.headers["fencing-token"] ?? null;
      const late = { ...address, token, request: request.body };
      const { record, created } = await keepingLate(deps, request.caller, late, () =>
        keyed(
          deps,
          request,
          reply,
          (inside) => remember(inside, request.caller, address, token, request.body),
          (written) => ({ status: written.created ? 201 : 200, answer: written.record }),
        ),
      );
      return reply.status(created ? 201 : 200).send(record);
    },
  );
  app.patch(
    PATH,
    {
      config: { capability: "write", scope: "filtered" },
      schema: {
        operationId: "updateRecord",
        summary: "Update a record that exists",
        description: "As remembering, but the record must be there, and tags and links can also be removed.",
        tags,
        params: RecordParams,
        headers: FenceHeaders,
        body: UpdateRequest,
        response: {
          200: RecordAnswer,
          ...refusing(
            ...KEYED_CODES,
            ...FENCE_CODES,
            "field_not_settable",
            "ttl_forbidden",
            "reserved",
            "cycle",
            "edge_refused",
          ),
        },
      },
    },
    async (request, reply) => {
      const { topic, id } = request.params;
      const token = request.headers["fencing-token"] ?? null;
      const late = { repository: repositoryName(request.params), topic, id, token, request: request.body };
      const target = await targetOf(request.params);
      return keepingLate(deps, request.caller, late, () =>
        keyed(deps, request, reply, (inside) => update(inside, request.caller, target, token, request.body)),
      );
    },
  );
  app.delete(
    PATH,
    {
      config: { capability: "write", scope: "subject" },
      schema: {
        operationId: "forgetRecord",
        summary: "Forget a record, now or after a while",
        description:
          "Forgetting what is not there is no error. The mark of its claims stays: made again, its tokens go on where they were. An item lives as long as its issue, and is not forgotten here.",
        tags,
        params: RecordParams,
        headers: FenceHeaders,
        querystring: ForgetQuery,
        response: {
          200: ForgetAnswer,
          ...refusing(...KEYED_CODES, ...FENCE_CODES, "reserved", "ttl_forbidden"),
        },
      },
    },
    async (request, reply) => {
      const token = request.headers["fencing-token"] ?? null;
      const target = await targetOf(request.params);
      const lapse = request.query.lapseSeconds ?? null;
      return keyed(deps, request, reply, (inside) => forget(inside, request.caller, target, token, lapse));
    },
  );
}

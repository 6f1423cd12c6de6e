/** The outbox and the inbox, for the operator: what waits, what was given up, and another try. */

import {
  InboxAnswer,
  InboxEntry,
  InboxEntryParams,
  OutboxAnswer,
  OutboxEntry,
  OutboxEntryParams,
  QueueQuery,
} from "../../contract/queues.ts";
import type { Deps } from "../../services/deps.ts";
import { listInbox, listOutbox, retryInbox, retryOutbox } from "../../services/queue-entries.ts";
import { READ_CODES, refusing } from "./refusals.ts";
import type { Routes } from "./route-schemas.ts";

const conflicts = refusing(...READ_CODES, "conflict");

export function queueRoutes(app: Routes, deps: Deps): void {
  app.get(
    "/api/v1/outbox",
    {
      config: { capability: "admin" },
      schema: {
        summary: "What GitHub could not be told, or is still to be told; newest first",
        tags: ["Operations"],
        querystring: QueueQuery,
        response: { 200: OutboxAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => listOutbox(deps, request.caller, request.query),
  );

  app.post(
    "/api/v1/outbox/:repositoryId/:id/retry",
    {
      config: { capability: "admin" },
      schema: {
        summary: "Try a write anew that was given up; a comment is looked for first",
        tags: ["Operations"],
        params: OutboxEntryParams,
        response: { 200: OutboxEntry, ...conflicts },
      },
    },
    async (request) => retryOutbox(deps, request.caller, request.params),
  );

  app.get(
    "/api/v1/inbox",
    {
      config: { capability: "admin" },
      schema: {
        summary: "Deliveries that were given up, or are still to be worked off; newest first",
        tags: ["Operations"],
        querystring: QueueQuery,
        response: { 200: InboxAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => listInbox(deps, request.caller, request.query),
  );

  app.post(
    "/api/v1/inbox/:id/retry",
    {
      config: { capability: "admin" },
      schema: {
        summary: "Work off a delivery anew that was given up",
        tags: ["Operations"],
        params: InboxEntryParams,
        response: { 200: InboxEntry, ...conflicts },
      },
    },
    async (request) => retryInbox(deps, request.caller, request.params),
  );
}

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

export function queueRoutes(app: Routes, deps: Deps): void {
  app.get(
    "/api/v1/outbox",
    {
      config: { capability: "admin", scope: "repositories" },
      schema: {
        operationId: "listOutbox",
        summary: "What GitHub could not be told, or is still to be told; newest first",
        description: "Entries that were given up stay until somebody tries them anew.",
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
      config: { capability: "admin", scope: "repositories" },
      schema: {
        operationId: "retryOutbox",
        summary: "Try a write anew that was given up; a comment is looked for first",
        description: "So nothing is posted twice, even if the answer of the last try was lost.",
        tags: ["Operations"],
        params: OutboxEntryParams,
        response: { 200: OutboxEntry, ...refusing(...READ_CODES, "conflict") },
      },
    },
    async (request) => retryOutbox(deps, request.caller, request.params),
  );

  app.get(
    "/api/v1/inbox",
    {
      config: { capability: "admin", scope: "repositories" },
      schema: {
        operationId: "listInbox",
        summary: "Deliveries that were given up, or are still to be worked off; newest first",
        description:
          "What GitHub delivered and could not be worked off stays, with its error, until somebody tries it anew.",
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
      config: { capability: "admin", scope: "repositories" },
      schema: {
        operationId: "retryInbox",
        summary: "Work off a delivery anew that was given up",
        description: "In its order among the deliveries of its issue.",
        tags: ["Operations"],
        params: InboxEntryParams,
        response: { 200: InboxEntry, ...refusing(...READ_CODES, "conflict") },
      },
    },
    async (request) => retryInbox(deps, request.caller, request.params),
  );
}

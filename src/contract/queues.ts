/** What waits in the outbox and the inbox and what was given up there, for the operator. */

import { z } from "zod";
import { RepoName } from "./repo-name.ts";
import { pageLimit } from "./text.ts";

export const QueueQuery = z.strictObject({
  state: z
    .enum(["failed", "pending"])
    .default("failed")
    .meta({ description: "Given up, or still to be done" }),
  repo: RepoName.optional(),
  cursor: z.string().max(200).optional(),
  limit: pageLimit(50),
});
export type QueueQuery = z.output<typeof QueueQuery>;

const digits = z
  .string()
  .regex(/^\d{1,15}$/, { error: "a whole number, as the listing names it" })
  .transform(Number);

export const OutboxEntryParams = z.object({ repositoryId: digits, id: digits });
export const InboxEntryParams = z.object({ id: digits });

const QueueState = z.enum(["pending", "done", "failed"]);

export const OutboxEntry = z
  .object({
    repositoryId: z.int(),
    id: z.int(),
    repo: z.string().nullable().meta({ description: "Null: the repository is not known any more" }),
    issue: z.int().nullable(),
    kind: z.string(),
    promise: z.string().meta({ description: "Names what was promised" }),
    state: QueueState,
    attempts: z.int(),
    error: z.string().nullable(),
    createdAt: z.string(),
    nextTryAt: z.string(),
    finishedAt: z.string().nullable(),
  })
  .meta({ id: "OutboxEntry" });
export type OutboxEntry = z.infer<typeof OutboxEntry>;

export const InboxEntry = z
  .object({
    id: z.int(),
    repositoryId: z.int().meta({ description: "0: about no single repository" }),
    repo: z.string().nullable(),
    deliveryId: z.string(),
    event: z.string(),
    action: z.string().nullable(),
    state: QueueState,
    attempts: z.int(),
    error: z.string().nullable(),
    receivedAt: z.string(),
    nextTryAt: z.string(),
    finishedAt: z.string().nullable(),
  })
  .meta({ id: "InboxEntry" });
export type InboxEntry = z.infer<typeof InboxEntry>;

export const OutboxAnswer = z
  .object({ entries: z.array(OutboxEntry), nextCursor: z.string().nullable() })
  .meta({ id: "Outbox" });
export type OutboxAnswer = z.infer<typeof OutboxAnswer>;

export const InboxAnswer = z
  .object({ entries: z.array(InboxEntry), nextCursor: z.string().nullable() })
  .meta({ id: "Inbox" });
export type InboxAnswer = z.infer<typeof InboxAnswer>;

/** Finishing and moving items, over HTTP: the names of api.md. */

import { z } from "zod";
import { OWNER_PATTERN } from "../domain/owner.ts";
import { OWNER_RULE } from "./claims.ts";
import { FencingToken } from "./fencing-token.ts";
import { ResumeWrite } from "./handover.ts";
import { MAX_INT32, pageLimit, text } from "./text.ts";

const time = z.iso.datetime({ precision: 3 });

const evidence = {
  pullRequest: z.int().positive().max(MAX_INT32).optional().meta({ description: "The merged pull request" }),
  durable: z
    .array(
      text(300).regex(/^(issue-comment:[1-9]\d{0,15}|mem\/[a-z0-9._-]+\/[A-Za-z0-9._-]+)$/, {
        error: "issue-comment:<id> or mem/<topic>/<id>",
      }),
    )
    .min(1)
    .max(50)
    .optional()
    .meta({
      description: "Of research: where its result is kept",
      example: ["issue-comment:123", "mem/decisions/x"],
    }),
};

export const CompleteRequest = z
  .strictObject({ ...evidence, resume: ResumeWrite.optional() })
  .meta({ id: "CompleteRequest", description: "With evidence, which is checked on GitHub" });
export type CompleteRequest = z.infer<typeof CompleteRequest>;

export const ParkRequest = z
  .strictObject({
    reason: text(2000).min(1).meta({ description: "Why the item cannot proceed as specified" }),
    rulingOwner: text(200).optional().meta({ description: "Who can decide" }),
    question: text(5000).optional().meta({ description: "What they have to decide" }),
  })
  .meta({ id: "ParkRequest" });
export type ParkRequest = z.infer<typeof ParkRequest>;

export const TRIGGERS = ["start", "complete", "hold", "resume", "cancel", "reopen"] as const;

const transition = {
  trigger: z.enum(TRIGGERS),
  summary: text(5000).optional(),
  owner: z.string().regex(OWNER_PATTERN, { error: OWNER_RULE }).optional().meta({
    description: "Of start and resume: whose claim it is. Omitted: the caller's own name",
  }),
  leaseSeconds: z.int().positive().max(MAX_INT32).optional(),
  ...evidence,
};

export const AdvanceRequest = z.strictObject(transition).meta({ id: "AdvanceRequest" });
export type AdvanceRequest = z.infer<typeof AdvanceRequest>;

export const AdvanceManyRequest = z
  .strictObject({
    transitions: z
      .array(
        z.strictObject({
          number: z.int().positive().max(MAX_INT32),
          ...transition,
          fencingToken: FencingToken.optional(),
        }),
      )
      .min(1)
      .max(100),
  })
  .meta({ id: "AdvanceManyRequest", description: "Each is applied by itself, in the order given" });
export type AdvanceManyRequest = z.infer<typeof AdvanceManyRequest>;

const ROLES = ["queue", "work", "review", "blocked", "terminal"] as const;

export const AdvanceResult = z
  .object({
    number: z.int(),
    trigger: z.enum(TRIGGERS),
    applied: z.boolean(),
    role: z.enum(ROLES).nullable(),
    fencingToken: FencingToken.optional().meta({ description: "Of the claim that start or resume granted" }),
    leaseExpiresAt: time.optional(),
    error: z.string().optional(),
    errorKind: z
      .enum(["transient", "permanent"])
      .optional()
      .meta({ description: "transient: wait, and try again" }),
    errorCode: z.string().optional(),
    retryAfterMs: z.int().optional(),
    contendedResources: z.array(z.string()).optional(),
  })
  .meta({ id: "AdvanceResult" });
export type AdvanceResult = z.infer<typeof AdvanceResult>;

export const AdvanceManyAnswer = z
  .object({
    results: z.array(AdvanceResult),
    summary: z.object({ total: z.int(), succeeded: z.int(), failed: z.int() }),
  })
  .meta({ id: "AdvanceResults" });
export type AdvanceManyAnswer = z.infer<typeof AdvanceManyAnswer>;

export const TransitionsQuery = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: pageLimit(50),
});
export type TransitionsQuery = z.infer<typeof TransitionsQuery>;

export const TransitionsAnswer = z
  .object({
    transitions: z.array(
      z.object({
        at: time,
        trigger: z.string(),
        actor: z.string(),
        from: z.enum(ROLES),
        to: z.enum(ROLES),
        summary: z.string().nullable(),
        fencingToken: FencingToken.nullable(),
      }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: "Transitions", description: "Newest first" });
export type TransitionsAnswer = z.infer<typeof TransitionsAnswer>;

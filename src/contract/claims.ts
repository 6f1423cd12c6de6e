/** Claims over HTTP: the names of api.md. */

import { z } from "zod";
import { OWNER_PATTERN } from "../domain/owner.ts";
import { REGION_PATTERN } from "../domain/region.ts";
import { RESOURCE_MODES } from "../domain/settings.ts";
import { PHASES, PRIORITIES } from "../domain/tags.ts";
import { FencingToken } from "./fencing-token.ts";
import { ResumePack } from "./handover.ts";
import { text } from "./text.ts";

// Not `z.int()`: that refuses what is too big to count with, and more than the maximum is capped.
const LEASE_RULE = { error: "a whole number of seconds, at least 1" };
const LeaseSeconds = z
  .number(LEASE_RULE)
  .min(1, LEASE_RULE)
  .refine(Number.isInteger, LEASE_RULE)
  .optional()
  .meta({
    type: "integer",
    description: "Omitted: the default. More than the maximum is capped.",
    example: 900,
  });

export const OWNER_RULE = "1 to 128 of the characters A-Z a-z 0-9 . _ : @ / + -";
export const REGION_RULE = "1 to 64 of the characters A-Z a-z 0-9 . _ -";

export const ClaimRequest = z
  .strictObject({
    owner: z
      .string()
      .regex(OWNER_PATTERN, { error: OWNER_RULE })
      .meta({ description: "Names the run that works, not the person", example: "worker/7f3a" }),
    leaseSeconds: LeaseSeconds,
    maxWaitSeconds: z
      .int({ error: "a whole number of seconds, from 0 to 60" })
      .min(0, { error: "at least 0" })
      .max(60, { error: "at most 60" })
      .optional()
      .meta({ description: "Wait in line so long when it is contended: first in, first out" }),
    region: z
      .string()
      .regex(REGION_PATTERN, { error: REGION_RULE })
      .optional()
      .meta({ description: "Omitted: the deployment's" }),
    scope: z
      .enum(["item", "subtree"])
      .optional()
      .meta({ description: "subtree: an epic and everything partOf it" }),
    takeover: z.boolean().optional(),
  })
  .meta({ id: "ClaimRequest" });
export type ClaimRequest = z.infer<typeof ClaimRequest>;

const time = z.iso.datetime({ precision: 3 }).meta({ example: "2026-09-06T01:12:44.000Z" });

export const TakenResource = z
  .object({
    key: z.string(),
    mode: z.enum(RESOURCE_MODES),
    expiresAt: time
      .nullable()
      .meta({ description: "Never before the claim's lease. Null: its use is only recorded" }),
  })
  .meta({ id: "TakenResource" });
export type TakenResource = z.infer<typeof TakenResource>;

export const ClaimGranted = z
  .object({
    granted: z.literal(true),
    key: z.string(),
    number: z.int().optional(),
    owner: z.string(),
    region: z.string(),
    scope: z.string(),
    fencingToken: FencingToken,
    leaseSeconds: z.int(),
    leaseExpiresAt: time,
    attempt: z.int(),
    custodyChanged: z.boolean(),
    previous: z.object({ owner: z.string(), fencingToken: FencingToken, lapsed: z.boolean() }).nullable(),
    baseBranch: z.string().nullable().optional(),
    workingBranch: z.string().optional(),
    resume: ResumePack.nullable().optional(),
    overlaps: z
      .array(z.int())
      .optional()
      .meta({ description: "Items in flight that touch files which this one touches, too" }),
    resources: z
      .array(TakenResource)
      .optional()
      .meta({ description: "What was taken with the claim, and is released with it" }),
    title: z.string().nullable(),
    url: z.string().nullable().optional(),
  })
  .meta({ id: "ClaimGranted" });

export const ClaimRefused = z
  .object({
    granted: z.literal(false),
    key: z.string(),
    reason: z.string(),
    retryAfterMs: z.int().optional(),
    blockers: z.array(z.int()),
    detail: z.string().optional().meta({ description: "What the reason does not say by itself" }),
    errorKind: z
      .literal("transient")
      .optional()
      .meta({ description: "Of resource_unavailable: wait, and try again" }),
    errorCode: z.literal("resource_unavailable").optional(),
    contendedResources: z
      .array(z.string())
      .optional()
      .meta({ description: "Resources that other items hold" }),
  })
  .meta({ id: "ClaimRefused" });

export const ClaimAnswer = z.union([ClaimGranted, ClaimRefused]);
export type ClaimAnswer = z.infer<typeof ClaimAnswer>;
export type ClaimGranted = z.infer<typeof ClaimGranted>;

export const ClaimNextRequest = z
  .strictObject({
    owner: ClaimRequest.shape.owner,
    leaseSeconds: LeaseSeconds,
    region: ClaimRequest.shape.region,
    selector: z
      .strictObject({
        epic: z.int().positive().optional(),
        tags: z.array(z.string().min(1).max(200)).max(50).optional(),
        priority: z.enum(PRIORITIES).optional(),
        phase: z.enum(PHASES).optional(),
        orderBy: z.enum(["priority", "oldest", "newest"]).optional(),
        after: z.int().positive().optional().meta({ description: "Prefer what waited for this item" }),
      })
      .optional(),
  })
  .meta({ id: "ClaimNextRequest" });
export type ClaimNextRequest = z.infer<typeof ClaimNextRequest>;

export const ClaimNextAnswer = z.union([
  ClaimGranted,
  // Of an idempotency key whose grant is not current any more.
  ClaimRefused.extend({ reason: z.literal("superseded") }).meta({ id: "ClaimSuperseded" }),
  z
    .object({
      granted: z.literal(false),
      reason: z.literal("none_ready"),
      verdict: z.enum(["ready", "idle", "overlapping", "waiting", "alarm"]),
      pending: z.int(),
    })
    .meta({ id: "NoneReady" }),
]);
export type ClaimNextAnswer = z.infer<typeof ClaimNextAnswer>;

export const HistoryQuery = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number({ error: "a whole number from 1 to 100" }).int().min(1).max(100).default(50),
});

export const ClaimHistory = z
  .object({
    key: z.string(),
    claims: z.array(
      z.object({
        fencingToken: FencingToken,
        owner: z.string(),
        region: z.string(),
        scope: z.string(),
        grantedAt: time,
        newAttempt: z.boolean(),
        previousFencingToken: FencingToken.nullable(),
        ended: z.enum(["released", "completed", "parked", "lapsed", "superseded", "undelivered"]).nullable(),
        endedAt: time.nullable(),
        consumedCredentials: z.array(z.string()).meta({
          description: "Advisory resources that were used under it: recorded, not locked",
        }),
      }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: "ClaimHistory" });
export type ClaimHistory = z.infer<typeof ClaimHistory>;

export const RenewRequest = z
  .strictObject({ fencingToken: FencingToken, leaseSeconds: LeaseSeconds })
  .meta({ id: "RenewRequest" });

export const RenewAnswer = z.union([
  z
    .object({
      granted: z.literal(true),
      fencingToken: FencingToken,
      leaseSeconds: z.int(),
      leaseExpiresAt: time,
      leaseShortened: z.boolean(),
      previousLeaseExpiresAt: time,
    })
    .meta({ id: "RenewGranted" }),
  z
    .object({ granted: z.literal(false), reason: z.enum(["superseded", "missing"]) })
    .meta({ id: "RenewRefused" }),
]);
export type RenewAnswer = z.infer<typeof RenewAnswer>;

export const ReleaseRequest = z
  .strictObject({ fencingToken: FencingToken, note: text(20_000).optional() })
  .meta({ id: "ReleaseRequest" });

export const ReleaseAnswer = z.union([
  z.object({ released: z.literal(true) }).meta({ id: "Released" }),
  z
    .object({ released: z.literal(false), reason: z.enum(["stale", "missing", "unclaimed"]) })
    .meta({ id: "NotReleased" }),
]);
export type ReleaseAnswer = z.infer<typeof ReleaseAnswer>;

export const ClaimStatus = z
  .object({
    key: z.string(),
    exists: z.boolean(),
    claimed: z.boolean(),
    isHeld: z.boolean(),
    owner: z.string().nullable(),
    region: z.string().nullable(),
    scope: z.string().nullable(),
    fencingToken: FencingToken.nullable(),
    leaseExpiresAt: time.nullable(),
    releasedAt: time.nullable(),
    queueDepth: z.int(),
    grants: z.int(),
    authoritative: z.literal(false),
  })
  .meta({ id: "ClaimStatus", description: "Advisory: only a grant or a renewal decides anything" });
export type ClaimStatus = z.infer<typeof ClaimStatus>;

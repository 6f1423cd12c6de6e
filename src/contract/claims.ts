/** Claims over HTTP: the names of api.md. */

import { z } from "zod";
import { OWNER_PATTERN } from "../domain/owner.ts";
import { REGION_PATTERN } from "../domain/region.ts";
import { text } from "./text.ts";

export const FencingToken = z
  .int({ error: "a fencing token is a whole number, as the grant answered it" })
  .positive()
  .meta({
    id: "FencingToken",
    description: "The token of a grant; strictly increasing, never reused",
    example: 41,
  });

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
      .int()
      .min(0)
      .max(0, { error: "waiting in line is not offered yet; leave it out, or 0" })
      .optional(),
    region: z
      .string()
      .regex(REGION_PATTERN, { error: REGION_RULE })
      .optional()
      .meta({ description: "Omitted: the deployment's" }),
    scope: z.enum(["item"], { error: 'only "item" is offered yet' }).optional(),
    takeover: z.boolean().optional(),
  })
  .meta({ id: "ClaimRequest" });
export type ClaimRequest = z.infer<typeof ClaimRequest>;

const time = z.iso.datetime({ precision: 3 }).meta({ example: "2026-09-06T01:12:44.000Z" });

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
  })
  .meta({ id: "ClaimRefused" });

export const ClaimAnswer = z.union([ClaimGranted, ClaimRefused]);
export type ClaimAnswer = z.infer<typeof ClaimAnswer>;

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

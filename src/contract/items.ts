/** The backlog over HTTP: the names of api.md. */

import { z } from "zod";
import { PHASES, PRIORITIES } from "../domain/tags.ts";

const time = z.iso.datetime({ precision: 3 });

export const DefectBody = z
  .object({ code: z.string(), number: z.int(), detail: z.string(), value: z.string(), since: time })
  .meta({ id: "Defect", description: "Something that the rules cannot absorb, and what to do about it" });

export const ReasonBody = z
  .object({
    reason: z.string(),
    on: z.array(z.int()).optional(),
    rulingOwner: z.string().nullable().optional(),
    question: z.string().nullable().optional(),
    detail: z.string().optional(),
  })
  .meta({ id: "Reason", description: "Why an item cannot be claimed now" });

export const ItemBody = z
  .object({
    key: z.string(),
    number: z.int(),
    title: z.string(),
    url: z.string(),
    state: z.enum(["complete", "parked", "cancelled"]).nullable(),
    role: z.enum(["queue", "work", "review", "blocked", "terminal"]),
    issueState: z.enum(["open", "closed"]),
    stateReason: z.string().nullable(),
    labels: z.array(z.string()),
    tags: z.array(z.string()),
    links: z.record(z.string(), z.array(z.string())),
    priority: z.enum(PRIORITIES).nullable(),
    phase: z.enum(PHASES).nullable(),
    baseBranch: z.string().nullable(),
    homeRegion: z.string().nullable(),
    epic: z.int().nullable(),
    admitted: z.boolean(),
    admittedBy: z.string().nullable(),
    author: z.string().nullable(),
    isClaimed: z.boolean(),
    attempts: z.object({
      markers: z.int(),
      grants: z.int(),
      threshold: z.int(),
      poison: z.boolean(),
      reading: z.string(),
    }),
    resume: z.null(),
    resumable: z.boolean(),
    stale: z.boolean().nullable(),
    staleLinks: z.array(z.string()),
    resourceLeases: z.array(z.never()),
    defects: z.array(DefectBody),
    reasons: z.array(ReasonBody),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: "Item" });
export type ItemBody = z.infer<typeof ItemBody>;

const limit = (standard: number) =>
  z.coerce
    .number({ error: "a whole number from 1 to 100" })
    .int()
    .min(1, { error: "at least 1" })
    .max(100, { error: "at most 100" })
    .default(standard);

export const ItemsQuery = z.strictObject({
  role: z.enum(["queue", "work", "review", "blocked", "terminal"]).optional(),
  state: z.enum(["live", "complete", "parked", "cancelled"]).optional(),
  tag: z.string().min(1).max(200).optional(),
  epic: z.coerce.number().int().positive().optional(),
  q: z.string().min(1).max(200).optional().meta({ description: "Part of the title, any case" }),
  cursor: z.string().max(200).optional(),
  limit: limit(50),
});
export type ItemsQuery = z.infer<typeof ItemsQuery>;

export const ItemsAnswer = z
  .object({ items: z.array(ItemBody), nextCursor: z.string().nullable() })
  .meta({ id: "Items" });

export const ReadyQuery = z.strictObject({
  limit: limit(20),
  epic: z.coerce.number().int().positive().optional(),
  region: z.string().max(64).optional(),
  owner: z.string().max(128).optional(),
});
export type ReadyQuery = z.infer<typeof ReadyQuery>;

const total = z.int().meta({ description: "Exact up to 10,000, which then means 10,000 or more" });

export const ReadyAnswer = z
  .object({
    verdict: z.enum(["ready", "idle", "overlapping", "waiting", "alarm"]),
    pending: total,
    ready: z.array(ItemBody),
    overlapping: z.array(z.object({ number: z.int(), with: z.array(z.int()) })),
    waiting: z.array(z.object({ number: z.int(), reasons: z.array(ReasonBody) })),
    inFlight: z.array(z.object({ number: z.int(), leaseExpiresAt: time, isHeld: z.boolean() })),
    awaitingAdmission: z.array(z.int()),
    parked: z.array(z.int()),
    defects: z.array(DefectBody),
    totals: z.object({
      ready: total,
      overlapping: total,
      waiting: total,
      inFlight: total,
      awaitingAdmission: total,
      parked: total,
      defects: total,
    }),
  })
  .meta({ id: "ReadySet" });
export type ReadyAnswer = z.infer<typeof ReadyAnswer>;

/** The backlog over HTTP: the names of api.md. */

import { z } from "zod";
import { OWNER_PATTERN } from "../domain/owner.ts";
import { REGION_PATTERN } from "../domain/region.ts";
import { RESOURCE_MODES } from "../domain/settings.ts";
import { PHASES, PRIORITIES } from "../domain/tags.ts";
import { OWNER_RULE, REGION_RULE } from "./claims.ts";
import { ResumeBlock, ResumeWrite } from "./handover.ts";
import { Links, Tags } from "./memory.ts";
import { MAX_INT32, pageLimit, text, wholeNumber } from "./text.ts";

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
    resources: z.array(z.string()).optional(),
    detail: z.string().meta({ description: "The same in words, and what would help" }),
  })
  .meta({
    id: "Reason",
    description:
      "Why an item is not offered now. Of an item by itself also `overlapping`: claim-next passes it over, for it would touch " +
      "the files of what is in flight; a direct claim is granted",
  });

export type ReasonBody = z.infer<typeof ReasonBody>;

export const ResourceLease = z
  .object({
    key: z.string(),
    mode: z
      .enum(RESOURCE_MODES)
      .meta({ description: "advisory, too, for what it holds and its tags no longer name" }),
    held: z.boolean().meta({ description: "By this item" }),
    holderItem: z
      .string()
      .nullable()
      .meta({ description: "Who holds it, where the caller may see that item" }),
    expiresAt: time.nullable(),
  })
  .meta({ id: "ResourceLease" });

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
    resume: ResumeBlock.nullable(),
    resumable: z.boolean(),
    stale: z.boolean().nullable(),
    staleLinks: z.array(z.string()),
    anchors: z.enum(["none", "pending", "fresh", "stale"]).meta({
      description: "Whether what it is anchored to is as it was; pending: not all of it was read yet",
    }),
    resourceLeases: z.array(ResourceLease),
    defects: z.array(DefectBody),
    reasons: z.array(ReasonBody),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: "Item" });
export type ItemBody = z.infer<typeof ItemBody>;

export const ItemPatch = z
  .strictObject({
    tags: z.strictObject({ add: Tags.optional(), remove: Tags.optional() }).optional(),
    links: z.strictObject({ add: Links.optional(), remove: Links.optional() }).optional(),
    resume: ResumeWrite.optional(),
  })
  .refine(({ tags, links, resume }) => tags || links || resume, { error: "give tags, links or resume" })
  .meta({ id: "ItemPatch" });
export type ItemPatch = z.infer<typeof ItemPatch>;

const epic = wholeNumber(1, MAX_INT32).optional();

export const ItemsQuery = z.strictObject({
  role: z.enum(["queue", "work", "review", "blocked", "terminal"]).optional(),
  state: z.enum(["live", "complete", "parked", "cancelled"]).optional(),
  tag: text(200).min(1).optional(),
  epic,
  q: text(200).min(1).optional().meta({ description: "Part of the title, any case" }),
  cursor: z.string().max(200).optional(),
  limit: pageLimit(50),
});
export type ItemsQuery = z.infer<typeof ItemsQuery>;

export const RootsQuery = ItemsQuery.omit({ epic: true });

export const ItemsAnswer = z
  .object({ items: z.array(ItemBody), nextCursor: z.string().nullable() })
  .meta({ id: "Items" });

export const ReadyQuery = z.strictObject({
  limit: pageLimit(20),
  epic,
  region: z.string().regex(REGION_PATTERN, { error: REGION_RULE }).optional(),
  owner: z.string().regex(OWNER_PATTERN, { error: OWNER_RULE }).optional(),
});
export type ReadyQuery = z.infer<typeof ReadyQuery>;

/** Counts are exact up to here, which then means "or more" (api.md). */
export const MOST_COUNTED = 10_000;

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

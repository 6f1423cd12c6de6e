/** Resource leases over HTTP: the names of api.md. */

import { z } from "zod";
import { RESOURCE_ENDS, RESOURCE_KEY_PATTERN, RESOURCE_KEY_RULE } from "../domain/resources.ts";
import { pageLimit } from "./text.ts";

const time = z.iso.datetime({ precision: 3 });

export const ResourceKey = z
  .string()
  .regex(RESOURCE_KEY_PATTERN, { error: RESOURCE_KEY_RULE })
  .meta({ description: "A slash in it is written %2F", example: "staging-db" });

const held = {
  key: z.string(),
  account: z.string().meta({ description: "The GitHub account whose repositories share the key" }),
  holderItem: z.string().meta({ description: "The item that holds it, or held it" }),
  acquiredAt: time,
  expiresAt: time,
};

export const ResourceLeases = z
  .object({ leases: z.array(z.object(held)) })
  .meta({ id: "ResourceLeases", description: "What is held now, by key; at most 1,000" });
export type ResourceLeases = z.infer<typeof ResourceLeases>;

export const LeaseHistoryQuery = z.strictObject({
  key: ResourceKey.optional(),
  at: z.iso
    .datetime({ offset: true, error: "a time in ISO 8601, such as 2026-09-06T01:12:44Z" })
    .optional()
    .meta({ description: "Only what was held at this moment" }),
  limit: pageLimit(50),
});
export type LeaseHistoryQuery = z.infer<typeof LeaseHistoryQuery>;

export const ResourceInterval = z
  .object({
    ...held,
    ended: z
      .enum(RESOURCE_ENDS)
      .nullable()
      .meta({ description: "Null: it is held. expired: its time ran out. forced: by an admin" }),
    endedAt: time.nullable(),
    endedBy: z.string().nullable().meta({ description: "Who took it away by force" }),
  })
  .meta({ id: "ResourceInterval" });
export type ResourceInterval = z.infer<typeof ResourceInterval>;

export const ResourceHistory = z
  .object({ intervals: z.array(ResourceInterval) })
  .meta({ id: "ResourceHistory", description: "The latest first" });
export type ResourceHistory = z.infer<typeof ResourceHistory>;

export const ForceQuery = z.strictObject({
  account: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: "Needed when items of several GitHub accounts hold the key" }),
});
export type ForceQuery = z.infer<typeof ForceQuery>;

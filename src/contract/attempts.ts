/** An item's attempts over HTTP: what was counted, what was not, and why. */

import { z } from "zod";
import { ATTEMPT_REASONS } from "../domain/attempt-history.ts";
import { FencingToken } from "./fencing-token.ts";
import { pageLimit } from "./text.ts";

const time = z.iso.datetime({ precision: 3 });

export const AttemptsQuery = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: pageLimit(50),
});
export type AttemptsQuery = z.infer<typeof AttemptsQuery>;

export const AttemptsAnswer = z
  .object({
    key: z.string(),
    number: z.int(),
    count: z.int().meta({ description: "Attempts that count, each fencing token once" }),
    threshold: z.int(),
    poison: z.boolean().meta({ description: "At or over the threshold: not offered, not granted" }),
    reading: z
      .enum(["never_claimed", "claimed_but_unmarked", "consistent", "gap", "marker_without_grant"])
      .meta({ description: "What the comparison of grants with markers says" }),
    countedAfter: FencingToken.nullable().meta({
      description: "The last token before a human unparked the item; those up to it count no more",
    }),
    attempts: z.array(
      z
        .object({
          fencingToken: FencingToken,
          counts: z.boolean(),
          reason: z.enum(ATTEMPT_REASONS),
          why: z.string(),
          grant: z
            .object({
              owner: z.string(),
              grantedAt: time,
              newAttempt: z.boolean(),
              ended: z
                .enum(["released", "completed", "parked", "lapsed", "superseded", "undelivered"])
                .nullable(),
            })
            .nullable()
            .meta({ description: "Null: this store made no such grant" }),
          marker: z
            .object({
              owner: z.string(),
              commentId: z.int(),
              url: z.string().nullable(),
              byApp: z.boolean(),
              countedAt: time,
            })
            .nullable()
            .meta({ description: "The trusted marker on the issue; null: none was seen" }),
        })
        .meta({ id: "Attempt" }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: "Attempts", description: "Newest first, a row for each fencing token" });
export type AttemptsAnswer = z.infer<typeof AttemptsAnswer>;

/** Repositories and health over HTTP: the names of api.md. */

import { z } from "zod";
import { pageLimit } from "./text.ts";

export const ReposQuery = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: pageLimit(50),
});

export const ReposAnswer = z
  .object({
    repos: z.array(
      z.object({
        owner: z.string(),
        name: z.string(),
        id: z.int(),
        installed: z.boolean(),
        items: z.int(),
        mirrorAgeSeconds: z.int().nullable(),
      }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: "Repositories" });
export type ReposAnswer = z.infer<typeof ReposAnswer>;

const depth = z.object({ pending: z.int(), oldestSeconds: z.int().nullable(), failed: z.int() });

export const HealthAnswer = z
  .object({
    status: z.enum(["ok", "degraded"]),
    version: z.string(),
    database: z.enum(["ok", "unreachable"]).optional(),
    migrations: z.object({ applied: z.string().nullable(), pending: z.int() }).optional(),
    inbox: depth
      .extend({
        failures: z.array(
          z.object({
            deliveryId: z.string(),
            event: z.string(),
            error: z.string().nullable(),
            failedAt: z.string(),
          }),
        ),
      })
      .optional(),
    outbox: depth
      .extend({
        held: z.int().meta({
          description:
            "Of the pending: for repositories that are archived, suspended or not reached any more",
        }),
      })
      .optional(),
    github: z.enum(["connected", "unconfigured", "unreachable"]).optional(),
    repos: z
      .array(
        z.object({ repo: z.string(), mirrorAgeSeconds: z.int().nullable(), config: z.array(z.string()) }),
      )
      .optional(),
    problems: z.array(z.string()).optional().meta({ description: "What is wrong, in words" }),
  })
  .meta({ id: "Health" });
export type HealthAnswer = z.infer<typeof HealthAnswer>;

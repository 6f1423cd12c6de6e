/** "Where are we?" (api.md): everything pending, sorted by what it waits for, with the words to say it. */

import { z } from "zod";
import { DefectBody, ReasonBody } from "./items.ts";
import { pageLimit } from "./text.ts";

const time = z.iso.datetime({ precision: 3 });
const named = { number: z.int(), title: z.string(), url: z.string() };

export const ReportQuery = z.strictObject({ limit: pageLimit(20) });
export type ReportQuery = z.infer<typeof ReportQuery>;

export const Report = z
  .object({
    repository: z.string(),
    at: time,
    verdict: z.enum(["ready", "idle", "overlapping", "waiting", "alarm"]),
    summary: z.array(z.string()).meta({ description: "The answer in sentences, the most pressing first" }),
    inFlight: z.array(
      z.object({
        ...named,
        owner: z.string(),
        attempt: z.int(),
        leaseExpiresAt: time,
        isHeld: z.boolean(),
        branch: z.string().nullable(),
        resumeNote: z.string().nullable(),
        pullRequest: z
          .object({ number: z.int(), url: z.string(), checks: z.enum(["none", "pending", "green", "red"]) })
          .nullable(),
      }),
    ),
    ready: z.array(z.object({ ...named, priority: z.string().nullable(), why: z.string() })),
    overlapping: z.array(z.object({ ...named, with: z.array(z.int()) })),
    blocked: z.array(z.object({ ...named, reasons: z.array(ReasonBody), why: z.string() })),
    parked: z.array(
      z.object({
        ...named,
        reason: z.string().nullable(),
        rulingOwner: z.string().nullable(),
        question: z.string().nullable(),
        attempts: z.int(),
      }),
    ),
    awaitingAdmission: z.array(z.object({ ...named, author: z.string().nullable(), since: time })),
    defects: z.array(DefectBody),
    divergences: z.array(
      z.object({ number: z.int(), github: z.string(), leasehold: z.string(), detail: z.string() }),
    ),
    anchors: z.object({ anchored: z.int(), pending: z.int(), percent: z.int() }),
    totals: z.record(z.string(), z.int()),
  })
  .meta({ id: "Report" });
export type Report = z.infer<typeof Report>;

export const ReportMarkdown = z
  .string()
  .meta({ id: "ReportMarkdown", description: "The same for people, as GitHub's markdown" });

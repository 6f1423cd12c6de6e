/** The doctor over HTTP: where the store and GitHub differ. */

import { z } from "zod";
import { RepoName } from "./repo-name.ts";

export const DoctorQuery = z.strictObject({ repo: RepoName });
export const DoctorRequest = z.strictObject({ repo: RepoName }).meta({ id: "DoctorRequest" });

/** Not `z.json()`, which refers to itself: its `$ref` leads nowhere in the OpenAPI document. */
const side = z
  .union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.union([z.string(), z.number()]))])
  .meta({ description: "null: that side has nothing. Of lists of names and numbers the order says nothing" });

export const Drift = z
  .object({
    kind: z.enum(["repository", "label", "issue", "comment", "pull_request", "link", "branch"]),
    /** `7`, `#7 blockedBy`, or a name. */
    what: z.string().meta({ example: "#7" }),
    field: z.string().meta({ example: "labels" }),
    store: side,
    github: side,
  })
  .meta({ id: "Drift" });
export type Drift = z.infer<typeof Drift>;

export const DoctorAnswer = z
  .object({
    repo: z.string(),
    drift: z.array(Drift).meta({ description: "At most 1,000" }),
    total: z.int(),
    compared: z.object({ issues: z.int(), comments: z.int(), pullRequests: z.int(), branches: z.int() }),
    pendingDeliveries: z.int().meta({
      description: "What they tell is not in the store yet: it shows as drift until they are worked off",
    }),
    repaired: z
      .int()
      .nullable()
      .meta({ description: "How much of the drift that there was is gone; null: nothing was repaired" }),
  })
  .meta({ id: "DoctorAnswer" });
export type DoctorAnswer = z.infer<typeof DoctorAnswer>;

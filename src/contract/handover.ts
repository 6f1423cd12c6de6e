/** What one worker leaves for the next, over HTTP: the names of api.md. */

import { z } from "zod";
import { FencingToken } from "./fencing-token.ts";
import { MAX_INT32, text } from "./text.ts";

const time = z.iso.datetime({ precision: 3 });

const Sha = z
  .string()
  .regex(/^[0-9a-f]{7,64}$/, { error: "a commit's sha: 7 to 64 of the characters 0-9 a-f" })
  .meta({ example: "0123456789abcdef0123456789abcdef01234567" });
const Branch = text(255)
  .min(1)
  .refine((name) => !name.startsWith("refs/") && !/[\s~^:?*[\\]|\.\./.test(name), {
    error: "the name of a branch, without refs/heads/",
  })
  .meta({ example: "feat/issue-7" });

const RESUME_ERROR = { error: "give lastLocation, resumeNote or both" };

/** What a holder writes: the parts given replace, those left out stay. */
export const ResumeWrite = z
  .strictObject({
    lastLocation: z
      .strictObject({
        branch: Branch.nullish(),
        pullRequest: z.int().positive().max(MAX_INT32).nullish(),
        sha: Sha.nullish(),
      })
      .nullish()
      .meta({ description: "Where the work lies; replaced as a whole" }),
    resumeNote: text(20_000).nullish().meta({ description: "What is done, and what is left" }),
  })
  .refine((resume) => resume.lastLocation !== undefined || resume.resumeNote !== undefined, RESUME_ERROR)
  .meta({ id: "ResumeWrite" });
export type ResumeWrite = z.infer<typeof ResumeWrite>;

export const ResumeBlock = z
  .object({
    lastLocation: z
      .object({
        branch: z.string().nullable(),
        pullRequest: z.int().nullable(),
        sha: z.string().nullable(),
      })
      .nullable(),
    resumeNote: z.string().nullable(),
    writtenAt: time,
    owner: z.string(),
    fencingToken: FencingToken,
  })
  .meta({
    id: "ResumeBlock",
    description: "Written under the fence: trustworthy as to who wrote it, advisory as to what it says",
  });
export type ResumeBlock = z.infer<typeof ResumeBlock>;

export const ResumePack = z
  .object({
    lastLocation: ResumeBlock.shape.lastLocation,
    resumeNote: z.string().nullable(),
    writtenAt: time.nullable(),
    owner: z.string().nullable(),
    fencingToken: FencingToken.nullable(),
    pullRequest: z
      .object({
        number: z.int(),
        url: z.string(),
        title: z.string(),
        draft: z.boolean(),
        baseBranch: z.string().nullable(),
        branch: z.string().nullable(),
        sha: z.string().nullable(),
        checks: z.enum(["none", "pending", "green", "red"]),
      })
      .nullable()
      .meta({ description: "The item's own open pull request" }),
    changedPaths: z.array(z.string()).meta({ description: "What pushes to its working branch changed" }),
    changedPathsTruncated: z.boolean(),
  })
  .meta({ id: "ResumePack", description: "What is known of work already done; null in the grant: nothing" });
export type ResumePack = z.infer<typeof ResumePack>;

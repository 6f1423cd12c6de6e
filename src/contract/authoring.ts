/** Writing the backlog over HTTP: proposals and groupings, by the names of api.md. */

import { z } from "zod";
import { MAX_COMMENT_LENGTH } from "../domain/neutralise.ts";
import { RESOURCE_KEY_PATTERN, RESOURCE_KEY_RULE } from "../domain/resources.ts";
import { PHASES, PRIORITIES } from "../domain/tags.ts";
import { ItemBody } from "./items.ts";
import { Links, Tags } from "./memory.ts";
import { MAX_INT32, text } from "./text.ts";

const Title = text(256)
  .transform((title) => title.trim())
  .refine((title) => title !== "" && !/[\r\n]/.test(title), { error: "one line, and not empty" })
  .meta({ description: "The issue's title: one line of at most 256 characters" });
const Body = text(MAX_COMMENT_LENGTH);
const IssueNumber = z.int().min(1).max(MAX_INT32);

export const ProposeRequest = z
  .strictObject({
    title: Title,
    body: Body.default(""),
    tags: Tags.default([]),
    links: Links.default({}),
    parent: IssueNumber.nullable().default(null).meta({ description: "The item that it is part of" }),
    blockedBy: z
      .array(z.union([IssueNumber, text(1200).min(1)]))
      .max(100)
      .default([])
      .meta({ description: "Numbers of issues of this repository, or keys" }),
  })
  .meta({ id: "ProposeRequest" });
export type ProposeRequest = z.infer<typeof ProposeRequest>;

export const ProposedItem = ItemBody.extend({
  similar: z
    .array(z.object({ number: z.int(), title: z.string(), url: z.string() }))
    .meta({ description: "Open issues of this repository with nearly the same title, the likest first" }),
}).meta({ id: "ProposedItem" });
export type ProposedItem = z.infer<typeof ProposedItem>;

const Resource = z.string().regex(RESOURCE_KEY_PATTERN, { error: RESOURCE_KEY_RULE });

export const GroupingItem = z
  .strictObject({
    ref: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, { error: "1 to 64 of A-Z a-z 0-9 . _ -" })
      .meta({ description: "The item's name within this request" }),
    title: Title,
    body: Body.default(""),
    phase: z.enum(PHASES).default("implementation"),
    priority: z.enum(PRIORITIES).nullable().default(null),
    blockedBy: z
      .array(text(64).min(1))
      .max(100)
      .default([])
      .meta({ description: "Refs of this request, or #12 for an issue that is there" }),
    anchoredTo: z
      .array(
        text(1024).regex(/^(?!\/)(?!.*(?:^|\/)\.\.(?:\/|$))[^\0]+$/, {
          error: "a path within the repository",
        }),
      )
      .max(100)
      .default([]),
    resources: z.array(Resource).max(20).default([]),
  })
  .meta({ id: "GroupingItem" });

/** GitHub takes a hundred sub-issues of one parent. */
const MAX_ITEMS = 100;

export const GroupingRequest = z
  .strictObject({
    epic: z.strictObject({
      title: Title,
      body: Body.default(""),
      type: z.string().max(50).optional().meta({ description: "Of the branch; else the configuration's" }),
      slug: z.string().min(1).max(100).meta({ description: "The branch is <type>/epic/<slug>" }),
      parent: IssueNumber.nullable().default(null).meta({ description: "The item that the epic is part of" }),
    }),
    items: z.array(GroupingItem).min(1).max(MAX_ITEMS),
    emittedBy: IssueNumber.nullable()
      .default(null)
      .meta({ description: "The design item whose result this is: it is not complete before the diagram" }),
  })
  .meta({ id: "GroupingRequest" });
export type GroupingRequest = z.infer<typeof GroupingRequest>;

export const GroupingAnswer = z
  .object({
    epic: ItemBody,
    items: z.record(z.string(), z.int()).meta({ description: "The issue of each ref" }),
    criticalPath: z.int().meta({ description: "So many items must be done one after the other" }),
    width: z.int().meta({ description: "So many can be worked on at once, at most" }),
    mermaid: z.string(),
    branch: z.string().meta({ description: "The epic's branch" }),
    branchCommand: z
      .string()
      .optional()
      .meta({ description: "Makes the epic's branch, where the App may not" }),
  })
  .meta({ id: "Grouping" });
export type GroupingAnswer = z.infer<typeof GroupingAnswer>;

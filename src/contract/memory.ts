/** Memory over HTTP: the names of api.md. */

import { z } from "zod";
import { RECORD_ID_PATTERN, TOPIC_PATTERN } from "../domain/record-key.ts";
import { text, wholeNumber } from "./text.ts";

export const KINDS = ["Note", "Decision", "Gotcha", "Convention", "Glossary", "Handoff", "Report"] as const;

export const Topic = z
  .string()
  .regex(TOPIC_PATTERN, { error: "a topic is 1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit" });
export const RecordId = z.string().regex(RECORD_ID_PATTERN, {
  error: "an id is 1 to 128 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
});

const Tag = text(200)
  .min(1)
  .regex(/^\S(?:.*\S)?$/, { error: "a tag neither begins nor ends with white space, and is one line" });
export const Tags = z.array(Tag).max(200);
export const Relation = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9]{0,63}$/, { error: "a relation is a word, such as blockedBy" });
/** An index holds the key, and takes no more than about this many bytes. */
const MAX_KEY_BYTES = 1200;
/** Where a link points, as callers write it. */
export const LinkKey = text(MAX_KEY_BYTES)
  .min(1)
  .refine((key) => Buffer.byteLength(key) <= MAX_KEY_BYTES, { error: `at most ${MAX_KEY_BYTES} bytes` });
const MAX_LINKS = 1000;
export const Links = z
  .record(Relation, z.array(LinkKey))
  .refine((links) => Object.values(links).flat().length <= MAX_LINKS, {
    error: `at most ${MAX_LINKS} links at a time`,
  });

const scalars = {
  title: text(1000).nullable().optional(),
  body: text(1_000_000).nullable().optional(),
  author: text(200).nullable().optional(),
  provenance: text(2000).nullable().optional(),
  kind: z.enum(KINDS).optional(),
  expiresAt: z.iso.datetime({ offset: true }).nullable().optional(),
};

/** The fields of a write; every other name is refused by name. */
export const SETTABLE = [...Object.keys(scalars), "tags", "links"] as const;

export const RememberRequest = z
  .strictObject({ ...scalars, tags: Tags.optional(), links: Links.optional() })
  .meta({ id: "RememberRequest", description: "Merges: scalars given replace, tags and links add" });
export type RememberRequest = z.infer<typeof RememberRequest>;

export const UpdateRequest = z
  .strictObject({
    ...scalars,
    tags: z.strictObject({ add: Tags.optional(), remove: Tags.optional() }).optional(),
    links: z.strictObject({ add: Links.optional(), remove: Links.optional() }).optional(),
  })
  .meta({ id: "UpdateRequest" });
export type UpdateRequest = z.infer<typeof UpdateRequest>;

const time = z.iso.datetime({ precision: 3 });

export const RecordAnswer = z
  .object({
    exists: z.literal(true),
    key: z.string(),
    topic: z.string(),
    id: z.string(),
    kind: z.enum(KINDS),
    title: z.string().nullable(),
    body: z.string().nullable(),
    author: z.string().nullable(),
    provenance: z.string().nullable(),
    tags: z.array(z.string()),
    links: z.record(z.string(), z.array(z.string())),
    createdAt: time,
    updatedAt: time,
    expiresAt: time.nullable(),
    writtenBy: z
      .string()
      .nullable()
      .meta({ description: "Whose API token wrote it last; null: Leasehold, from what is on GitHub" }),
    stale: z.boolean().nullable().meta({ description: "Null: what it is anchored to was not read yet" }),
    staleLinks: z.array(z.string()).meta({ description: "The anchors that changed" }),
    unknownRelations: z
      .array(z.string())
      .meta({ description: "Relations of its links that mean nothing here; they are kept" }),
  })
  .meta({ id: "Record" });
export type RecordAnswer = z.infer<typeof RecordAnswer>;

export const NoRecord = z.object({ exists: z.literal(false), key: z.string() }).meta({ id: "NoRecord" });
export const RecallAnswer = z.union([RecordAnswer, NoRecord]);
export type RecallAnswer = z.infer<typeof RecallAnswer>;

export const ForgetQuery = z.strictObject({
  lapseSeconds: wholeNumber(0, 31_536_000)
    .optional()
    .meta({ description: "Let the record lapse after so many seconds instead of forgetting it now" }),
});

export const ForgetAnswer = z
  .object({ key: z.string(), forgotten: z.boolean(), expiresAt: time.nullable() })
  .meta({ id: "Forgotten" });
export type ForgetAnswer = z.infer<typeof ForgetAnswer>;

/** Reading memory over HTTP: topics, scans, search, neighbors. */

import { z } from "zod";
import { KINDS, LinkKey, RecordAnswer, Relation, Topic } from "./memory.ts";
import { clamped, pageLimit, text } from "./text.ts";

const time = z.iso.datetime({ precision: 3 });
const cursor = z.string().max(400).optional();

export const TopicsQuery = z.strictObject({ cursor, limit: pageLimit(100) });
export type TopicsQuery = z.infer<typeof TopicsQuery>;

export const TopicsAnswer = z
  .object({
    topics: z.array(
      z.object({
        topic: z.string(),
        records: z.int().meta({ description: "Exact up to 10,000, which then means 10,000 or more" }),
      }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: "Topics", description: "By name. What has expired is not counted" });
export type TopicsAnswer = z.infer<typeof TopicsAnswer>;

export const ScanQuery = z.strictObject({ cursor, limit: pageLimit(50) });
export type ScanQuery = z.infer<typeof ScanQuery>;

export const ScannedRecord = RecordAnswer.extend({
  stale: z.null().meta({ description: "Not evaluated: recall the record" }),
  staleLinks: z.null().meta({ description: "Not evaluated: recall the record" }),
}).meta({ id: "ScannedRecord" });

export const ScanAnswer = z
  .object({ records: z.array(ScannedRecord), nextCursor: z.string().nullable() })
  .meta({ id: "Scan", description: "By id. A page ends early when its texts are long" });
export type ScanAnswer = z.infer<typeof ScanAnswer>;

/** PostgreSQL takes no word longer than 2,046 bytes. */
const MAX_QUERY = 500;

export const SearchQuery = z.strictObject({
  q: text(MAX_QUERY).meta({
    description:
      'Words that must all be there, "phrases", `or`, and `-` before what must not be. Anything may be typed',
    example: "fencing token -lease",
  }),
  topic: Topic.optional(),
  limit: pageLimit(20),
});
export type SearchQuery = z.infer<typeof SearchQuery>;

export const SearchAnswer = z
  .object({
    results: z.array(
      z.object({
        key: z.string(),
        topic: z.string(),
        id: z.string(),
        kind: z.enum(KINDS),
        title: z.string().nullable(),
        tags: z.array(z.string()),
        author: z.string().nullable(),
        createdAt: time,
        updatedAt: time,
        expiresAt: time.nullable(),
        rank: z.number(),
        highlights: z.object({ title: z.string().nullable(), body: z.string().nullable() }).meta({
          description:
            "HTML: what was found between <mark> and </mark>, all else escaped; null: no match there",
        }),
      }),
    ),
    capped: z.boolean().meta({
      description:
        "The words are so common that not all that match were ranked: 500 of those whose titles match, 500 " +
        "others, and what matches among the 500 newest. Add words",
    }),
  })
  .meta({
    id: "SearchResults",
    description: "Those whose titles match first, then by rank, then the newest",
  });
export type SearchAnswer = z.infer<typeof SearchAnswer>;

export const NeighborsQuery = z.strictObject({
  key: LinkKey.meta({
    description: "A record or a file: a whole key, or one within the repository",
    example: "mem/decisions/use-leases",
  }),
  relation: Relation.optional(),
  depth: clamped(1, 3, 1),
  limit: clamped(1, 100, 100),
});
export type NeighborsQuery = z.infer<typeof NeighborsQuery>;

const Neighbor = z
  .object({
    key: z.string(),
    depth: z.int().meta({ description: "How many links away; 0: what was asked about" }),
    type: z.enum(["item", "record", "file"]),
    exists: z
      .boolean()
      .nullable()
      .meta({ description: "False: absent or expired. Null: a file, or in a repository not known here" }),
    kind: z.string().nullable(),
    title: z.string().nullable(),
    number: z.int().nullable(),
    url: z.string().nullable(),
    state: z.enum(["complete", "parked", "cancelled"]).nullable(),
    tags: z.array(z.string()).nullable(),
  })
  .meta({ id: "Neighbor" });

export const NeighborsAnswer = z
  .object({
    key: z.string(),
    depth: z.int(),
    nodes: z.array(Neighbor),
    edges: z.array(z.object({ from: z.string(), to: z.string(), relation: z.string() })),
    truncated: z.boolean().meta({ description: "There are more neighbors than the limit" }),
  })
  .meta({
    id: "Neighbors",
    description:
      "The nearest first. Edges in both directions, as they were authored: all that the nodes nearer than `depth` have " +
      "to nodes shown",
  });
export type NeighborsAnswer = z.infer<typeof NeighborsAnswer>;

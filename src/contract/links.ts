/** What items hang on, over HTTP: the names of api.md. */

import { z } from "zod";
import { ItemBody } from "./items.ts";
import { LinkKey, Relation } from "./memory.ts";
import { MAX_INT32, pageLimit, wholeNumber } from "./text.ts";

export const LinksQuery = z.strictObject({
  cursor: z.string().max(400).optional(),
  limit: pageLimit(50),
});
export type LinksQuery = z.infer<typeof LinksQuery>;

const cursor = { nextCursor: z.string().nullable() };

/** An issue at the other end of an edge. What the mirror does not have of it is null. */
const otherEnd = {
  key: z.string(),
  number: z.int().nullable().meta({ description: "Null where the repository is not known here" }),
  title: z.string().nullable(),
  url: z.string().nullable(),
  state: z.enum(["complete", "parked", "cancelled"]).nullable(),
};
const source = {
  own: z.boolean().meta({ description: "Leasehold has the edge" }),
  native: z.boolean().meta({ description: "GitHub has it, as a sub-issue or a dependency" }),
};

export const ChildrenAnswer = z
  .object({ children: z.array(ItemBody), ...cursor })
  .meta({ id: "Children", description: "What is directly part of the item, by repository and number" });

export const BreadcrumbsAnswer = z
  .object({ breadcrumbs: z.array(z.object(otherEnd).meta({ id: "Breadcrumb" })) })
  .meta({ id: "Breadcrumbs", description: "What the item is part of, from the root down to its parent" });

export const DependenciesAnswer = z
  .object({
    dependencies: z.array(
      z
        .object({
          direction: z.enum(["blockedBy", "blocks"]).meta({
            description: "blockedBy: the item waits for this one; blocks: this one waits for the item",
          }),
          ...otherEnd,
          status: z.enum(["satisfied", "waiting", "stalled", "missing", "invalid", "unknown"]),
          satisfied: z.boolean(),
          rulingOwner: z.string().nullable(),
          question: z.string().nullable(),
          ...source,
        })
        .meta({ id: "Dependency" }),
    ),
    ...cursor,
  })
  .meta({
    id: "Dependencies",
    description: "Both directions: first what it is blocked by, then what it blocks",
  });

export const BacklinksAnswer = z
  .object({
    backlinks: z.array(z.object({ relation: z.string(), ...otherEnd, ...source }).meta({ id: "Backlink" })),
    ...cursor,
  })
  .meta({ id: "Backlinks", description: "Items and records that link to the item, by any relation" });

/** More edges than any grouping has; each may mean a search through the graph. */
const MOST_EDGES = 200;

const EdgeEnd = z
  .union([wholeNumber(1, MAX_INT32), LinkKey])
  .meta({ id: "EdgeEnd", description: "The number of an issue of this repository, or a key" });

export const ValidateEdges = z
  .strictObject({
    edges: z
      .array(z.strictObject({ from: EdgeEnd, relation: Relation, to: EdgeEnd }))
      .min(1)
      .max(MOST_EDGES),
  })
  .meta({ id: "ValidateEdges" });
export type ValidateEdges = z.infer<typeof ValidateEdges>;

export const EdgeVerdict = z
  .object({
    ok: z.boolean(),
    code: z.string().optional(),
    detail: z.string().optional(),
    path: z
      .array(z.string())
      .optional()
      .meta({ description: "The circle, as keys, its first item again at its end" }),
  })
  .meta({ id: "EdgeVerdict" });
export type EdgeVerdict = z.infer<typeof EdgeVerdict>;

export const EdgesAnswer = z.object({ edges: z.array(EdgeVerdict) }).meta({
  id: "EdgeVerdicts",
  description: "In the order asked. Each edge is judged as if those before it that are ok were there already",
});

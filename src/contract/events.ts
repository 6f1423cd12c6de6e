/** Following what happens over HTTP: the names of api.md. */

import { z } from "zod";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import { RepoName } from "./repo-name.ts";

const isEventType = (type: string): type is EventType => (EVENT_TYPES as readonly string[]).includes(type);

export const EventsQuery = z.strictObject({
  repo: RepoName.transform((text) => ({ owner: text.split("/")[0] ?? "", name: text.split("/")[1] ?? "" }))
    .optional()
    .meta({ description: "Only of this repository, `owner/name`; else of all that the caller may see" }),
  types: z
    .string()
    .max(1_000)
    .transform((text) => text.split(","))
    .pipe(
      z.array(z.string().refine(isEventType, { error: `a type of event: ${EVENT_TYPES.join(", ")}` })).min(1),
    )
    .optional()
    .meta({ description: "Only of these types, separated by commas" }),
});

/** The number is sent back by browsers as they got it; what is none of ours is answered `sync.lost`, not refused. */
export const EventsHeaders = z.object({
  "last-event-id": z
    .string()
    .max(200)
    .optional()
    .meta({ description: "The id that was got last: what came after it is replayed" }),
});

/** `data` of each event, as documentation: what more it carries hangs on its type. */
export const EventBody = z
  .looseObject({
    id: z.int(),
    type: z.enum(EVENT_TYPES),
    repo: z.string(),
    number: z.int().nullable(),
    at: z.string(),
  })
  .meta({
    id: "Event",
    description:
      "A stream of server-sent events: `id`, `event` (its type) and `data`. Besides them `sync.lost` (events were missed that cannot be replayed: read the state anew), `auth.expired` (the token has ended), and a comment every 15 s",
    examples: [
      {
        owner: "worker/7f3a",
        region: "local",
        scope: "item",
        fencingToken: 41,
        custodyChanged: true,
        id: 1796058924286153,
        type: "item.claimed",
        repo: "acme/widgets",
        number: 7,
        at: "2026-09-06T01:12:44.000Z",
      },
    ],
  });

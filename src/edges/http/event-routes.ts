/** Following what happens, as a stream of server-sent events. */

import type { FastifyReply } from "fastify";
import { EventBody, EventsHeaders, EventsQuery } from "../../contract/events.ts";
import type { Caller } from "../../services/caller.ts";
import type { Deps } from "../../services/deps.ts";
import { type EventStream, openEventStream } from "../../services/follow-events.ts";
import { EventSender } from "./event-sender.ts";
import { READ_CODES, refusing } from "./refusals.ts";
import type { Routes } from "./route-schemas.ts";

export function eventRoutes(app: Routes, deps: Deps): void {
  app.get(
    "/api/v1/events",
    {
      config: { capability: "read", scope: "filtered", isStream: true },
      // A stream has no end to tell the length of.
      exposeHeadRoute: false,
      schema: {
        operationId: "followEvents",
        summary: "Follow what happens",
        description:
          "Server-sent events, in the order of commits. Each has an `id`: sent back as `Last-Event-ID`, the stream goes on after it, and nothing is missed or told twice.",
        tags: ["Events"],
        querystring: EventsQuery,
        headers: EventsHeaders,
        response: {
          200: { description: "The stream", content: { "text/event-stream": { schema: EventBody } } },
          ...refusing(...READ_CODES, "scope_forbidden"),
        },
      },
    },
    async (request, reply) => {
      const { repo, types } = request.query;
      const lastEventId = request.headers["last-event-id"];
      const stream = await openEventStream(deps, request.caller, { repo, types, lastEventId });
      reply.hijack();
      await serve(deps, request.caller, stream, reply);
    },
  );
}

/** Until the client leaves, its token or the process ends, or it is told why not. */
async function serve(deps: Deps, caller: Caller, stream: EventStream, reply: FastifyReply): Promise<void> {
  const { raw } = reply;
  const tokenEnded = deps.watch.onEnd(caller);
  const ended = new AbortController();
  const end = (): void => ended.abort();
  const { stopping } = deps.events;
  raw.once("close", end);
  raw.on("error", end);
  stopping.addEventListener("abort", end, { once: true });
  tokenEnded.addEventListener("abort", end, { once: true });
  // It may have left while the stream was opened.
  if (raw.destroyed || tokenEnded.aborted) end();
  const sender = new EventSender(raw);
  try {
    sender.begin();
    const isRead = await sender.send(stream.follow(ended.signal), ended.signal);
    if (tokenEnded.aborted) sender.expired();
    else if (!isRead && !ended.signal.aborted) {
      sender.tooSlow();
      deps.metrics.streamLost("too_slow");
    }
  } catch (error) {
    deps.log.warn(
      { reason: (error as Error).message },
      "a stream of events broke; its client connects again",
    );
  } finally {
    stopping.removeEventListener("abort", end);
    tokenEnded.removeEventListener("abort", end);
    stream.close();
    sender.end();
  }
}

/** Metrics, as Prometheus reads them; and the time that each request took. */

import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { Problem } from "../../contract/problem.ts";
import type { Deps } from "../../services/deps.ts";
import { Scrape } from "../../services/scrape.ts";
import { refusing } from "./refusals.ts";
import type { Routes } from "./route-schemas.ts";

export function metricsRoutes(app: Routes, deps: Deps): void {
  const scrape = new Scrape(deps);
  app.get(
    "/metrics",
    {
      config: { capability: "read" },
      schema: {
        summary: "Metrics for Prometheus",
        description: "What each means, and when to worry, stands in docs/operations.md.",
        tags: ["Operations"],
        response: {
          200: { description: "Prometheus text", content: { "text/plain": { schema: z.string() } } },
          ...refusing("scope_forbidden"),
        },
      },
    },
    async (request, reply) => {
      const { scope, repositories } = request.caller;
      if (scope !== null || repositories !== null) {
        throw new Problem(
          "scope_forbidden",
          "metrics tell of every repository: use a token without repositories and without a scope",
        );
      }
      return reply
        .header("content-type", scrape.contentType)
        .serializer(String)
        .send(await scrape.text());
    },
  );
}

/** Counts every request by the template of its route. */
export function measureRequests(app: FastifyInstance, { metrics }: Deps): void {
  app.addHook("onResponse", async (request, reply) => {
    const { url, config } = request.routeOptions;
    if (config.isStream) return;
    metrics.http(request.method, url, reply.statusCode, reply.elapsedTime / 1000);
  });
}

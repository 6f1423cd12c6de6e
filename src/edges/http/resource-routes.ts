/** Resource leases: what is held, what was, and release by force. */

import { z } from "zod";
import {
  ForceQuery,
  LeaseHistoryQuery,
  ResourceHistory,
  ResourceInterval,
  ResourceKey,
  ResourceLeases,
} from "../../contract/resources.ts";
import type { Deps } from "../../services/deps.ts";
import { releaseByForce, resourceHistory, resourceLeases } from "../../services/resources.ts";
import { READ_CODES, refusing } from "./refusals.ts";
import type { Routes } from "./route-schemas.ts";

const LEASES = "/api/v1/resources/leases";
const tags = ["Resources"];

export function resourceRoutes(app: Routes, deps: Deps): void {
  app.get(
    LEASES,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listResourceLeases",
        summary: "Resources that are held now",
        description: "`holderItem` is the item, not the worker: a resource is held by what it is needed for.",
        tags,
        response: { 200: ResourceLeases },
      },
    },
    async (request) => resourceLeases(deps, request.caller),
  );
  app.get(
    `${LEASES}/history`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listResourceHistory",
        summary: "Every interval for which a resource was held, and how it ended",
        description: "The latest first; with `at` what was held at that moment.",
        tags,
        querystring: LeaseHistoryQuery,
        response: { 200: ResourceHistory, ...refusing("validation_failed") },
      },
    },
    async (request) => resourceHistory(deps, request.caller, request.query),
  );
  app.delete(
    `${LEASES}/:key`,
    {
      config: { capability: "admin" },
      schema: {
        operationId: "forceReleaseResource",
        summary: "Release a resource by force",
        description:
          "For when somebody knows that the place is free although its lease still runs. The item that held it goes on.",
        tags,
        params: z.object({ key: ResourceKey }),
        querystring: ForceQuery,
        response: { 200: ResourceInterval, ...refusing(...READ_CODES, "conflict") },
      },
    },
    async (request) => releaseByForce(deps, request.caller, request.params.key, request.query),
  );
}

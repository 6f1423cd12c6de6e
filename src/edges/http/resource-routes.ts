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
      config: { capability: "read" },
      schema: {
        summary: "Resources that are held now",
        tags,
        response: { 200: ResourceLeases, ...refusing(...READ_CODES) },
      },
    },
    async (request) => resourceLeases(deps, request.caller),
  );
  app.get(
    `${LEASES}/history`,
    {
      config: { capability: "read" },
      schema: {
        summary: "Every interval for which a resource was held, and how it ended",
        tags,
        querystring: LeaseHistoryQuery,
        response: { 200: ResourceHistory, ...refusing(...READ_CODES) },
      },
    },
    async (request) => resourceHistory(deps, request.caller, request.query),
  );
  app.delete(
    `${LEASES}/:key`,
    {
      config: { capability: "admin" },
      schema: {
        summary: "Release a resource by force",
        tags,
        params: z.object({ key: ResourceKey }),
        querystring: ForceQuery,
        response: { 200: ResourceInterval, ...refusing(...READ_CODES, "conflict") },
      },
    },
    async (request) => releaseByForce(deps, request.caller, request.params.key, request.query),
  );
}

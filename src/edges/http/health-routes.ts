/** Health: the short answer for anybody, the whole picture with a token. */

import { HealthAnswer } from "../../contract/operations.ts";
import type { Deps } from "../../services/deps.ts";
import { health, publicHealth } from "../../services/health.ts";
import { bearerOf, type CallerFinder } from "./auth.ts";
import { refusing } from "./refusals.ts";
import type { Routes } from "./route-schemas.ts";

export function healthRoutes(app: Routes, deps: Deps, callerOf: CallerFinder): void {
  app.get(
    "/health",
    {
      schema: {
        operationId: "health",
        summary: "Is all well",
        description:
          "Without a token only the status and the version; with one the database, migrations, inbox, outbox, GitHub, and the repositories that the caller may see.",
        tags: ["Operations"],
        response: { 200: HealthAnswer, ...refusing("unauthenticated") },
      },
    },
    async (request) => {
      if (bearerOf(request) === null) return publicHealth(deps);
      return health(deps, await callerOf(request));
    },
  );
}

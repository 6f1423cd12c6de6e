/** Health: the short answer for anybody, the whole picture with a token. */

import { HealthAnswer } from "../../contract/operations.ts";
import type { Deps } from "../../services/deps.ts";
import { health, publicHealth } from "../../services/health.ts";
import { bearerOf, type CallerFinder } from "./auth.ts";
import { type Routes, refusals } from "./route-schemas.ts";

export function healthRoutes(app: Routes, deps: Deps, callerOf: CallerFinder): void {
  app.get(
    "/health",
    {
      schema: {
        summary: "Is all well",
        tags: ["Operations"],
        response: { 200: HealthAnswer, 401: refusals[401] },
      },
    },
    async (request) => {
      if (bearerOf(request) === null) return publicHealth(deps);
      return health(deps, await callerOf(request));
    },
  );
}

import type { World } from "../state/world.ts";
import type { Webhooks } from "../webhooks.ts";
import type { Authentication } from "./authentication.ts";
import type { Route } from "./route.ts";
import { appRoutes, manifestRoutes } from "./routes-app.ts";
import { checkRoutes } from "./routes-checks.ts";
import { commentRoutes } from "./routes-comments.ts";
import { deliveryRoutes } from "./routes-deliveries.ts";
import { gitRoutes } from "./routes-git.ts";
import { issueRoutes } from "./routes-issues.ts";
import { labelRoutes } from "./routes-labels.ts";
import { linkRoutes } from "./routes-links.ts";
import { pullRoutes } from "./routes-pulls.ts";
import { repositoryRoutes } from "./routes-repositories.ts";

/** Every endpoint. The first that matches answers, so the particular stand before the general. */
export function routes(parts: {
  world: World;
  authentication: Authentication;
  webhooks: Webhooks;
  manifestCodes: Set<string>;
}): Route[] {
  return [
    ...appRoutes(parts.authentication),
    ...manifestRoutes(parts.world, parts.manifestCodes),
    ...deliveryRoutes(parts.webhooks),
    ...repositoryRoutes,
    ...labelRoutes,
    ...commentRoutes,
    ...issueRoutes,
    ...linkRoutes,
    ...pullRoutes,
    ...checkRoutes,
    ...gitRoutes,
  ];
}

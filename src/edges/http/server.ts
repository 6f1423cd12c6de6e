/** The one HTTP server: every route is listed here. Each validates, calls one service and shapes the answer. */

import fastifySwaggerUi from "@fastify/swagger-ui";
import Fastify, { type FastifyInstance } from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import type { Deps } from "../../services/deps.ts";
import type { Setup } from "../../services/setup.ts";
import { callerFinder } from "./auth.ts";
import { authoringRoutes } from "./authoring-routes.ts";
import { claimRoutes } from "./claim-routes.ts";
import { answerError, answerNotFound } from "./errors.ts";
import { eventRoutes } from "./event-routes.ts";
import { finishingRoutes } from "./finishing-routes.ts";
import { assertGuarded, assertMayCall, assertSubjectSeen } from "./guard.ts";
import { healthRoutes } from "./health-routes.ts";
import { itemRoutes } from "./item-routes.ts";
import { linkRoutes } from "./link-routes.ts";
import { memoryListRoutes } from "./memory-list-routes.ts";
import { memoryRoutes } from "./memory-routes.ts";
import { measureRequests, metricsRoutes } from "./metrics-routes.ts";
import { describeApi } from "./openapi.ts";
import { queueRoutes } from "./queue-routes.ts";
import { repoRoutes } from "./repo-routes.ts";
import { resourceRoutes } from "./resource-routes.ts";
import type { Routes } from "./route-schemas.ts";
import { setupRoutes } from "./setup-routes.ts";
import type { SetupSessions } from "./setup-session.ts";
import { tokenRoutes } from "./token-routes.ts";
import { webhookRoute } from "./webhook-route.ts";

export interface ServerOptions {
  readonly adminToken: string;
  readonly setup: Setup;
  readonly setupSessions: SetupSessions;
}

/** A record may hold a megabyte of text, and JSON may escape every character of it. */
const BODY_LIMIT = 8 * 1024 * 1024;

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="150" height="40" viewBox="0 0 150 40"><text x="0" y="28" font-family="sans-serif" font-size="24" font-weight="600" fill="#fff">Leasehold</text></svg>`;

export type Server = FastifyInstance;

export async function createServer(deps: Deps, options: ServerOptions): Promise<Server> {
  const app = Fastify({
    bodyLimit: BODY_LIMIT,
    // Requests under way are answered; `app.ts` cuts them off when that takes too long.
    forceCloseConnections: "idle",
    return503OnClosing: true,
    routerOptions: { maxParamLength: 300 },
    // What fails before a route is found, such as an address that cannot be decoded.
    frameworkErrors: (error, request, reply) => answerError(deps.log, error, request, reply),
  }).withTypeProvider<ZodTypeProvider>();
  measureRequests(app as unknown as Server, deps);
  // Fastify takes text too; the API speaks JSON.
  app.removeContentTypeParser("text/plain");
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler((error, request, reply) => answerError(deps.log, error, request, reply));
  app.setNotFoundHandler(answerNotFound);

  await describeApi(app as unknown as Routes, deps.version);
  await app.register(fastifySwaggerUi, {
    routePrefix: "/docs",
    theme: { title: "Leasehold API" },
    logo: { type: "image/svg+xml", content: LOGO, href: "/docs" },
  });

  const callerOf = callerFinder(deps, options.adminToken);
  await app.register(async (scope) => webhookRoute(scope, deps));
  await app.register(async (scope) => setupRoutes(scope, deps, options));
  await app.register(async (scope) =>
    healthRoutes(scope.withTypeProvider<ZodTypeProvider>(), deps, callerOf),
  );
  await app.register(async (scope) => {
    // Before anything of the request is read: a stranger learns nothing from our complaints.
    scope.addHook("onRoute", assertGuarded);
    scope.addHook("onRequest", async (request) => {
      request.caller = await callerOf(request);
      assertMayCall(request);
    });
    // Before the body is judged: who may not see the item learns nothing from our complaints either.
    scope.addHook("preValidation", async (request) => {
      await assertSubjectSeen(deps, request);
    });
    const routes = scope.withTypeProvider<ZodTypeProvider>();
    tokenRoutes(routes, deps);
    repoRoutes(routes, deps);
    itemRoutes(routes, deps);
    linkRoutes(routes, deps);
    authoringRoutes(routes, deps);
    claimRoutes(routes, deps);
    finishingRoutes(routes, deps);
    memoryRoutes(routes, deps);
    eventRoutes(routes, deps);
    memoryListRoutes(routes, deps);
    resourceRoutes(routes, deps);
    queueRoutes(routes, deps);
    metricsRoutes(routes, deps);
  });
  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
  app.get("/", { schema: { hide: true } }, async (_request, reply) => reply.redirect("/docs"));
  return app as unknown as Server;
}

/**
 * `/setup`: registers the GitHub App by GitHub's manifest flow. Pages for a browser that came with the one-time
 * code or the admin token; without either nothing is shown or done. No route logs a code, a state or a credential.
 */

import { randomBytes } from "node:crypto";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { Problem } from "../../contract/problem.ts";
import {
  buildManifest,
  checkPublicUrl,
  isEnterpriseServer,
  isLocalAddress,
  loadAppDefinition,
  registrationUrl,
  suggestedName,
} from "../../services/app-manifest.ts";
import type { Deps } from "../../services/deps.ts";
import type { Setup } from "../../services/setup.ts";
import { bearerOf, sameSecret } from "./auth.ts";
import { answerError, sendProblem } from "./errors.ts";
import { finishSetup } from "./setup-callback.ts";
import { html, type Page, PRIVATE_HEADERS, sendPage } from "./setup-html.ts";
import {
  configuredPage,
  failurePage,
  handOffPage,
  installedPage,
  type RegisterValues,
  type RegisterView,
  registerPage,
  signInPage,
  unsavedPage,
} from "./setup-pages.ts";
import { type SetupSession, type SetupSessions, sessionCookie } from "./setup-session.ts";

export interface SetupRoutesOptions {
  readonly setup: Setup;
  readonly setupSessions: SetupSessions;
  readonly adminToken: string;
}

const FORM_LIMIT = 16 * 1024;
/** Hidden from the API's description; HEAD must not use up a one-time code. */
const ROUTE = { schema: { hide: true }, exposeHeadRoute: false, bodyLimit: FORM_LIMIT } as const;

export function setupRoutes(
  scope: FastifyInstance,
  { log }: Pick<Deps, "log">,
  { setup, setupSessions: sessions, adminToken }: SetupRoutesOptions,
): void {
  const { webBase } = setup;
  const isAdmin = (token: string | null): boolean => token !== null && sameSecret(token, adminToken);

  scope.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  scope.addHook("onRequest", async (_request, reply) => {
    reply.headers(PRIVATE_HEADERS);
  });
  scope.setErrorHandler((error: FastifyError, request, reply) => {
    if (!wantsHtml(request)) return answerError(log, error, request, reply);
    const isOurs = !(error.statusCode !== undefined && error.statusCode < 500);
    if (isOurs) log.error({ err: error, route: request.routeOptions.url }, "a set-up page failed");
    return sendPage(reply, isOurs ? brokenPage : unreadablePage);
  });

  /** Lets a session do something; anybody else is shown how to get one. */
  const guarded =
    (
      answer: (request: FastifyRequest, reply: FastifyReply, session: SetupSession) => Promise<FastifyReply>,
    ) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const session = sessions.find(request.headers.cookie);
      return session ? answer(request, reply, session) : refuse(request, reply);
    };
  const signIn = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.header("set-cookie", sessionCookie(sessions.open(), isHttps(request))).redirect("/setup", 303);

  scope.get("/setup", ROUTE, async (request, reply) => {
    const { code } = request.query as Record<string, unknown>;
    const redeemed = typeof code === "string" && sessions.redeem(code);
    if (sessions.find(request.headers.cookie)) {
      if (code !== undefined) return reply.redirect("/setup", 303);
      return sendPage(reply, await currentPage(request));
    }
    return redeemed || isAdmin(bearerOf(request)) ? signIn(request, reply) : refuse(request, reply);
  });

  scope.post("/setup/sign-in", ROUTE, async (request, reply) => {
    const { token } = request.body as Record<string, unknown>;
    if (typeof token === "string" && isAdmin(token.trim())) return signIn(request, reply);
    return refuse(request, reply, true);
  });

  scope.post(
    "/setup/start",
    ROUTE,
    guarded(async (request, reply, session) => {
      if (setup.isConfigured) return reply.redirect("/setup", 303);
      const browserUrl = browserUrlOf(request);
      if (browserUrl === null) return sendPage(reply, strangerPage);
      return sendPage(reply, await startPage(request.body, browserUrl, session));
    }),
  );

  scope.post(
    "/setup/save",
    ROUTE,
    guarded(async (request, reply) => {
      if (browserUrlOf(request) === null) return sendPage(reply, strangerPage);
      await setup.save();
      return reply.redirect("/setup", 303);
    }),
  );

  scope.get(
    "/setup/callback",
    ROUTE,
    guarded(async (request, reply, session) => {
      const page = await finishSetup(setup, session, request.query);
      return page ? sendPage(reply, page) : reply.redirect("/setup", 303);
    }),
  );

  // Where a form's answer was shown, reloaded or followed from the history.
  for (const form of ["sign-in", "start", "save"]) {
    scope.get(`/setup/${form}`, ROUTE, async (_request, reply) => reply.redirect("/setup", 303));
  }

  scope.get("/setup/installed", ROUTE, async (_request, reply) => sendPage(reply, installedPage()));

  async function currentPage(request: FastifyRequest): Promise<Page> {
    const status = await setup.status();
    if (status.kind === "unsaved") return unsavedPage(status);
    if (status.kind === "configured") return configuredPage(status.appId, status.app, status.problem);
    const publicUrl = addressOf(request) ?? "";
    return registerView({ account: "personal", organization: "", publicUrl }, {});
  }

  async function registerView(values: RegisterValues, errors: RegisterView["errors"]): Promise<Page> {
    const definition = await loadAppDefinition();
    const checked = checkPublicUrl(values.publicUrl);
    const isLocal = "url" in checked && isUnreachable(checked.url, webBase);
    return registerPage({ values, errors, definition, webBase, isLocal });
  }

  async function startPage(body: unknown, browserUrl: string, session: SetupSession): Promise<Page> {
    const values = RegisterForm.parse(body ?? {});
    const publicUrl = checkPublicUrl(values.publicUrl);
    const organization = values.account === "organization" ? values.organization : null;
    const errors = {
      ...(organization !== null && !ORGANIZATION.test(organization)
        ? { organization: ORGANIZATION_HELP }
        : {}),
      ...("problem" in publicUrl ? { publicUrl: publicUrl.problem } : {}),
    };
    if ("problem" in publicUrl || Object.keys(errors).length > 0) return registerView(values, errors);
    const definition = await loadAppDefinition();
    const name = suggestedName(definition.name, organization ?? randomBytes(3).toString("hex"));
    return handOffPage({
      action: registrationUrl(webBase, organization, session.newState()),
      webBase,
      manifest: buildManifest(definition, {
        name,
        publicUrl: publicUrl.url,
        browserUrl,
        enterpriseServer: isEnterpriseServer(webBase),
      }),
      owner: organization,
      isLocal: isUnreachable(publicUrl.url, webBase),
      isPlain: publicUrl.url.startsWith("http:"),
    });
  }
}

/** What a form leaves out or doubles is as good as empty. */
const RegisterForm = z.object({
  account: z.enum(["personal", "organization"]).catch("personal"),
  organization: z.string().trim().catch(""),
  publicUrl: z.string().trim().catch(""),
});

const ORGANIZATION = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$/;
const ORGANIZATION_HELP =
  "Enter the organisation's name as in its address on GitHub: letters, digits and hyphens.";

/** A server on the same private network may well reach it; a public one cannot. */
const isUnreachable = (url: string, webBase: string): boolean =>
  isLocalAddress(url) && !isLocalAddress(webBase);

const wantsHtml = (request: FastifyRequest): boolean => (request.headers.accept ?? "").includes("text/html");

function refuse(request: FastifyRequest, reply: FastifyReply, failed = false): FastifyReply {
  if (wantsHtml(request)) return sendPage(reply.header("www-authenticate", "Bearer"), signInPage(failed));
  const where =
    "open the link that the start-up message prints (it works once, for an hour), or send the header " +
    "Authorization: Bearer <admin token>; the token is LEASEHOLD_ADMIN_TOKEN or lies in DATA_DIR/admin-token";
  return sendProblem(reply, new Problem("unauthenticated", where));
}

/** Only whether a cookie is marked Secure and what a field is filled with hang on the proxy's word. */
const isHttps = (request: FastifyRequest): boolean =>
  request.protocol === "https" || request.headers["x-forwarded-proto"] === "https";

/** The address that the request was made to, as far as its `Host` is one. */
function addressOf(request: FastifyRequest): string | null {
  const url = `${isHttps(request) ? "https" : "http"}://${request.headers.host ?? ""}`;
  return URL.canParse(url) ? new URL(url).origin : null;
}

/**
 * Where the browser sees us, by its own word: a proxy may have changed `Host`. Null when a form of another site
 * was sent, though `SameSite` should have kept the cookie from it: that site would learn GitHub's code.
 */
function browserUrlOf(request: FastifyRequest): string | null {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (site !== undefined && site !== "same-origin") return null;
  if (origin === undefined) return addressOf(request);
  if (!URL.canParse(origin)) return null;
  const isSame = site === "same-origin" || new URL(origin).host === request.headers.host;
  return isSame ? new URL(origin).origin : null;
}

const strangerPage = failurePage(403, "This form came from another site", [
  html`Nothing was done. Open <a href="/setup">/setup</a> and send the form there.`,
]);
const unreadablePage = failurePage(400, "The form could not be read", [
  html`Nothing was done. Go <a href="/setup">back to the beginning</a> and send it again.`,
]);
const brokenPage = failurePage(500, "Something failed here", [
  html`The server's log says what. Then go <a href="/setup">back to the beginning</a>.`,
]);

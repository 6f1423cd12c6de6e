import { HttpError, malformed, notFound } from "../http-error.ts";
import type { Json, JsonObject } from "../json.ts";
import { appJson, installationJson, permissionsJson, userJson } from "../payloads/accounts.ts";
import { repositoryJson } from "../payloads/repositories.ts";
import { isoTime } from "../payloads/times-and-ids.ts";
import type { Installation, Permissions, Repository } from "../state/model.ts";
import { allows, type World } from "../state/world.ts";
import { type ApiRequest, created, namesField, numberParam, objectField, ok, param } from "./api-request.ts";
import type { Authentication } from "./authentication.ts";
import { countedPage, page } from "./pagination.ts";
import { appRoute, findRepository, installationRoute, openRoute, type Route } from "./route.ts";

/** The App itself, its installations, and the tokens for them. */
export function appRoutes(authentication: Authentication): Route[] {
  return [
    appRoute("GET", "/app", ({ world }) =>
      ok({ ...appJson(world, world.app), installations_count: world.installations.size }),
    ),
    appRoute("GET", "/app/installations", (request) =>
      page(request, [...request.world.installations.values()], (row) => installationJson(request.world, row)),
    ),
    appRoute("GET", "/app/installations/:id", (request) =>
      ok(installationJson(request.world, findInstallation(request))),
    ),
    appRoute("POST", "/app/installations/:id/access_tokens", (request) =>
      created(issueToken(request, authentication)),
    ),
    appRoute("GET", "/repos/:owner/:repo/installation", (request) => {
      const installation = request.world.installationOf(findRepository(request));
      if (!installation) throw notFound();
      return ok(installationJson(request.world, installation));
    }),
    installationRoute("GET", "/installation/repositories", (request) => {
      const { world } = request;
      return countedPage(
        request,
        "repositories",
        visibleRepositories(request),
        (row) => repositoryJson(world, row),
        { repository_selection: "selected" },
      );
    }),
    installationRoute("GET", "/users/:login", (request) => {
      const account = request.world.findAccount(param(request, "login"));
      if (!account) throw notFound();
      return ok({ ...userJson(request.world, account), name: account.login });
    }),
    installationRoute("GET", "/rate_limit", () => ok({ resources: {} })),
  ];
}

/** The last step of the manifest flow: a code, once, for everything that the App must know. */
export function manifestRoutes(world: World, codes: Set<string>): Route[] {
  return [
    openRoute("POST", "/app-manifests/:code/conversions", (request) => {
      if (!codes.delete(param(request, "code"))) throw notFound();
      const { app } = world;
      return created({
        ...appJson(world, app),
        client_secret: app.clientSecret,
        webhook_secret: app.webhookSecret,
        pem: app.privateKey,
      });
    }),
  ];
}

function issueToken(request: ApiRequest, authentication: Authentication): JsonObject {
  const { world, body } = request;
  const installation = findInstallation(request);
  if (installation.suspended) throw new HttpError(403, "This installation has been suspended");
  const repositories = chosenRepositories(request, installation);
  const permissions = chosenPermissions(installation, objectField(body, "permissions"));
  const ids = repositories ? new Set(repositories.map((repository) => repository.id)) : null;
  const { token, expiresAt } = authentication.issueToken(installation.id, ids, permissions);
  return {
    token,
    expires_at: isoTime(expiresAt),
    permissions: permissionsJson(permissions),
    repository_selection: "selected",
    ...(repositories ? { repositories: repositories.map((row) => repositoryJson(world, row)) } : {}),
  };
}

function findInstallation(request: ApiRequest): Installation {
  const installation = request.world.installations.get(numberParam(request, "id"));
  if (!installation) throw notFound();
  return installation;
}

function visibleRepositories({ credentials }: ApiRequest): Repository[] {
  if (credentials.kind !== "installation") throw new Error("checked by installationRoute");
  const { installation, grant } = credentials;
  return [...installation.repositories].filter(({ id }) => grant.repositoryIds?.has(id) ?? true);
}

/** Null: all that the installation has, now and later. */
function chosenRepositories({ body }: ApiRequest, installation: Installation): Repository[] | null {
  const names = namesField(body, "repositories");
  const ids = body.repository_ids;
  if (names === undefined && ids === undefined) return null;
  const wanted: Json[] = [...(names ?? []), ...(Array.isArray(ids) ? ids : [])];
  return wanted.map((key) => {
    const found = [...installation.repositories].find(({ id, name }) => id === key || name === key);
    if (!found)
      throw malformed(422, "There is at least one repository that does not exist or is not accessible");
    return found;
  });
}

function chosenPermissions(installation: Installation, wanted: JsonObject | undefined): Permissions {
  if (!wanted) return installation.permissions;
  const chosen: Permissions = { metadata: "read" };
  for (const [name, level] of Object.entries(wanted)) {
    if ((level !== "read" && level !== "write") || !allows(installation.permissions, name, level)) {
      throw malformed(422, "The permissions requested are not granted to this installation.");
    }
    chosen[name] = level;
  }
  return chosen;
}

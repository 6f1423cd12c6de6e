import { HttpError, malformed, notFound } from "../http-error.ts";
import { type Actor, fullName, type Repository } from "../state/model.ts";
import { allows } from "../state/world.ts";
import { type ApiRequest, param, type Reply } from "./api-request.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** An endpoint. `:name` in the pattern is one segment of the path, `:name*` one or more;
 * `:number` and `:id` are digits. */
export type Route = {
  method: Method;
  pattern: string;
  path: RegExp;
  names: string[];
  handle: (request: ApiRequest) => Reply;
};

export type RepositoryRequest = ApiRequest & { repository: Repository; actor: Actor };

/** For example `issues:write`. */
export type Needs = `${string}:${"read" | "write"}`;

/** Called without credentials. */
export function openRoute(method: Method, pattern: string, handle: (request: ApiRequest) => Reply): Route {
  return { method, pattern, ...compile(pattern), handle };
}

/** Called with the App's JSON web token. */
export function appRoute(method: Method, pattern: string, handle: (request: ApiRequest) => Reply): Route {
  return openRoute(method, pattern, (request) => {
    if (request.credentials.kind !== "app") throw malformed(401, "A JSON web token could not be decoded");
    return handle(request);
  });
}

/** Called with an installation token. */
export function installationRoute(
  method: Method,
  pattern: string,
  handle: (request: ApiRequest) => Reply,
): Route {
  return openRoute(method, pattern, (request) => {
    if (request.credentials.kind !== "installation") throw malformed(401, "Requires authentication");
    return handle(request);
  });
}

/**
 * An endpoint below `/repos/:owner/:repo`. A repository that the token's installation does not hold does
 * not exist for it; a name of earlier redirects.
 */
export function repositoryRoute(
  method: Method,
  below: string,
  needs: Needs,
  handle: (request: RepositoryRequest) => Reply,
): Route {
  return installationRoute(method, `/repos/:owner/:repo${below}`, (request) => {
    const { world, credentials } = request;
    if (credentials.kind !== "installation") throw new Error("checked by installationRoute");
    const repository = findRepository(request);
    const { installation, grant, actor } = credentials;
    const isGranted = grant.repositoryIds?.has(repository.id) ?? true;
    if (!installation.repositories.has(repository) || !isGranted) throw notFound();
    const [permission = "", level] = needs.split(":");
    if (!allows(grant.permissions, permission, level === "write" ? "write" : "read")) {
      throw new HttpError(403, "Resource not accessible by integration", {
        headers: { "x-accepted-github-permissions": `${permission}=${level}` },
      });
    }
    return handle({ ...request, world, repository, actor });
  });
}

export function findRepository(request: ApiRequest): Repository {
  const owner = param(request, "owner");
  const name = param(request, "repo");
  const repository = request.world.findRepository(owner, name);
  if (repository) return repository;
  const moved = request.world.findFormerRepository(owner, name);
  if (!moved) throw notFound();
  const rest = request.path.split("/").slice(4);
  throw redirect(request, [`/repositories/${moved.id}`, ...rest].join("/"));
}

/** 301 for what can be asked again as it is; 307 keeps the method and the body of the rest. */
export function redirect(request: ApiRequest, path: string): HttpError {
  const query = request.query.size > 0 ? `?${request.query}` : "";
  const location = `${request.world.apiUrl}${path}${query}`;
  const status = request.method === "GET" ? 301 : 307;
  return new HttpError(status, "Moved Permanently", { headers: { location } });
}

/** `/repositories/:id/...` is another name of `/repos/:owner/:repo/...`. */
export function resolveRepositoryId(path: string, byId: (id: number) => Repository | undefined): string {
  const match = /^\/repositories\/(\d+)(\/.*)?$/.exec(path);
  if (!match) return path;
  const repository = byId(Number(match[1]));
  if (!repository || repository.deleted) throw notFound();
  return `/repos/${fullName(repository)}${match[2] ?? ""}`;
}

function compile(pattern: string): { path: RegExp; names: string[] } {
  const names: string[] = [];
  const source = pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:(\w+)(\\\*)?/g, (_, name, many) => {
    names.push(String(name));
    if (many) return "(.+)";
    return name === "number" || name === "id" ? "(\\d+)" : "([^/]+)";
  });
  return { path: new RegExp(`^${source}$`), names };
}

import { HttpError, malformed } from "../http-error.ts";
import type { Json, JsonObject } from "../json.ts";
import type { World } from "../state/world.ts";
import type { ApiRequest, Credentials, Reply } from "./api-request.ts";
import { isObject } from "./api-request.ts";
import type { Authentication } from "./authentication.ts";
import type { RateLimits } from "./rate-limits.ts";
import { type Route, resolveRepositoryId } from "./route.ts";

export type Incoming = {
  method: string;
  path: string;
  query: URLSearchParams;
  text: string;
  accept: string;
  authorization: string | undefined;
};

export type Outcome = { status: number; headers: Record<string, string>; body: Json | undefined };

/** A request that no correct App sends. */
export type Unexpected = { method: string; path: string; status: number; why: string };

const DOCUMENTATION = "https://docs.github.com/rest";

/** From a request to GitHub's answer: who asks, within which limits, for which endpoint. */
export class Dispatcher {
  readonly unexpected: Unexpected[] = [];
  #world: World;
  #routes: readonly Route[];
  #authentication: Authentication;
  #limits: RateLimits;

  constructor(world: World, routes: readonly Route[], authentication: Authentication, limits: RateLimits) {
    this.#world = world;
    this.#routes = routes;
    this.#authentication = authentication;
    this.#limits = limits;
  }

  dispatch(incoming: Incoming): Outcome {
    let headers: Record<string, string> = {};
    try {
      const credentials = this.#authentication.identify(incoming.authorization);
      if (credentials.kind === "installation") {
        this.#limits.count(credentials.installation);
        headers = this.#limits.headers(credentials.installation);
        this.#limits.check(credentials.installation);
      }
      const reply = this.#route(incoming, credentials);
      return { ...reply, headers: { ...headers, ...reply.headers } };
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      if (error.isClientBug) {
        const { method, path } = incoming;
        this.unexpected.push({ method, path, status: error.status, why: error.message });
      }
      return errorOutcome(error, headers);
    }
  }

  /** `app`, the login of its bot, or null for anybody else. */
  actorOf(authorization: string | undefined): string | null {
    try {
      const credentials = this.#authentication.identify(authorization);
      if (credentials.kind === "installation") return credentials.actor.account.login;
      return credentials.kind === "app" ? "app" : null;
    } catch {
      return null;
    }
  }

  #route(incoming: Incoming, credentials: Credentials): Reply {
    const path = resolveRepositoryId(incoming.path, (id) => this.#world.repositories.get(id));
    for (const route of this.#routes) {
      if (route.method !== incoming.method) continue;
      const match = route.path.exec(path);
      if (!match) continue;
      const params = Object.fromEntries(
        route.names.map((name, index) => [name, decodeURIComponent(match[index + 1] ?? "")]),
      );
      const request: ApiRequest = {
        world: this.#world,
        method: incoming.method,
        path,
        params,
        query: incoming.query,
        body: bodyFields(parseBody(incoming.text)),
        accept: incoming.accept,
        credentials,
      };
      return route.handle(request);
    }
    throw malformed(404, `Not Found: the fake has no route for ${incoming.method} ${incoming.path}`);
  }
}

function parseBody(text: string): Json | undefined {
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw malformed(400, "Problems parsing JSON");
  }
}

/** Labels may also be sent as a bare list. */
function bodyFields(body: Json | undefined): JsonObject {
  if (Array.isArray(body)) return { labels: body };
  return isObject(body) ? body : {};
}

function errorOutcome(error: HttpError, headers: Record<string, string>): Outcome {
  const body: JsonObject = {
    message: error.message,
    documentation_url: DOCUMENTATION,
    status: `${error.status}`,
  };
  if (error.errors) body.errors = error.errors;
  const { location } = error.headers;
  if (location !== undefined) body.url = location;
  return { status: error.status, body, headers: { ...headers, ...error.headers } };
}

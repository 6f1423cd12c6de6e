import { malformed, validationFailed } from "../http-error.ts";
import type { Json, JsonObject } from "../json.ts";
import type { Actor, Installation, Permissions } from "../state/model.ts";
import type { World } from "../state/world.ts";

export type ApiRequest = {
  world: World;
  method: string;
  /** As asked for, without the query. */
  path: string;
  params: Record<string, string>;
  query: URLSearchParams;
  body: JsonObject;
  /** The header: it may ask for a file's raw text. */
  accept: string;
  credentials: Credentials;
};

export type Credentials =
  | { kind: "none" }
  | { kind: "app" }
  | { kind: "installation"; installation: Installation; actor: Actor; grant: Grant };

/** What an installation token allows: never more than the installation itself. */
export type Grant = { repositoryIds: ReadonlySet<number> | null; permissions: Permissions };

export type Reply = { status: number; body: Json | undefined; headers?: Record<string, string> };

export function ok(body: Json): Reply {
  return { status: 200, body };
}

export function created(body: Json): Reply {
  return { status: 201, body };
}

export function noContent(): Reply {
  return { status: 204, body: undefined };
}

export function param(request: ApiRequest, name: string): string {
  const value = request.params[name];
  if (value === undefined) throw new Error(`the route of ${request.path} has no :${name}`);
  return value;
}

export function numberParam(request: ApiRequest, name: string): number {
  return Number(param(request, name));
}

export function choice<T extends string>(
  request: ApiRequest,
  name: string,
  choices: readonly [T, ...T[]],
): T {
  const value = request.query.get(name);
  if (value === null) return choices[0];
  const known = choices.find((candidate) => candidate === value);
  if (known === undefined) throw malformed(422, `Invalid request: ${name}=${value}`);
  return known;
}

/** `undefined` when the field is absent. */
export function stringField(body: JsonObject, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || typeof value === "string") return value;
  throw malformed(
    422,
    `Invalid request. For 'properties/${name}', ${JSON.stringify(value)} is not a string.`,
  );
}

export function nullableStringField(body: JsonObject, name: string): string | null | undefined {
  return body[name] === null ? null : stringField(body, name);
}

export function requiredString(body: JsonObject, name: string, resource: string): string {
  const value = stringField(body, name);
  if (value === undefined) throw validationFailed(resource, name, "missing_field");
  return value;
}

export function numberField(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  if (value === undefined || typeof value === "number") return value;
  throw malformed(
    422,
    `Invalid request. For 'properties/${name}', ${JSON.stringify(value)} is not a number.`,
  );
}

export function objectField(body: JsonObject, name: string): JsonObject | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (isObject(value)) return value;
  throw malformed(
    422,
    `Invalid request. For 'properties/${name}', ${JSON.stringify(value)} is not an object.`,
  );
}

/** A list of names; GitHub also takes objects that have a `name`. */
export function namesField(body: JsonObject, name: string): string[] | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw malformed(422, `Invalid request. "${name}" is not an array.`);
  return value.map((item) => {
    const text = isObject(item) ? item.name : item;
    if (typeof text === "string") return text;
    throw malformed(422, `Invalid request. "${name}" holds ${JSON.stringify(item)}.`);
  });
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

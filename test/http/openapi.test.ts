/** The OpenAPI document is complete and valid, and its page needs nobody else's server. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { EXAMPLES } from "../../src/contract/examples/all.ts";
import { createServer } from "../../src/edges/http/server.ts";
import { SetupSessions } from "../../src/edges/http/setup-session.ts";
import { Setup } from "../../src/services/setup.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";

type Contents = Record<string, { schema?: object; examples?: Record<string, { value: unknown }> }>;
interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly requestBody?: { content: Contents };
  readonly parameters?: readonly { name: string; in: string; required?: boolean }[];
  readonly responses?: Record<string, { description?: string; content?: Contents }>;
  readonly security?: readonly object[];
}
interface Document {
  readonly openapi: string;
  readonly info: { title: string; version: string };
  readonly tags: readonly { name: string; description: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { schemas: Record<string, object> };
}

let world: World;
let document: Document;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
  document = (await world.api.send("GET", "/openapi.json", { token: null })).body;
});
afterAll(() => world.end());

/** Not documented, each for a reason. */
const HIDDEN: Record<string, string> = {
  "GET /": "leads people to the page",
  "GET /openapi.json": "is the document",
  "POST /api/github/webhooks": "is GitHub's, not a caller's",
};
const isHidden = (route: string) => route in HIDDEN || / \/(docs|setup)(\/|$)/.test(route);

const METHODS = ["get", "put", "post", "patch", "delete"];
const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );

interface Ref {
  readonly $ref?: string;
  readonly anyOf?: readonly Ref[];
}

/** The ids of the zod schemas that a body may be. */
function namesOf({ $ref, anyOf }: Ref): string[] {
  if (anyOf) return anyOf.flatMap(namesOf);
  const name = $ref?.split("/").at(-1) ?? "";
  return [z.globalRegistry._idmap.has(name) ? name : name.replace(/Input$/, "")];
}

/** The value is one of these, to the last field: what is not declared would not leave the server. */
function expectOneOf(names: readonly string[], value: unknown, isRequest: boolean, where: string): void {
  const results = names.map((name) => {
    const schema = z.globalRegistry._idmap.get(name);
    if (!schema) return `${name} is no schema`;
    const parsed = z.safeParse(schema, value);
    if (!parsed.success) return `${name}: ${z.prettifyError(parsed.error)}`;
    return isRequest || isDeepStrictEqual(parsed.data, value) ? null : `${name} does not declare all of it`;
  });
  expect(results, where).toContain(null);
}

/** Every `$ref` in a value, with where it stands. */
function* refs(value: unknown, at = "#"): Generator<[string, string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    if (key === "$ref") yield [at, String(part)];
    else yield* refs(part, `${at}/${key}`);
  }
}

function resolve(ref: string): unknown {
  let value: unknown = document;
  for (const step of ref.replace(/^#\//, "").split("/")) {
    value = (value as Record<string, unknown> | undefined)?.[
      step.replaceAll("~1", "/").replaceAll("~0", "~")
    ];
  }
  return value;
}

describe("the OpenAPI document", () => {
  it("is version 3.1, for anybody to read", () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: "Leasehold", version: "test" });
  });

  it("has every $ref resolve, within the document", () => {
    const all = [...refs(document)];
    expect(all.length).toBeGreaterThan(20);
    const broken = all.filter(([, ref]) => !ref.startsWith("#/") || resolve(ref) === undefined);
    expect(broken).toEqual([]);
  });

  it("holds every route of the server that is not hidden on purpose, and none besides", async () => {
    const { deps } = world.app;
    const setup = new Setup({ github: deps.github, log: deps.log, envFile: join(tmpdir(), "no-such.env") });
    const setupSessions = new SetupSessions();
    const server = await createServer(deps, { adminToken: ADMIN_TOKEN, setup, setupSessions });
    await server.ready();
    const routes = routesOf(server.printRoutes({ commonPrefix: false }));
    await server.close();
    expect(routes.length).toBeGreaterThan(10);
    const documented = operations().map(([route]) => route);
    expect(routes.filter((route) => !isHidden(route)).sort()).toEqual(documented.sort());
  });

  it("says of each call what it is for, what it answers and what it takes", () => {
    for (const [route, operation] of operations()) {
      expect(METHODS, route).toContain(route.split(" ")[0]?.toLowerCase());
      expect(operation.summary, route).toMatch(/\S/);
      expect(operation.description, route).toMatch(/\S/);
      expect(operation.operationId, route).toMatch(/^[a-z][A-Za-z]+$/);
      const known = document.tags.map(({ name }) => name);
      expect(known, route).toEqual(expect.arrayContaining([...(operation.tags ?? ["none"])]));
      const answers = Object.keys(operation.responses ?? {});
      expect(
        answers.filter((status) => status.startsWith("2")),
        route,
      ).not.toEqual([]);
      expect(answers, route).toContain("401");
      for (const [status, answer] of Object.entries(operation.responses ?? {})) {
        expect(answer.description, `${route} ${status}`).toEqual(expect.any(String));
        expect(answer.content, `${route} ${status}`).toBeDefined();
      }
      const inPath = [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
      expect(declared.map(({ name }) => name).sort(), route).toEqual(inPath.sort());
      expect(
        declared.every(({ required }) => required),
        route,
      ).toBe(true);
    }
  });

  it("says which fields of a query are numbers, and that they may be left out", () => {
    const parameters = document.paths["/api/v1/repos/{owner}/{repo}/items"]?.get?.parameters ?? [];
    expect(parameters.find(({ name }) => name === "limit")).toMatchObject({
      in: "query",
      required: false,
      schema: { type: "integer", minimum: 1, maximum: 100, default: 50 },
    });
  });

  it("names each call once", () => {
    const names = operations().map(([, { operationId }]) => operationId);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it("has an example of every body, each as its schema wants it", () => {
    for (const [route, { requestBody, responses = {} }] of operations()) {
      const bodies: [string, Contents, boolean][] = Object.entries(responses).map(([status, answer]) => [
        `${route} ${status}`,
        answer.content ?? {},
        false,
      ]);
      if (requestBody) bodies.push([`${route} body`, requestBody.content, true]);
      for (const [where, content, isRequest] of bodies) {
        for (const [type, { schema, examples }] of Object.entries(content)) {
          expect(Object.keys(examples ?? {}), `${where} ${type} has no example`).not.toEqual([]);
          for (const [title, { value }] of Object.entries(examples ?? {})) {
            expectOneOf(namesOf(schema as Ref), value, isRequest, `${where}: ${title}`);
          }
        }
      }
    }
  });

  it("has no example of what is not there", () => {
    expect(Object.keys(EXAMPLES).filter((name) => !z.globalRegistry._idmap.has(name))).toEqual([]);
  });

  it("holds no schema that nothing refers to", () => {
    const used = new Set([...refs(document)].map(([, ref]) => ref.split("/").at(-1)));
    expect(Object.keys(document.components.schemas).filter((name) => !used.has(name))).toEqual([]);
  });

  it("documents a refusal as what it is: problem+json", () => {
    const operation = document.paths["/api/v1/repos/{owner}/{repo}/memory/{topic}/{id}"]?.put;
    expect(operation?.responses?.["409"]?.content).toHaveProperty(["application/problem+json"]);
  });
});

describe("the page that shows it", () => {
  it("is HTML that loads nothing from elsewhere", async () => {
    const page = await fetch(`${world.app.address}/docs`);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    const html = await page.text();
    const loaded = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url ?? "");
    expect(loaded.length).toBeGreaterThan(2);
    for (const url of loaded) {
      const address = new URL(url, page.url);
      expect(address.origin, url).toBe(world.app.address);
      expect((await fetch(address)).status, url).toBe(200);
    }
    const { body: script } = await world.api.send("GET", "/docs/static/swagger-initializer.js", {
      token: null,
    });
    expect(script).toContain("validatorUrl: null");
  });

  it("is where the root leads", async () => {
    const page = await fetch(world.app.address);
    expect(new URL(page.url).pathname).toMatch(/^\/docs\/?/);
    expect(page.status).toBe(200);
  });
});

/** The routes of Fastify's drawing of its tree, as `GET /a/{b}`. */
function routesOf(drawing: string): string[] {
  const routes: string[] = [];
  const parents: string[] = [];
  for (const line of drawing.split("\n")) {
    const match = /^([│ ]*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?/.exec(line);
    if (!match) continue;
    const [, indent = "", part = "", methods = ""] = match;
    const depth = indent.length / 4;
    const parent = depth === 0 ? "" : (parents[depth - 1] ?? "");
    // A part without a slash of its own goes on in the same segment: `/claim` and `s` are `/claims`.
    const path = part.startsWith("/") ? parent.replace(/\/$/, "") + part : parent + part;
    parents[depth] = path;
    for (const method of methods.split(", ")) {
      if (method === "" || method === "HEAD") continue;
      routes.push(`${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    }
  }
  return routes;
}

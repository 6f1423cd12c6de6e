/** Every route of the OpenAPI document keeps to what a token may do, to its repositories, and to its scope. */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CAPABILITIES } from "../../src/contract/capability.ts";
import type { Sent } from "../harness/api-client.ts";
import { makeToken } from "../harness/tokens.ts";
import { expectProblem } from "../http/support/expect-problem.ts";
import { SCOPE_CASES } from "./support/scope-cases.ts";
import { expectForbidden, keyOf, type Scene, scopeScene } from "./support/scope-scene.ts";

interface Operation {
  readonly route: string;
  readonly method: string;
  readonly path: string;
  readonly capability: string | null;
}

let scene: Scene;
let operations: Operation[];

beforeAll(async () => {
  scene = await scopeScene();
  await scene.world.repository("acme/gadgets");
  const { paths } = (await scene.admin.send("GET", "/openapi.json")).body;
  operations = Object.entries(paths as Record<string, Record<string, { "x-capability"?: string }>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        route: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        capability: operation["x-capability"] ?? null,
      })),
  );
}, 120_000);
afterAll(() => scene.world.end());

/** The address with something in the place of each parameter. */
const addressOf = (path: string): string =>
  path
    .replace("{owner}/{repo}", "acme/widgets")
    .replace("{number}", String(scene.inside))
    .replace("{topic}", "notes")
    .replace("{id}", path.includes("/memory/") ? "inside" : randomUUID())
    .replace("{key}", "staging");

const isOpen = ({ route }: Operation): boolean => route === "GET /health";

describe("every route", () => {
  it("has a scope case, and every case is of a route", () => {
    expect(operations.length).toBeGreaterThan(20);
    expect(operations.map(({ route }) => route).sort()).toEqual(Object.keys(SCOPE_CASES).sort());
  });

  it("wants a token, and says which capability", async () => {
    for (const operation of operations.filter((each) => !isOpen(each))) {
      const answer = await scene.admin.send(operation.method, addressOf(operation.path), { token: null });
      expect([operation.route, answer.status]).toEqual([operation.route, 401]);
      expect(CAPABILITIES, operation.route).toContain(operation.capability);
    }
  });

  it("is refused to a token that lacks just that capability, before anything of it is judged", async () => {
    for (const lacked of CAPABILITIES) {
      const capabilities = CAPABILITIES.filter((each) => each !== lacked && each !== "admin");
      const { api } = await makeToken(scene.admin, { capabilities });
      for (const { route, method, path } of operations.filter(({ capability }) => capability === lacked)) {
        const answer = await api.send(method, addressOf(path), bodyFor(method));
        expect([route, answer.status, answer.body.code]).toEqual([route, 403, "insufficient_capability"]);
        expect(answer.body.detail).toContain(`capability ${lacked}`);
      }
    }
  });

  it("of a repository is refused to a token for others, and for a repository that nobody knows", async () => {
    const capabilities = [...CAPABILITIES];
    const { api } = await makeToken(scene.admin, { capabilities, repos: ["acme/gadgets"] });
    const ofRepo = operations.filter(({ path }) => path.includes("{owner}/{repo}"));
    expect(ofRepo.length).toBeGreaterThan(15);
    for (const { route, method, path } of ofRepo) {
      for (const address of [addressOf(path), addressOf(path).replace("acme/widgets", "acme/nowhere")]) {
        const answer = await api.send(method, address, bodyFor(method));
        expect([route, answer.status, answer.body.code]).toEqual([route, 403, "scope_forbidden"]);
      }
    }
    expect((await api.with({ repo: "acme/gadgets" }).repo("GET", "/items")).items).toEqual([]);
  });
});

const bodyFor = (method: string): Sent => (["POST", "PUT", "PATCH"].includes(method) ? { body: {} } : {});

describe("for a token with a scope", () => {
  it.each(Object.entries(SCOPE_CASES))(
    "%s",
    async (_route, check) => {
      await check(scene);
    },
    30_000,
  );
});

describe("a token", () => {
  it("with admin may do everything, and one for a repository sees it whole", async () => {
    const admin = await makeToken(scene.admin, { capabilities: ["admin"] });
    expect((await admin.api.send("GET", "/api/v1/tokens")).status).toBe(200);
    const bound = await makeToken(scene.admin, { repos: ["acme/widgets"] });
    expect(await bound.api.repo("GET", "/ready?limit=100")).toEqual(
      await scene.admin.repo("GET", "/ready?limit=100"),
    );
    expect((await bound.api.send("GET", "/api/v1/repos")).body.repos).toHaveLength(1);
    expectForbidden(
      await (await makeToken(scene.admin, { capabilities: ["admin"], repos: ["acme/widgets"] })).api.send(
        "GET",
        "/api/v1/tokens",
      ),
    );
  });

  it("is the actor of what it writes, whatever the request says", async () => {
    const { api, actor } = await makeToken(scene.admin);
    const number = scene.spare();
    const { fencingToken } = await api.claim(number, "admin");
    // Its fencing token is worth nothing in another's hands.
    const other = await makeToken(scene.admin);
    expectProblem(
      await other.api.tryRepo("POST", `/items/${number}/claim/renew`, { body: { fencingToken } }),
      { status: 409, code: "not_holder" },
    );
    await api.repo("POST", `/items/${number}/advance`, { body: { trigger: "hold" }, fence: fencingToken });
    const { transitions } = await api.repo("GET", `/items/${number}/transitions`);
    // The hold ends the claim, and tells of that too.
    expect(transitions.map((each: { trigger: string; actor: string }) => [each.trigger, each.actor])).toEqual(
      [
        ["hold", actor],
        ["start", actor],
      ],
    );
  });

  it("proves an item done with no record that is out of its sight", async () => {
    const number = scene.spare();
    await scene.admin.repo("PATCH", `/items/${number}`, {
      body: { tags: { add: ["phase:research"], remove: ["phase:implementation"] } },
    });
    await scene.admin.repo("PUT", "/memory/notes/findings", { body: { title: "Findings" } });
    const complete = (place: string) =>
      scene.scoped.tryRepo("POST", `/items/${number}/complete`, { body: { durable: [place] } });
    expectForbidden(await complete("mem/notes/findings"));
    await scene.admin.repo("PATCH", "/memory/notes/findings", {
      body: { links: { add: { partOf: [keyOf(scene.inside)] } } },
    });
    expect((await complete("mem/notes/findings")).status).toBe(200);
  });

  it("is kept as the one who wrote a memory record last, however it was written", async () => {
    const [one, two] = [await makeToken(scene.admin), await makeToken(scene.admin)];
    const at = "/memory/notes/by-whom";
    const writtenBy = async () => (await scene.admin.repo("GET", at)).writtenBy;
    const put = await one.api.repo("PUT", at, { body: { title: "a", author: "somebody else" } });
    expect(put.writtenBy).toBe(one.actor);
    expect(await writtenBy()).toBe(one.actor);
    await two.api.repo("PATCH", at, { body: { tags: { add: ["seen"] } } });
    expect(await writtenBy()).toBe(two.actor);
    // With an edge it is written another way.
    await one.api.repo("PATCH", at, {
      body: { links: { add: { informs: [`repo/acme/widgets/mem/notes/x`] } } },
    });
    expect(await writtenBy()).toBe(one.actor);
    await two.api.repo("DELETE", `${at}?lapseSeconds=60`);
    expect(await writtenBy()).toBe(two.actor);
    const { records } = await scene.admin.repo("GET", "/memory/notes");
    expect(records.find(({ id }: { id: string }) => id === "by-whom")).toMatchObject({
      writtenBy: two.actor,
    });
  });
});

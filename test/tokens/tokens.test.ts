/** API tokens: made, shown once, listed, revoked; whose they are on every replica. */

import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeToken } from "../harness/tokens.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "../http/support/expect-problem.ts";

let world: World;
beforeAll(async () => {
  world = await World.start();
  await world.repository();
});
afterAll(() => world.end());

const create = (body: object, headers = {}) => world.api.send("POST", "/api/v1/tokens", { body, headers });
const list = async (query = "") => (await world.api.send("GET", `/api/v1/tokens${query}`)).body.tokens;
const revoke = (id: string) => world.api.send("DELETE", `/api/v1/tokens/${id}`);
const BASE = { name: "worker on m1", capabilities: ["read"] };

describe("a token that is made", () => {
  it("is shown once, with 256 random bits, and told in every listing without its secret", async () => {
    const key = "repo/acme/widgets/mem/backlog/issue-12";
    const asked = {
      name: "red team",
      capabilities: ["read", "claim", "read"],
      repos: ["Acme/Widgets"],
      scope: { rootIds: [key], tagsInclude: ["team:red"] },
      githubLogin: "tess",
      expiresAt: "2099-01-01T00:00:00.000+01:00",
    };
    const { status, body } = await create(asked);
    expect(status).toBe(201);
    const { token, ...rest } = body;
    expect(token).toMatch(/^lh_[A-Za-z0-9_-]{43}$/);
    expect(Buffer.from(token.slice(3), "base64url")).toHaveLength(32);
    expect(rest).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "red team",
      capabilities: ["read", "claim"],
      repos: ["acme/widgets"],
      scope: { rootIds: [key], tagsInclude: ["team:red"] },
      githubLogin: "tess",
      createdBy: "admin",
      createdAt: expect.any(String),
      expiresAt: "2098-12-31T23:00:00.000Z",
      revokedAt: null,
      lastUsedAt: null,
    });
    expect((await list())[0]).toEqual(rest);
  });

  it("lies in the database as its SHA-256 only, wherever one looks", async () => {
    const key = randomUUID();
    const { body } = await create({ ...BASE, name: "secretive" }, { "idempotency-key": key });
    const { rows } = await world.app.deps.database.pool.query(
      `select encode(hash, 'hex') as hash, api_token::text as row from api_token where id = $1`,
      [body.id],
    );
    expect(rows[0].hash).toBe(createHash("sha256").update(body.token).digest("hex"));
    expect(rows[0].row).not.toContain(body.token);
    const kept = await world.app.deps.database.pool.query("select body from kept_answer where key = $1", [
      key,
    ]);
    expect(kept.rows).toHaveLength(1);
    expect(kept.rows[0].body).not.toContain("lh_");
    expect(world.logged.lines.map((line) => JSON.stringify(line)).join()).not.toContain(body.token);
  });

  it("under an idempotency key is made once, and its secret is not answered again", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const first = await create({ ...BASE, name: "once" }, headers);
    const again = await create({ ...BASE, name: "once" }, headers);
    expect(again.status).toBe(201);
    const { token: _secret, ...without } = first.body;
    expect(again.body).toEqual(without);
    expect((await list()).filter(({ name }: { name: string }) => name === "once")).toHaveLength(1);
    expectProblem(await create({ ...BASE, name: "other" }, headers), {
      status: 422,
      code: "idempotency_mismatch",
    });
  });

  it.each([
    ["no name", { name: "" }, "name"],
    ["no capability", { capabilities: [] }, "capabilities"],
    ["a capability that is none", { capabilities: ["root"] }, "capabilities.0"],
    ["an empty list of repositories", { repos: [] }, "repos"],
    ["an unknown repository", { repos: ["acme/nowhere"] }, "repos.0"],
    ["an empty list of roots", { scope: { rootIds: [] } }, "scope.rootIds"],
    ["an empty list of tags", { scope: { tagsInclude: [] } }, "scope.tagsInclude"],
    ["a root that is no item", { scope: { rootIds: ["repo/acme/widgets/mem/notes/x"] } }, "scope.rootIds.0"],
    ["a root without its repository", { scope: { rootIds: ["mem/backlog/issue-1"] } }, "scope.rootIds.0"],
    ["an end in the past", { expiresAt: "2020-01-01T00:00:00.000Z" }, "expiresAt"],
    ["an end that is no time", { expiresAt: "tomorrow" }, "expiresAt"],
    ["a name with @", { githubLogin: "@tess" }, "githubLogin"],
    ["a field of an actor's own choice", { actor: "admin" }, "actor"],
  ])("is refused with %s", async (_what, change, field) => {
    expectProblem(await create({ ...BASE, ...change }), { status: 400, code: "validation_failed", field });
  });

  it("with a root outside its repositories is refused: it would reach nothing", async () => {
    await world.repository("acme/gadgets");
    const scope = { rootIds: ["repo/acme/gadgets/mem/backlog/issue-1"] };
    expectProblem(await create({ ...BASE, repos: ["acme/widgets"], scope }), {
      status: 400,
      code: "validation_failed",
      field: "scope.rootIds.0",
    });
  });
});

describe("the list", () => {
  it("is paged, the newest first, and hides the revoked unless asked", async () => {
    const made = [];
    for (const name of ["one", "two", "three"]) made.push(await makeToken(world.api, { name }));
    await revoke(made[1]?.id ?? "");
    const first = (await world.api.send("GET", "/api/v1/tokens?limit=1")).body;
    expect(first.tokens.map(({ id }: { id: string }) => id)).toEqual([made[2]?.id]);
    const second = (await world.api.send("GET", `/api/v1/tokens?limit=1&cursor=${first.nextCursor}`)).body;
    expect(second.tokens.map(({ id }: { id: string }) => id)).toEqual([made[0]?.id]);
    const all = await list("?revoked=true&limit=3");
    expect(all.map(({ id }: { id: string }) => id)).toEqual([made[2]?.id, made[1]?.id, made[0]?.id]);
    expect(all[1].revokedAt).toEqual(expect.any(String));
  });
});

describe("a caller", () => {
  it("without a token, or with one that is none, is a stranger", async () => {
    for (const token of [null, "x", "lh_", `lh_${"A".repeat(43)}`, `lh_${"A".repeat(44)}`]) {
      const answer = await world.api.send("GET", "/api/v1/repos", { token });
      expectProblem(answer, { status: 401, code: "unauthenticated" });
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  it("is known by its token, and its use is noted to the minute, with one write", async () => {
    const { api, id } = await makeToken(world.api);
    const usedAt = async () =>
      (await list("?limit=100")).find((token: { id: string }) => token.id === id).lastUsedAt;
    expect(await usedAt()).toBeNull();
    const used = async () => {
      world.app.deps.callers.forget();
      expect((await api.send("GET", "/api/v1/repos")).status).toBe(200);
      return usedAt();
    };
    const first = await used();
    expect(first).toEqual(expect.any(String));
    expect(await used()).toBe(first);
    await world.pass(61);
    expect(Date.parse(await used())).toBeGreaterThan(Date.parse(first) + 60_000);
  });

  it("is asked about once in a moment, not at each call", async () => {
    const { api } = await makeToken(world.api);
    const { pool } = world.app.deps.database;
    const asked = { count: 0 };
    const query = pool.query.bind(pool);
    pool.query = ((...given: Parameters<typeof query>) => {
      if ((given[0] as { name?: string } | undefined)?.name === "token_rights") asked.count += 1;
      return query(...given);
    }) as typeof pool.query;
    try {
      await Promise.all(Array.from({ length: 20 }, () => api.send("GET", "/api/v1/repos")));
      expect(asked.count).toBeGreaterThan(0);
      expect(asked.count).toBeLessThan(5);
    } finally {
      pool.query = query;
    }
  });

  it("is refused everywhere as soon as its token is revoked, and again revoking changes nothing", async () => {
    const replica = await world.secondReplica();
    try {
      const { api, id, token } = await makeToken(world.api);
      const there = replica.api.with({ token });
      for (const at of [api, there]) expect((await at.send("GET", "/api/v1/repos")).status).toBe(200);
      const { body } = await revoke(id);
      expect(body).toMatchObject({ id, revokedAt: expect.any(String) });
      expectProblem(await api.send("GET", "/api/v1/repos"), { status: 401, code: "unauthenticated" });
      await waitFor("the other replica to hear of it", async () =>
        (await there.send("GET", "/api/v1/repos")).status === 401 ? null : "not yet",
      );
      expect((await revoke(id)).body).toEqual(body);
    } finally {
      await replica.stop();
    }
  });

  it("is refused as soon as its token has expired", async () => {
    const { rows } = await world.app.deps.database.pool.query("select db_now() + interval '1 hour' as at");
    const { api } = await makeToken(world.api, { expiresAt: rows[0].at.toISOString() });
    expect((await api.send("GET", "/api/v1/repos")).status).toBe(200);
    await world.pass(3_601);
    expectProblem(await api.send("GET", "/api/v1/repos"), { status: 401, code: "unauthenticated" });
  });
});

describe("revoking", () => {
  it("what is not there, or is no id, says so", async () => {
    expectProblem(await revoke(randomUUID()), { status: 404, code: "not_found" });
    expectProblem(await revoke("7"), { status: 400, code: "validation_failed", field: "id" });
  });
});

describe("a repository that lived only here", () => {
  it("takes its tokens with it when the App comes", async () => {
    const { pool } = world.app.deps.database;
    await pool.query("insert into repository (id, owner, name) values (-50, 'acme', 'sheds')");
    const root = "repo/acme/sheds/mem/backlog/issue-3";
    const { id } = await makeToken(world.api, { repos: ["acme/sheds"], scope: { rootIds: [root] } });
    const repo = world.github.repository("acme/sheds", { collaborators: { alice: "admin" } });
    await world.install(repo);
    const { rows } = await pool.query(
      `select r.repository_id as repo, t.repository_id as root from api_token_repository r
       join api_token_root t using (token_id) where token_id = $1`,
      [id],
    );
    expect(rows).toEqual([{ repo: repo.id, root: repo.id }]);
  });
});

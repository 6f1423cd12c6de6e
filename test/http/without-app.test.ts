/** The first minutes, before a GitHub App is there: memory and claims work, and move along when it comes. */

import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Db, inTransaction } from "../../src/store/database.ts";
import { lockRecord } from "../../src/store/records.ts";
import { createLocalRepository, type Repository, saveRepository } from "../../src/store/repositories.ts";
import { takeClaim } from "../../src/store/take-claim.ts";
import type { Answer, ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";
import { quietSince } from "./support/quiet-log.ts";

let world: World;
let on: (repo: string) => ApiClient;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
  on = (repo) => world.api.with({ repo });
});
afterAll(() => world.end());

const notFound = { status: 404, code: "not_found" };
const repos = async () => (await world.api.send("GET", "/api/v1/repos")).body.repos;
const named = async (owner: string, name: string) =>
  (await repos()).filter(
    (repo: { owner: string; name: string }) => repo.owner === owner && repo.name === name,
  );

/** How many sessions of the database wait for a lock. */
async function waiting(): Promise<number> {
  const { rows } = await world.app.deps.database.pool.query(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length;
}

describe("without a GitHub App", () => {
  it("an unknown repository is not found, and the answer says how to begin", async () => {
    const answer = await on("acme/unknown").tryRepo("GET", "/ready");
    expectProblem(answer, notFound);
    expect(answer.body.detail).toMatch(/\/setup/);
    expectProblem(await on("acme/unknown").tryRepo("GET", "/memory/notes/a"), notFound);
    expectProblem(await on("acme/unknown").tryRepo("PATCH", "/memory/notes/a", { body: {} }), notFound);
    expectProblem(await on("acme/unknown").tryRepo("DELETE", "/memory/notes/a"), notFound);
    expect(await named("acme", "unknown")).toEqual([]);
  });

  it("its first write makes it", async () => {
    const made = await on("acme/first").tryRepo("PUT", "/memory/notes/a", { body: { title: "Hello" } });
    expect(made.status).toBe(201);
    expect(await on("ACME/First").repo("GET", "/memory/notes/a")).toMatchObject({
      exists: true,
      key: "repo/acme/first/mem/notes/a",
    });
    expect(await named("acme", "first")).toEqual([
      expect.objectContaining({ installed: false, items: 0, mirrorAgeSeconds: null }),
    ]);
  });

  it("many first writes at once make one", async () => {
    const writes = Array.from({ length: 12 }, (_, n) =>
      on(n % 2 ? "acme/crowd" : "Acme/Crowd").tryRepo("PUT", `/memory/notes/n${n}`, { body: {} }),
    );
    for (const { status } of await Promise.all(writes)) expect(status).toBe(201);
    const all = (await repos()).filter(({ name }: { name: string }) => name.toLowerCase() === "crowd");
    expect(all).toHaveLength(1);
    for (let n = 0; n < 12; n += 1) {
      expect(await on("acme/crowd").repo("GET", `/memory/notes/n${n}`)).toMatchObject({ exists: true });
    }
  });

  it.each([
    ["a tag that is reserved", "/memory/notes/a", { tags: ["state:complete"] }],
    ["an item", "/memory/backlog/issue-1", { title: "x" }],
    ["a link that is none", "/memory/notes/a", { links: { related: ["nonsense"] } }],
    ["an expiry in the past", "/memory/notes/a", { expiresAt: "2001-01-01T00:00:00Z" }],
    ["a wrong type", "/memory/notes/a", { title: 7 }],
  ])("a first write that is refused makes none: %s", async (_, path, body) => {
    expect((await on("acme/refused").tryRepo("PUT", path, { body })).status).toBe(400);
    expect(await named("acme", "refused")).toEqual([]);
  });

  it("there is no backlog yet, and nothing to claim in it", async () => {
    await on("acme/empty").repo("PUT", "/memory/notes/a", { body: {} });
    expect(await on("acme/empty").ready()).toMatchObject({ verdict: "idle", pending: 0, ready: [] });
    expect(await on("acme/empty").repo("GET", "/items")).toEqual({ items: [], nextCursor: null });
    expect(await on("acme/empty").claim(1, "w")).toMatchObject({ granted: false, reason: "missing" });
  });

  it("is healthy, and says that no App is configured", async () => {
    expect((await world.api.send("GET", "/health")).body).toMatchObject({
      status: "ok",
      github: "unconfigured",
    });
  });

  it("trusts no delivery, and leaves the log quiet", async () => {
    const expectQuiet = quietSince(world);
    const answer = await world.api.send("POST", "/api/github/webhooks", {
      token: null,
      raw: '{"zen": "a stranger knocks"}',
      headers: { "x-github-event": "ping", "x-github-delivery": "g1", "x-hub-signature-256": "sha256=00" },
    });
    expectProblem(answer, { status: 401, code: "unauthenticated" });
    expect(world.logged.text()).not.toContain("a stranger knocks");
    expectQuiet();
  });
});

describe("when the App is installed later", () => {
  it("records, links and claims move to GitHub's repository, and the tokens go on", async () => {
    const api = on("acme/widgets");
    await api.repo("PUT", "/memory/notes/a", {
      body: { title: "Before", links: { related: ["mem/notes/b"], anchoredTo: ["file/README.md"] } },
    });
    expect(await api.repo("GET", "/memory/notes/a")).toMatchObject({ stale: null, staleLinks: [] });
    await api.repo("PUT", "/memory/notes/b", { body: { links: { related: ["mem/notes/a"] } } });
    await on("acme/other").repo("PUT", "/memory/notes/o", {
      body: { links: { related: ["repo/acme/widgets/mem/notes/a"] } },
    });
    const claim = (owner: string) => api.repo("POST", "/memory/notes/a/claim", { body: { owner } });
    const held = await claim("w");
    const [local] = await named("acme", "widgets");
    expect(local.id).toBeLessThan(0);
    const before = await api.repo("GET", "/memory/notes/a");

    const { app } = world.github;
    world.app.deps.github.connect({
      appId: app.id,
      privateKey: app.privateKey,
      webhookSecrets: [app.webhookSecret],
    });
    const repo = world.github.repository("acme/widgets", { collaborators: { alice: "admin" } });
    await world.install(repo);

    expect(await named("acme", "widgets")).toEqual([
      expect.objectContaining({ id: repo.id, installed: true, mirrorAgeSeconds: expect.any(Number) }),
    ]);
    // What it is anchored to can be read now.
    expect(await api.repo("GET", "/memory/notes/a")).toEqual({ ...before, stale: false });
    expect((await on("acme/other").repo("GET", "/memory/notes/o")).links).toEqual({
      related: ["repo/acme/widgets/mem/notes/a"],
    });

    expect(await claim("another")).toMatchObject({ granted: false, reason: "contended" });
    const late = await api.tryRepo("PUT", "/memory/notes/a", { body: { title: "No token" } });
    expectProblem(late, { status: 409, code: "claim_required" });
    const write = { body: { title: "After" }, fence: held.fencingToken };
    expect((await api.repo("PUT", "/memory/notes/a", write)).title).toBe("After");
    await api.repo("POST", "/memory/notes/a/claim/release", { body: { fencingToken: held.fencingToken } });
    const next = await claim("another");
    expect(next).toMatchObject({ granted: true, attempt: 2, previous: { fencingToken: held.fencingToken } });
    expect(next.fencingToken).toBeGreaterThan(held.fencingToken);

    const number = repo.as("alice").openIssue({ title: "Now with issues", labels: ["backlog"] });
    await world.settled();
    expect(await api.claim(number, "w")).toMatchObject({ granted: true, number });
    await world.settled();
  });

  it("a repository that is still only here keeps working, and no new one is made", async () => {
    await on("acme/first").repo("PUT", "/memory/notes/a", { body: { title: "Still here" } });
    const answer = await on("acme/never").tryRepo("PUT", "/memory/notes/a", { body: {} });
    expectProblem(answer, notFound);
    expect(await named("acme", "never")).toEqual([]);
  });

  it("a write that meets the move is not lost: the move waits for it", async () => {
    const api = on("acme/moving");
    const local = await world.db.transaction().execute((trx) => createLocalRepository(trx, "acme", "moving"));
    const installed = async () => (await named("acme", "moving"))[0].installed;

    let write: Promise<Answer> | null = null;
    await world.db.transaction().execute(async (trx) => {
      await lockRecord(trx, { repositoryId: local.id, topic: "notes", id: "late" });
      write = api.tryRepo("PUT", "/memory/notes/late", { body: { title: "Late" } });
      await waitFor("the write to wait for the record", async () =>
        (await waiting()) > 0 ? null : "it does not",
      );
      world.github.install(world.github.repository("acme/moving"));
      await waitFor("the move to be done, or to wait too", async () =>
        (await installed()) || (await waiting()) > 1 ? null : "neither",
      );
    });
    expect((await (write as unknown as Promise<Answer>)).status).toBe(201);
    await world.settled();
    expect(await installed()).toBe(true);
    expect(await api.repo("GET", "/memory/notes/late")).toMatchObject({ exists: true, title: "Late" });
  });

  it("a write that comes a moment after the move is told to come again", async () => {
    const api = on("acme/moved");
    await world.db.transaction().execute((trx) => createLocalRepository(trx, "acme", "moved"));
    let write: Promise<Answer> | null = null;
    await world.db.transaction().execute(async (trx) => {
      await saveRepository(trx, { id: 777_001, owner: "acme", name: "moved" }, null);
      write = api.tryRepo("PUT", "/memory/notes/late", { body: { title: "Late" } });
      await waitFor("the write to wait for the move", async () =>
        (await waiting()) > 0 ? null : "it does not",
      );
    });
    expectProblem(await (write as unknown as Promise<Answer>), { status: 409, code: "conflict" });
    expect((await api.tryRepo("PUT", "/memory/notes/late", { body: { title: "Late" } })).status).toBe(201);
  });

  describe("a claim that meets the move", () => {
    const claim = (api: ApiClient) =>
      api.tryRepo("POST", "/memory/notes/a/claim", { body: { owner: "w", leaseSeconds: 600 } });

    async function localRecord(name: string): Promise<{ api: ApiClient; local: Repository }> {
      const local = await world.db.transaction().execute((trx) => createLocalRepository(trx, "acme", name));
      await on(`acme/${name}`).repo("PUT", "/memory/notes/a", { body: { title: "a" } });
      return { api: on(`acme/${name}`), local };
    }
    const connect = (db: Db, id: number, name: string) =>
      inTransaction(db, (trx) => saveRepository(trx, { id, owner: "acme", name }, null));

    it("comes along: the move waits for the grant", async () => {
      const { api, local } = await localRecord("claimed");
      let move: Promise<unknown> | null = null;
      await world.db.transaction().execute(async (trx) => {
        const call = {
          ref: { repositoryId: local.id, topic: "notes", id: "a" },
          owner: "w",
          actor: "admin",
          region: "local",
          deploymentRegion: "local",
          leaseSeconds: 600,
          scope: "item",
          takeover: false,
          wait: false,
          ticket: null,
          replica: "r",
          markAfterSeconds: 0,
        } as const;
        expect(await takeClaim(trx, call)).toMatchObject({ granted: true });
        move = connect(world.db, 777_002, "claimed");
        await waitFor("the move to wait for the grant", async () =>
          (await waiting()) > 0 ? null : "it does not",
        );
      });
      await move;
      expect(await api.repo("GET", "/memory/notes/a/claim")).toMatchObject({ isHeld: true, owner: "w" });
      expect((await claim(api)).body).toMatchObject({ granted: false, reason: "contended" });
    });

    it("is told to come again when it is a moment too late, and nothing stays behind", async () => {
      const { api, local } = await localRecord("late");
      let late: Promise<Answer> | null = null;
      await world.db.transaction().execute(async (trx) => {
        await connect(trx, 777_003, "late");
        late = claim(api);
        await waitFor("the claim to wait for the move", async () =>
          (await waiting()) > 0 ? null : "it does not",
        );
      });
      expectProblem(await (late as unknown as Promise<Answer>), { status: 409, code: "conflict" });
      const left = await sql`select from claim_grant where repository_id = ${local.id}`.execute(world.db);
      expect(left.rows).toEqual([]);
      expect((await claim(api)).body).toMatchObject({ granted: true });
    });
  });
});

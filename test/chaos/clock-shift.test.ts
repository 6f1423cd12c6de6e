/** A server whose own clock is an hour off changes nothing about claims: the database's clock decides. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiClient } from "../harness/api-client.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type PlainServer, startPlainServer } from "./plain-server.ts";

const HOUR_MS = 3_600_000;
/** Three servers start here, perhaps on a busy machine. */
const SLOW_MS = 180_000;
const SERVERS = { right: 0, ahead: HOUR_MS, behind: -HOUR_MS } as const;
type Name = keyof typeof SERVERS;
const NAMES = Object.keys(SERVERS) as Name[];

let database: TestDatabase;
const servers = new Map<Name, PlainServer>();
let passed = 0;
let count = 0;

beforeAll(async () => {
  database = await testDatabase();
  await Promise.all(
    NAMES.map(async (name) => servers.set(name, await startPlainServer(database.url, SERVERS[name]))),
  );
}, SLOW_MS);
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.stop()));
  await database.drop();
});

const serverOf = (name: Name): PlainServer => {
  const server = servers.get(name);
  if (!server) throw new Error(`there is no server ${name}`);
  return server;
};
const on = (name: Name): ApiClient => serverOf(name).api;

async function databaseNow(): Promise<number> {
  const { rows } = await database.pool.query<{ ms: string }>(
    "select extract(epoch from db_now()) * 1000 as ms",
  );
  return Number(rows[0]?.ms);
}

/** The database's clock moves on. */
async function pass(seconds: number): Promise<void> {
  passed += seconds;
  await database.pool.query(`create or replace function db_now() returns timestamptz language sql volatile
    as $$ select clock_timestamp() + interval '${passed} seconds' $$`);
}

async function record(): Promise<string> {
  count += 1;
  const path = `/memory/notes/n${count}`;
  await on("right").repo("PUT", path, { body: { title: `note ${count}` } });
  return path;
}

const claim = (name: Name, path: string, owner: string, more: object = {}) =>
  on(name).repo("POST", `${path}/claim`, { body: { owner, ...more } });
const renew = (name: Name, path: string, fencingToken: number, leaseSeconds: number) =>
  on(name).repo("POST", `${path}/claim/renew`, { body: { fencingToken, leaseSeconds } });
const release = (name: Name, path: string, fencingToken: number) =>
  on(name).repo("POST", `${path}/claim/release`, { body: { fencingToken } });
const write = (name: Name, path: string, fence: number) =>
  on(name).tryRepo("PATCH", path, { body: { body: `by ${name}` }, fence });
const inLine = (path: string, wanted: number) =>
  waitFor(`${wanted} in line`, async () => {
    const depths = await Promise.all(
      NAMES.map(async (name) => (await on(name).repo("GET", `${path}/claim`)).queueDepth),
    );
    return depths.every((depth) => depth === wanted) ? null : `the servers say ${depths.join(", ")}`;
  });

/** A lease ends so long after its grant by the database's clock. */
async function expectLease(seconds: number, grant: () => Promise<{ leaseExpiresAt: string }>): Promise<void> {
  const before = await databaseNow();
  const ends = Date.parse((await grant()).leaseExpiresAt);
  const after = await databaseNow();
  // The answer has whole milliseconds.
  expect(ends).toBeGreaterThanOrEqual(Math.floor(before) + seconds * 1000);
  expect(ends).toBeLessThanOrEqual(Math.ceil(after) + seconds * 1000);
}

it.each(NAMES)("the control: the clock of the server %s is off as it should be", async (name) => {
  let offMs = Number.NaN;
  await waitFor("it to log something", () => {
    const [, logged] = /"time":(\d+)/.exec(serverOf(name).process.output) ?? [];
    if (logged === undefined) return "there is nothing";
    offMs = Number(logged) - Date.now();
    return null;
  });
  expect(Math.abs(offMs - SERVERS[name])).toBeLessThan(HOUR_MS / 4);
});

describe.each(["ahead", "behind"] as const)("with a server an hour %s", (off) => {
  it("a lease is as long as it was asked for, whoever grants and whoever renews it", async () => {
    const path = await record();
    let fence = 0;
    await expectLease(600, async () => {
      const grant = await claim(off, path, "w/a", { leaseSeconds: 600 });
      expect(grant).toMatchObject({ granted: true, leaseSeconds: 600 });
      fence = grant.fencingToken;
      return grant;
    });
    await expectLease(900, () => renew("right", path, fence, 900));
    await expectLease(60, async () => {
      const renewed = await renew(off, path, fence, 60);
      expect(renewed).toMatchObject({ granted: true, leaseShortened: true });
      return renewed;
    });
  });

  it("what one holds, the others refuse, and all say for how long", async () => {
    const path = await record();
    for (const [holder, asker] of [
      [off, "right"],
      ["right", off],
    ] as const) {
      const { fencingToken } = await claim(holder, path, "w/a", { leaseSeconds: 600 });
      const refusal = await claim(asker, path, "w/b");
      expect(refusal).toMatchObject({ granted: false, reason: "contended" });
      expect(refusal.retryAfterMs).toBeGreaterThan(500_000);
      expect(refusal.retryAfterMs).toBeLessThanOrEqual(600_000);
      for (const name of NAMES)
        expect(await on(name).repo("GET", `${path}/claim`)).toMatchObject({ isHeld: true, owner: "w/a" });
      await release(asker, path, fencingToken);
    }
  });

  it("a lease runs out for all at once, when the database's clock says so and not before", async () => {
    const path = await record();
    const { fencingToken } = await claim(off, path, "w/a", { leaseSeconds: 1800 });
    await pass(1700);
    expect(await renew(off, path, fencingToken, 1800)).toMatchObject({ granted: true });
    await pass(1700);
    expect(await claim("right", path, "w/b")).toMatchObject({ granted: false, reason: "contended" });
    await pass(101);
    for (const name of NAMES)
      expect(await on(name).repo("GET", `${path}/claim`)).toMatchObject({ claimed: true, isHeld: false });
    for (const name of NAMES)
      expect(await renew(name, path, fencingToken, 60)).toEqual({ granted: false, reason: "superseded" });
    // The fence does not read the clock: it may write until somebody else is granted a higher token.
    expect((await write(off, path, fencingToken)).status).toBe(200);
    const next = await claim("right", path, "w/b", { leaseSeconds: 60 });
    expect(next).toMatchObject({ granted: true, previous: { owner: "w/a", fencingToken, lapsed: true } });
    expect((await write(off, path, fencingToken)).body).toMatchObject({ code: "stale_token" });
    expect((await write(off, path, next.fencingToken)).status).toBe(200);
  });

  it("waiters of all servers stand in one line, and are served in their order", async () => {
    const path = await record();
    let { fencingToken } = await claim("right", path, "w/0", { leaseSeconds: 600 });
    const order: string[] = [];
    const waiting = [];
    for (const [index, name] of ([off, "right", off] as const).entries()) {
      const owner = `w/${index + 1}`;
      const served = claim(name, path, owner, { leaseSeconds: 600, maxWaitSeconds: 60 });
      waiting.push(
        served.then((answer) => {
          order.push(owner);
          return answer;
        }),
      );
      await inLine(path, index + 1);
    }
    expect(await claim(off, path, "w/hasty")).toMatchObject({ granted: false, reason: "contended" });
    for (const promised of waiting) {
      await release(off, path, fencingToken);
      const answer = await promised;
      expect(answer).toMatchObject({ granted: true, leaseSeconds: 600 });
      fencingToken = answer.fencingToken;
    }
    expect(order).toEqual(["w/1", "w/2", "w/3"]);
    await inLine(path, 0);
  });

  it("a waiter is served when the lease runs out, and waits as long as it asked", async () => {
    const path = await record();
    await claim("right", path, "w/a", { leaseSeconds: 1 });
    const after = await claim(off, path, "w/b", { leaseSeconds: 600, maxWaitSeconds: 30 });
    expect(after).toMatchObject({ granted: true, previous: { owner: "w/a", lapsed: true } });
    const began = performance.now();
    expect(await claim(off, path, "w/c", { maxWaitSeconds: 2 })).toMatchObject({
      granted: false,
      reason: "timeout",
    });
    expect(performance.now() - began).toBeGreaterThan(1_900);
    await inLine(path, 0);
  });
});

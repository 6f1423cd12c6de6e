/**
 * PostgreSQL goes away and comes back, under two real servers, while some wait in line and others claim: answers are
 * 503 with the time to come back, never 500; who waits is served or times out as asked; nothing stays in the line.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer, ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import { expectProblem } from "../http/support/expect-problem.ts";
import { FragilePostgres } from "./fragile-postgres.ts";
import { type PlainServer, startPlainServer } from "./plain-server.ts";

/** PostgreSQL and its servers start and stop here, perhaps on a busy machine. */
const SLOW_MS = 180_000;

let postgres: FragilePostgres;
let servers: [PlainServer, PlainServer];
let one: ApiClient;
let two: ApiClient;
let count = 0;

beforeAll(async () => {
  postgres = await FragilePostgres.start(await mkdtemp(join(tmpdir(), "leasehold-away-")), false);
  servers = await Promise.all([startPlainServer(postgres.url), startPlainServer(postgres.url)]);
  one = servers[0].api;
  two = servers[1].api;
}, SLOW_MS);
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  const home = await postgres.home();
  await postgres.stop();
  await rm(home, { recursive: true, force: true });
});

async function record(): Promise<string> {
  count += 1;
  const path = `/memory/notes/n${count}`;
  await one.repo("PUT", path, { body: { title: `note ${count}` } });
  return path;
}

const claim = (client: ApiClient, path: string, owner: string, more: object = {}): Promise<Answer> =>
  client.tryRepo("POST", `${path}/claim`, { body: { owner, ...more } });

const inLine = (path: string, wanted: number) =>
  waitFor(`${wanted} in line`, async () => {
    const { status, body } = await two.tryRepo("GET", `${path}/claim`);
    return status === 200 && body.queueDepth === wanted ? null : JSON.stringify(body);
  });

/** Everything that callers of claims and memory do. */
const everything = (client: ApiClient, path: string, fence: number): Promise<Answer>[] => [
  claim(client, path, "w/x"),
  claim(client, path, "w/x", { maxWaitSeconds: 60 }),
  client.tryRepo("POST", "/claim-next", { body: { owner: "w/x" } }),
  client.tryRepo("POST", `${path}/claim/renew`, { body: { fencingToken: fence } }),
  client.tryRepo("POST", `${path}/claim/release`, { body: { fencingToken: fence } }),
  client.tryRepo("GET", `${path}/claim`),
  client.tryRepo("GET", `${path}/claims`),
  client.tryRepo("GET", path),
  client.tryRepo("PUT", path, { body: { title: "x" }, fence }),
  client.tryRepo("PATCH", path, { body: { body: "x" }, fence }),
  client.tryRepo("DELETE", path, { fence }),
  client.tryRepo("GET", "/ready"),
];

function expectAway(answer: Answer): void {
  expectProblem(answer, { status: 503, code: "unavailable" });
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(answer.body.retryAfterMs).toBeGreaterThan(0);
}

async function ask(query: string, values?: string[]): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  return client.query(query, values).finally(() => client.end());
}

/**
 * Holds a record's lock from outside, so that whatever decides on the record is under way until PostgreSQL goes. In a
 * prepared transaction: a session's lock is free as soon as that session is ended, and PostgreSQL, shutting down, may end
 * it before those that wait for the lock, of which one is then rightly done. Answers how to let go of it.
 */
async function holdRecord(path: string): Promise<() => Promise<unknown>> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const [topic, id] = path.split("/").slice(2);
  await client.query("begin");
  await client.query(
    "select pg_advisory_xact_lock(record_lock_key(repository_id, topic, id)) from record where topic = $1 and id = $2",
    [topic, id],
  );
  await client.query(`prepare transaction '${path}'`);
  await client.end();
  return () => ask(`rollback prepared '${path}'`);
}

const blocked = (wanted: number) =>
  waitFor(`${wanted} requests to be under way`, async () => {
    const { rows } = await ask("select 1 from pg_locks where locktype = 'advisory' and not granted");
    return rows.length >= wanted ? null : `${rows.length} are`;
  });

const WAYS = [
  ["crashes", () => postgres.crash()],
  ["is shut down", () => postgres.stop()],
] as const;

describe.each(WAYS)("PostgreSQL %s and comes back", (_how, goAway) => {
  it(
    "answers 503 to what is under way and to whatever comes meanwhile, and goes on by itself",
    async () => {
      const path = await record();
      const { body: held } = await claim(one, path, "w/holder", { leaseSeconds: 600 });
      const free = await record();
      const letGo = await holdRecord(free);
      const underWay = [one, two].flatMap((client) => [
        claim(client, free, "w/under-way"),
        claim(client, free, "w/under-way", { maxWaitSeconds: 60 }),
        client.tryRepo("PUT", free, { body: { title: "under way" } }),
      ]);
      await blocked(underWay.length);
      await goAway();
      for (const answer of await Promise.all(underWay)) expectAway(answer);
      for (const client of [one, two])
        for (const answer of await Promise.all(everything(client, path, held.fencingToken)))
          expectAway(answer);
      for (const client of [one, two])
        expect((await client.send("GET", "/health")).body).toMatchObject({
          status: "degraded",
          database: "unreachable",
        });

      // While it starts, it refuses in other words.
      const starting = postgres.restart();
      let over = false;
      void starting.then(() => {
        over = true;
      });
      while (!over) {
        const answer = await one.tryRepo("GET", `${path}/claim`);
        if (answer.status !== 200) expectAway(answer);
      }
      await starting;
      for (const client of [one, two])
        await waitFor("it to go on", async () => {
          const answer = await client.tryRepo("GET", `${path}/claim`);
          if (answer.status === 200) return null;
          expectAway(answer);
          return "it does not yet";
        });
      expect((await one.tryRepo("GET", `${path}/claim`)).body).toMatchObject({
        isHeld: true,
        owner: "w/holder",
      });
      await letGo();
      await inLine(free, 0);
      expect((await claim(two, free, "w/after")).body).toMatchObject({ granted: true });
    },
    SLOW_MS,
  );

  it(
    "serves those who wait in their order, times out those whose time is over, and leaves nobody in line",
    async () => {
      const path = await record();
      const { body: held } = await claim(one, path, "w/holder", { leaseSeconds: 600 });
      const first = claim(one, path, "w/1", { leaseSeconds: 600, maxWaitSeconds: 60 });
      await inLine(path, 1);
      const second = claim(two, path, "w/2", { leaseSeconds: 600, maxWaitSeconds: 60 });
      await inLine(path, 2);
      const asked = performance.now();
      const brief = claim(two, path, "w/brief", { maxWaitSeconds: 5 });
      await inLine(path, 3);
      await goAway();
      expect((await brief).body).toMatchObject({ granted: false, reason: "timeout" });
      expect(performance.now() - asked).toBeGreaterThan(4_900);
      await postgres.restart();
      await inLine(path, 2);
      let { fencingToken } = held;
      for (const waiting of [first, second]) {
        const released = { body: { fencingToken } };
        await waitFor("the release", async () =>
          (await one.tryRepo("POST", `${path}/claim/release`, released)).status === 200 ? null : "not yet",
        );
        const { status, body } = await waiting;
        expect({ status, granted: body.granted }).toEqual({ status: 200, granted: true });
        fencingToken = body.fencingToken;
      }
      expect((await second).body).toMatchObject({ owner: "w/2", previous: { owner: "w/1", lapsed: false } });
      await inLine(path, 0);
    },
    SLOW_MS,
  );
});

it(
  "the servers lived through it, and no place in any line is left",
  async () => {
    for (const { process } of servers) {
      expect(process.deaths).toEqual([]);
      expect(process.isRunning).toBe(true);
    }
    await waitFor("every place in every line to be given up", async () => {
      const { rows } = await ask("select topic, id from claim_waiter");
      return rows.length === 0 ? null : JSON.stringify(rows);
    });
  },
  SLOW_MS,
);

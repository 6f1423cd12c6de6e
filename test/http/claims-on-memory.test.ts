/** Claims on memory records (protocol 4): the same five calls as on items, without a GitHub App. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { World } from "../harness/world.ts";

let world: World;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
});
afterAll(() => world.end());

let records = 0;
async function record(title = "A lock for the staging slot"): Promise<string> {
  const path = `/memory/locks/slot-${++records}`;
  await world.api.repo("PUT", path, { body: { title } });
  return path;
}
const claim = (path: string, owner: string, more: object = {}) =>
  world.api.repo("POST", `${path}/claim`, { body: { owner, leaseSeconds: 100, ...more } });
const renew = (path: string, fencingToken: number, leaseSeconds?: number) =>
  world.api.repo("POST", `${path}/claim/renew`, {
    body: { fencingToken, ...(leaseSeconds ? { leaseSeconds } : {}) },
  });
const release = (path: string, fencingToken: number) =>
  world.api.repo("POST", `${path}/claim/release`, { body: { fencingToken } });
const status = (path: string) => world.api.repo("GET", `${path}/claim`);
const millis = (time: string) => new Date(time).getTime();

describe("a claim", () => {
  it("is granted, with everything that the holder needs", async () => {
    const path = await record("Staging");
    expect(await claim(path, "worker/7f3a", { leaseSeconds: 900 })).toEqual({
      granted: true,
      key: `repo/acme/widgets/mem/locks/slot-${records}`,
      owner: "worker/7f3a",
      region: "local",
      scope: "item",
      fencingToken: expect.any(Number),
      leaseSeconds: 900,
      leaseExpiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      attempt: 1,
      custodyChanged: true,
      previous: null,
      title: "Staging",
    });
  });

  it("lasts for the default when nobody says how long", async () => {
    const path = await record();
    const granted = await world.api.repo("POST", `${path}/claim`, { body: { owner: "w" } });
    expect(granted.leaseSeconds).toBe(30);
  });

  it("on a record that is not there answers `missing`", async () => {
    expect(await claim("/memory/locks/none", "w")).toEqual({
      granted: false,
      key: "repo/acme/widgets/mem/locks/none",
      reason: "missing",
      blockers: [],
    });
  });

  it("names another region in vain", async () => {
    const path = await record();
    expect(await claim(path, "w", { region: "elsewhere" })).toMatchObject({
      granted: false,
      reason: "foreign_region",
    });
  });

  it("is contended while another lives, and does not tell who holds it", async () => {
    const path = await record();
    await claim(path, "worker/the-holder");
    const refused = await claim(path, "worker/other");
    expect(refused).toMatchObject({ granted: false, reason: "contended" });
    expect(refused.retryAfterMs).toBeGreaterThan(90_000);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(100_000);
    expect(JSON.stringify(refused)).not.toContain("the-holder");
  });

  it("is contended for its own holder too", async () => {
    const path = await record();
    await claim(path, "w");
    expect(await claim(path, "w")).toMatchObject({ granted: false, reason: "contended" });
  });

  it("is won by one of many that ask at once", async () => {
    const path = await record();
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => claim(path, `racer/${n}`)));
    const winners = answers.filter((answer) => answer.granted);
    expect(winners).toHaveLength(1);
    expect(await status(path)).toMatchObject({ owner: winners[0].owner, grants: 1 });
  });

  it("gets a token above every token before it, whatever the record", async () => {
    const tokens: number[] = [];
    for (let n = 0; n < 5; n += 1) tokens.push((await claim(await record(), "w")).fencingToken);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(5);
  });
});

describe("a lease", () => {
  it("is renewed under the same token", async () => {
    const path = await record();
    const { fencingToken, leaseExpiresAt } = await claim(path, "w");
    await world.pass(50);
    const renewed = await renew(path, fencingToken, 100);
    expect(renewed).toEqual({
      granted: true,
      fencingToken,
      leaseSeconds: 100,
      leaseExpiresAt: expect.any(String),
      leaseShortened: false,
      previousLeaseExpiresAt: leaseExpiresAt,
    });
    expect(millis(renewed.leaseExpiresAt) - millis(leaseExpiresAt)).toBeGreaterThanOrEqual(50_000);
  });

  it("that is renewed for less time than was left says so", async () => {
    const path = await record();
    const { fencingToken, leaseExpiresAt } = await claim(path, "w");
    const renewed = await renew(path, fencingToken, 10);
    expect(renewed).toMatchObject({
      granted: true,
      leaseShortened: true,
      previousLeaseExpiresAt: leaseExpiresAt,
    });
    expect(millis(renewed.leaseExpiresAt)).toBeLessThan(millis(leaseExpiresAt));
    await world.pass(11);
    expect(await status(path)).toMatchObject({ isHeld: false });
  });

  it("that has lapsed is not renewed: superseded, though nobody took over", async () => {
    const path = await record();
    const { fencingToken } = await claim(path, "w");
    await world.pass(101);
    expect(await renew(path, fencingToken, 100)).toEqual({ granted: false, reason: "superseded" });
  });

  it("of a superseded holder is not renewed", async () => {
    const path = await record();
    const first = await claim(path, "first");
    await world.pass(101);
    await claim(path, "second");
    expect(await renew(path, first.fencingToken, 100)).toEqual({ granted: false, reason: "superseded" });
  });

  it("is not renewed under a token that nobody was granted, nor after release", async () => {
    const path = await record();
    expect(await renew(path, 999_999)).toEqual({ granted: false, reason: "superseded" });
    const { fencingToken } = await claim(path, "w");
    expect(await renew(path, fencingToken + 1)).toEqual({ granted: false, reason: "superseded" });
    await release(path, fencingToken);
    expect(await renew(path, fencingToken)).toEqual({ granted: false, reason: "superseded" });
  });

  it("of a record that never was is `missing`", async () => {
    expect(await renew("/memory/locks/none", 1)).toEqual({ granted: false, reason: "missing" });
  });
});

describe("a release", () => {
  it("frees the record at once, and doing it again changes nothing", async () => {
    const path = await record();
    const { fencingToken } = await claim(path, "first");
    expect(await release(path, fencingToken)).toEqual({ released: true });
    expect(await release(path, fencingToken)).toEqual({ released: false, reason: "unclaimed" });
    const second = await claim(path, "second");
    expect(second).toMatchObject({ granted: true, custodyChanged: true });
    expect(second.previous).toEqual({ owner: "first", fencingToken, lapsed: false });
    expect(await release(path, fencingToken)).toEqual({ released: false, reason: "stale" });
    expect(await status(path)).toMatchObject({ isHeld: true, owner: "second" });
  });

  it("of a lapsed claim that nobody took is a release", async () => {
    const path = await record();
    const { fencingToken } = await claim(path, "w");
    await world.pass(101);
    expect(await release(path, fencingToken)).toEqual({ released: true });
  });

  it("of what was never claimed, or never was", async () => {
    expect(await release(await record(), 1)).toEqual({ released: false, reason: "unclaimed" });
    expect(await release("/memory/locks/none", 1)).toEqual({ released: false, reason: "missing" });
  });
});

describe("after a lapse", () => {
  it("another takes over, and is told whom from", async () => {
    const path = await record();
    const first = await claim(path, "first");
    await world.pass(101);
    expect(await claim(path, "second")).toMatchObject({
      granted: true,
      custodyChanged: true,
      attempt: 2,
      previous: { owner: "first", fencingToken: first.fencingToken, lapsed: true },
    });
  });

  it("the same owner goes on once; the second time it counts", async () => {
    const path = await record();
    const tokens = [(await claim(path, "w")).fencingToken];
    for (const custodyChanged of [false, true, false]) {
      await world.pass(101);
      const again = await claim(path, "w");
      expect(again).toMatchObject({ granted: true, custodyChanged });
      expect(again.fencingToken).toBeGreaterThan(tokens.at(-1) ?? 0);
      tokens.push(again.fencingToken);
    }
  });
});

describe("the status", () => {
  it("tells the whole life of a claim, and decides nothing", async () => {
    const path = await record();
    const key = `repo/acme/widgets/mem/locks/slot-${records}`;
    const fixed = { key, exists: true, queueDepth: 0, authoritative: false };
    expect(await status(path)).toEqual({
      ...fixed,
      claimed: false,
      isHeld: false,
      owner: null,
      region: null,
      scope: null,
      fencingToken: null,
      leaseExpiresAt: null,
      releasedAt: null,
      grants: 0,
    });

    const { fencingToken, leaseExpiresAt } = await claim(path, "w");
    const held = { ...fixed, owner: "w", region: "local", scope: "item", fencingToken, leaseExpiresAt };
    expect(await status(path)).toEqual({ ...held, claimed: true, isHeld: true, releasedAt: null, grants: 1 });

    await world.pass(101);
    expect(await status(path)).toEqual({
      ...held,
      claimed: true,
      isHeld: false,
      releasedAt: null,
      grants: 1,
    });

    await release(path, fencingToken);
    expect(await status(path)).toEqual({
      ...held,
      claimed: false,
      isHeld: false,
      releasedAt: expect.any(String),
      grants: 1,
    });
  });

  it("of a record that never was", async () => {
    expect(await status("/memory/locks/none")).toMatchObject({ exists: false, claimed: false, grants: 0 });
  });
});

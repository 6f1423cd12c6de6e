/**
 * Turns to write (github-cases 69): whatever asks, and however often, GitHub is never written to faster than it allows,
 * and never while it asks to wait. The clock is PostgreSQL's, and is set.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { GITHUB_PACE, writePace } from "../../src/domain/write-pace.ts";
import { endTurn, findStanding, pauseInstallation, takeTurn } from "../../src/store/write-turns.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
/** Seconds since noon. */
let now = 0;

beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query(`
    create table clock (seconds float8);
    insert into clock values (0);
    create or replace function db_now() returns timestamptz language sql volatile
      as $$ select '2026-03-01T12:00:00Z'::timestamptz + make_interval(secs => (select seconds from clock)) $$`);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query(
    "delete from github_write; delete from installation; insert into installation (id, account_login) values (1, 'acme'), (2, 'umbrella')",
  );
  await to(0);
});

async function to(seconds: number): Promise<void> {
  now = seconds;
  await database.pool.query("update clock set seconds = $1", [seconds]);
}

const pace = writePace(GITHUB_PACE);
const take = (turn = "a", installation = 1) => takeTurn(database.db, installation, turn, pace);
const end = (turn = "a", installation = 1) => endTurn(database.db, installation, turn, pace);

/** Writes as fast as it may for so long; answers when each write began. */
async function writeFor(seconds: number): Promise<number[]> {
  const begun: number[] = [];
  while (now < seconds) {
    const wait = await take();
    if (wait > 0) {
      await to(now + wait);
      continue;
    }
    begun.push(now);
    await to(now + 0.2);
    await end();
  }
  return begun;
}

const mostWithin = (times: readonly number[], seconds: number): number =>
  Math.max(...times.map((from) => times.filter((time) => time >= from && time < from + seconds).length));

describe("a turn to write", () => {
  it("row 69: more than an hour of writing keeps under 80 a minute and 500 an hour, a second apart, and use what there is", async () => {
    const begun = await writeFor(3700);
    expect(mostWithin(begun, 60)).toBeLessThan(80);
    expect(mostWithin(begun, 3600)).toBeLessThan(500);
    expect(mostWithin(begun, 3599.9)).toBe(GITHUB_PACE.perHour);
    for (const [index, time] of begun.entries())
      if (index > 0) expect(time - (begun[index - 1] ?? 0)).toBeGreaterThanOrEqual(1.2 - 0.002);
    // Of earlier hours nothing is kept.
    const { rows } = await database.pool.query("select count(*)::int as count from github_write");
    expect(rows[0].count).toBeLessThanOrEqual(GITHUB_PACE.perHour + 1);
  }, 240_000);

  it("is one at a time, and lapses when whoever has it is gone", async () => {
    expect(await take("a")).toBe(0);
    await to(2);
    expect(await take("b")).toBeGreaterThan(0);
    await end("b");
    expect(await take("b")).toBeGreaterThan(0);
    await to(91);
    expect(await take("b")).toBe(0);
    // Whoever comes back late ends nobody else's.
    await to(93);
    await end("a");
    expect(await take("c")).toBeGreaterThan(0);
  });

  it("goes to one of many who ask at once", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => take(`turn-${n}`)));
    expect(answers.filter((seconds) => seconds === 0)).toHaveLength(1);
  });

  it("of another account is another", async () => {
    expect(await take("a", 1)).toBe(0);
    expect(await take("a", 2)).toBe(0);
  });

  it("is not had while GitHub asks to wait, to the second", async () => {
    await pauseInstallation(database.db, 1, 60);
    await to(59.9);
    expect(await take()).toBeCloseTo(0.1, 3);
    await to(60);
    expect(await take()).toBe(0);
  });
});

describe("a pause", () => {
  const paused = async (): Promise<number> => {
    const standing = await findStanding(database.db, 1);
    return standing?.kind === "paused" ? standing.seconds : 0;
  };

  it("that GitHub names is kept, and a shorter one does not shorten it", async () => {
    await pauseInstallation(database.db, 1, 120);
    await pauseInstallation(database.db, 1, 5);
    expect(await paused()).toBe(120);
  });

  it("that GitHub names no time for is a minute, then twice as long each time, an hour at most", async () => {
    const waits: number[] = [];
    for (let time = 0; time < 8; time += 1) {
      await pauseInstallation(database.db, 1, null);
      waits.push(await paused());
      await to(now + (waits.at(-1) ?? 0) + 1);
    }
    expect(waits).toEqual([60, 120, 240, 480, 960, 1920, 3600, 3600]);
    await to(now + 4000);
    await pauseInstallation(database.db, 1, null);
    expect(await paused()).toBe(60);
  });

  it("that several requests under way bring at once is one", async () => {
    for (let request = 0; request < 5; request += 1) await pauseInstallation(database.db, 1, null);
    expect(await paused()).toBe(60);
  });

  it("of an account that is suspended is no matter", async () => {
    await database.pool.query("update installation set suspended_at = db_now() where id = 1");
    expect(await findStanding(database.db, 1)).toEqual({ kind: "suspended" });
    expect(await findStanding(database.db, 2)).toBe(null);
  });
});

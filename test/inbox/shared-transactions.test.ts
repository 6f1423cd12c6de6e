/** Deliveries that ask nothing of GitHub share a transaction; what one of them does to it, it does to itself only. */

import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import { takeDeliveries } from "../../src/store/inbox-runs.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { World } from "../harness/world.ts";
import { headsSettled, inbox } from "./support/deliveries.ts";

let world: World;
let repo: FakeRepository;
beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

const query = async <Row extends object>(text: string): Promise<Row[]> =>
  (await world.app.deps.database.pool.query<Row>(text)).rows;

/** What comes lies in the inbox until the hold ends. */
async function whileHeld(work: () => void | Promise<void>): Promise<void> {
  await query("alter table inbox alter column next_try_at set default db_now() + interval '1 hour'");
  await work();
  await world.github.delivered();
  await query("alter table inbox alter column next_try_at set default db_now()");
  await query("update inbox set next_try_at = db_now() where state = 'pending'");
}

async function issues(count: number): Promise<number[]> {
  const numbers = Array.from({ length: count }, (_, n) =>
    repo.as("alice").openIssue({ title: `Issue ${n}`, labels: ["backlog"] }),
  );
  await world.settled();
  return numbers;
}

const newest = async (): Promise<number> =>
  (await query<{ seq: number }>("select coalesce(max(seq), 0)::int as seq from inbox"))[0]?.seq ?? 0;

it("many labels of many issues are had in few transactions, in order within each issue", async () => {
  const numbers = await issues(20);
  const since = await newest();
  await whileHeld(() => {
    for (const label of ["P1", "docs", "P0"]) for (const n of numbers) repo.as("alice").label(n, label);
    for (const n of numbers) repo.as("alice").unlabel(n, "P1");
  });
  world.app.deps.wake.inbox();
  await world.settled();
  const [found] = await query<{ deliveries: number; transactions: number; alone: number; tries: number }>(
    `select count(*)::int as deliveries, count(distinct xmin::text)::int as transactions,
       count(*) filter (where alone)::int as alone, max(attempts) as tries
     from inbox where seq > ${since} and state = 'done' and event = 'issues'`,
  );
  expect(found).toMatchObject({ deliveries: 80, alone: 0, tries: 1 });
  expect(found?.transactions).toBeLessThanOrEqual(4);
  for (const number of numbers) {
    const item = await world.api.item(number);
    expect(item.tags).toContain("priority:P0");
    expect(item.tags).not.toContain("priority:P1");
  }
  const labels = await query<{ labels: string[] }>(
    `select distinct array(select unnest(labels) order by 1) as labels from issue where number = any ('{${numbers}}')`,
  );
  expect(labels).toEqual([{ labels: ["P0", "backlog", "docs"] }]);
  // Each event is told, not only what came of all.
  const told = await query<{ told: number }>(
    `select count(*)::int as told from (select type, number, data from event union all select type, number, data from event_new) e
     where type = 'item.updated' and number = ${numbers[0]} and data -> 'changed' ? 'labels'`,
  );
  expect(told[0]?.told).toBe(4);
});

it("one that GitHub must be asked about is applied alone, in its place; those of other issues are not held up", async () => {
  const [closed = 0, ...others] = await issues(4);
  const since = await newest();
  await whileHeld(() => {
    repo.as("alice").label(closed, "P3");
    repo.as("alice").close(closed);
    repo.as("alice").label(closed, "docs");
    for (const n of others) repo.as("alice").label(n, "P3");
  });
  world.app.deps.wake.inbox();
  await world.settled();
  const alone = await query<{ action: string }>(
    `select action from inbox where seq > ${since} and alone and event = 'issues' order by seq`,
  );
  expect(alone).toEqual([{ action: "closed" }]);
  expect(await world.api.item(closed)).toMatchObject({ state: "complete" });
  for (const n of others) expect((await world.api.item(n)).tags).toContain("priority:P3");
});

it("one that fails in company is tried alone, and fails alone", async () => {
  world.expectError(/failed for good/);
  const [cursed = 0, ...others] = await issues(5);
  await query(`
    create function refuse() returns trigger language plpgsql as $$
    begin if new.title = 'Cursed' then raise exception 'the mirror is closed'; end if; return new; end $$;
    create trigger refuse before update on issue for each row execute function refuse()`);
  await whileHeld(() => {
    for (const n of others) repo.as("alice").label(n, "P1");
    repo.as("alice").editIssue(cursed, { title: "Cursed" });
    for (const n of others) repo.as("alice").label(n, "docs");
  });
  world.app.deps.wake.inbox();
  await headsSettled(world);
  const failing = (await inbox(world)).filter(({ state }) => state !== "done");
  expect(failing).toEqual([
    expect.objectContaining({
      lane: `issue:${cursed}`,
      state: "pending",
      attempts: 1,
      error: expect.stringContaining("the mirror is closed"),
    }),
  ]);
  for (const n of others) expect((await world.api.item(n)).tags).toContain("priority:P1");
  await query("drop trigger refuse on issue");
  await world.pass(2);
  await world.settled();
  expect((await world.api.item(cursed)).title).toBe("Cursed");
});

it("of a lane only that is taken before which everything was had", async () => {
  const [number = 0, other = 0] = await issues(2);
  await whileHeld(async () => {
    for (const label of ["P1", "docs", "P2"]) repo.as("alice").label(number, label);
    repo.as("alice").label(other, "P1");
    await world.github.delivered();
    const [first, second] = await query<{ seq: number }>(
      `select seq::int as seq from inbox where state = 'pending' and lane = 'issue:${number}' order by seq`,
    );
    const holder = await world.app.deps.database.pool.connect();
    try {
      await holder.query("begin");
      // Keeps others from taking it, and lets it become due.
      await holder.query("select 1 from inbox where seq = $1 for key share", [second?.seq]);
      // In one transaction, so that the program's own loops do not come first.
      const taken = await world.db.transaction().execute(async (trx) => {
        await sql`update inbox set next_try_at = db_now() where state = 'pending'`.execute(trx);
        return takeDeliveries(trx);
      });
      expect(taken.map(({ seq, lane }) => (lane === `issue:${other}` ? "other" : seq))).toEqual([
        first?.seq,
        "other",
      ]);
      await holder.query("rollback");
      // What is leased heads its lane, and what follows it waits.
      expect(await takeDeliveries(world.db)).toEqual([]);
    } finally {
      holder.release();
    }
  });
  await world.pass(91);
  await world.settled();
  expect((await world.api.item(number)).tags).toContain("priority:P2");
});

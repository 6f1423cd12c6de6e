/** Deliveries that whoever had begun them never came back from: set apart, and not begun for ever. */

import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Trx } from "../../src/store/database.ts";
import { takeDelivery } from "../../src/store/inbox.ts";
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

/** What the changes brought, as `take` sees it: in a transaction, so that the program's own loops stay out of it. */
async function taking<T>(changes: () => void, take: (trx: Trx) => Promise<T>): Promise<T> {
  await query("alter table inbox alter column next_try_at set default db_now() + interval '1 hour'");
  changes();
  await world.github.delivered();
  await query("alter table inbox alter column next_try_at set default db_now()");
  return world.db.transaction().execute(async (trx) => {
    await sql`update inbox set next_try_at = db_now() where state = 'pending'`.execute(trx);
    return take(trx);
  });
}

async function issue(): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  await world.settled();
  return number;
}

it("what a dead process had taken in company is applied alone", async () => {
  const numbers = [await issue(), await issue()];
  const label = () => {
    for (const number of numbers) repo.as("alice").label(number, "P1");
  };
  const taken = (await taking(label, takeDeliveries)).map(({ seq }) => seq);
  expect(taken).toHaveLength(2);
  await world.pass(91);
  await world.settled();
  expect(
    await query(
      `select alone, lapses, state, attempts from inbox where seq = any ('{${taken}}') order by seq`,
    ),
  ).toEqual(taken.map(() => ({ alone: true, lapses: 1, state: "done", attempts: 2 })));
  for (const number of numbers) expect((await world.api.item(number)).tags).toContain("priority:P1");
});

it("one that was begun five times and never ended is given up, is seen, and a redelivery tries it anew", async () => {
  world.expectError(/ended or hung/);
  const [cursed, other] = [await issue(), await issue()];
  const lane = { repositoryId: repo.id, lane: `issue:${cursed}` };
  await taking(
    () => repo.as("alice").label(cursed, "P1"),
    async (trx) => {
      for (let death = 1; death <= 5; death++) {
        expect(await takeDelivery(trx, lane)).toMatchObject({ attempts: death, lapses: death - 1 });
        await sql`update inbox set locked_until = db_now() - interval '1 second' where state = 'pending'`.execute(
          trx,
        );
      }
    },
  );
  repo.as("alice").label(other, "P1");
  await world.github.delivered();
  await headsSettled(world);
  const [failed] = (await inbox(world)).filter(({ state }) => state === "failed");
  expect(failed).toMatchObject({ lane: lane.lane, error: expect.stringContaining("begun 5 times") });
  expect((await world.api.item(other)).tags).toContain("priority:P1");
  expect((await world.api.send("GET", "/health")).body).toMatchObject({
    status: "degraded",
    inbox: { failed: 1 },
  });

  await world.github.redeliver(failed?.delivery_id ?? "");
  await world.settled();
  expect((await world.api.item(cursed)).tags).toContain("priority:P1");
  expect(await query("select 1 from inbox where state <> 'done'")).toEqual([]);
});

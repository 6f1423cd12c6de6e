/**
 * A handler that fails: GitHub's webhook never hears of it, nothing is lost, nothing overtakes within an issue,
 * nothing else waits (rows 7 and 8).
 */

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { settleDelivery } from "../../src/services/settle-delivery.ts";
import {
  type Delivery,
  failDelivery,
  finishDelivery,
  postponeDelivery,
  storeDeliveries,
  takeDelivery,
} from "../../src/store/inbox.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { ERROR } from "../harness/recorded-log.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";
import { headsSettled, inbox, keepBackOne, type Stored } from "./support/deliveries.ts";

let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());
afterEach(async () => {
  world.github.clearFaults();
  await world.pass(700);
  await world.settled();
  await world.db.deleteFrom("inbox").execute();
});

const PERMISSION = /^\/repos\/acme\/widgets\/collaborators\/alice\/permission$/;
const permissionReads = () => world.github.requestsTo("GET", PERMISSION);

/** An issue that Alice files while GitHub does not say who she is. */
function fileWhileGitHubFails(title: string, more: object = { status: 500 }, times = 1000): number {
  world.github.fault({ path: PERMISSION, kind: "status", times, ...more });
  return repo.as("alice").openIssue({ title, labels: ["backlog"] });
}
const laneOf = async (number: number): Promise<Stored[]> =>
  (await inbox(world)).filter(({ lane }) => lane === `issue:${number}`);
const headOf = async (number: number): Promise<Stored> => {
  const head = (await laneOf(number)).find(({ state }) => state !== "done");
  if (!head) throw new Error(`nothing of #${number} is left`);
  return head;
};
const failedOnce = (number: number) =>
  waitFor(`#${number} to fail`, async () =>
    (await laneOf(number)).some(({ error }) => error !== null) ? null : "it does not",
  );
/** Seconds until the delivery is tried again. */
async function secondsLeft(seq: number): Promise<number> {
  const { rows } = await world.app.deps.database.pool.query<{ left: number }>(
    "select extract(epoch from next_try_at - db_now())::float8 as left from inbox where seq = $1",
    [seq],
  );
  return rows[0]?.left ?? Number.NaN;
}

describe("while GitHub answers a handler's question with 500", () => {
  it("the webhook is answered 202, the delivery is kept, and it is tried again until it works", async () => {
    const number = fileWhileGitHubFails("Unlucky");
    await world.github.delivered();
    await failedOnce(number);
    const opened = world.github.deliveries.filter(
      ({ event, action }) => event === "issues" && action === "opened",
    );
    expect(opened.at(-1)?.status).toBe(202);
    expect(await headOf(number)).toMatchObject({ state: "pending", error: expect.stringContaining("500") });
    expect((await world.api.tryRepo("GET", `/items/${number}`)).status).toBe(404);

    world.github.clearFaults();
    await world.pass(700);
    await world.settled();
    expect(await world.api.item(number)).toMatchObject({ title: "Unlucky", admitted: true });
    for (const row of await laneOf(number)) expect(row).toMatchObject({ state: "done", error: null });
  });

  it("the retry comes by itself, soon, though more of the same issue waits behind it", async () => {
    const number = fileWhileGitHubFails("Comes back", { status: 502 }, 1);
    repo.as("alice").editIssue(number, { title: "Came back" });
    await world.github.delivered();
    await waitFor(
      "the retry",
      async () => ((await laneOf(number)).every(({ state }) => state === "done") ? null : "it has not come"),
      // Well before anybody looks for forgotten work.
      10_000,
    );
    expect((await world.api.item(number)).title).toBe("Came back");
  });

  it("its issue's later deliveries wait behind it, in order, and another issue goes on", async () => {
    const stuck = fileWhileGitHubFails("First");
    for (const title of ["Second", "Third", "Fourth"]) repo.as("alice").editIssue(stuck, { title });
    const free = repo.as("tess").openIssue({ title: "Free", labels: ["backlog"] });
    await headsSettled(world);
    expect(await world.api.item(free)).toMatchObject({ title: "Free", admitted: true });
    const [head, ...behind] = await laneOf(stuck);
    expect(head).toMatchObject({ action: "opened", state: "pending", error: expect.any(String) });
    expect(behind.map(({ action }) => action)).toEqual(["labeled", "edited", "edited", "edited"]);
    for (const row of behind) expect(row).toMatchObject({ state: "pending", attempts: 0 });

    await world.db.updateTable("issue").set({ title: "unseen" }).where("number", "=", stuck).execute();
    const seen = await titlesFrom(stuck);
    world.github.clearFaults();
    await world.pass(700);
    await world.settled();
    expect(await seen()).toEqual(["First", "Second", "Third", "Fourth"]);
  });

  it("it is tried less and less often, at least every ten minutes", async () => {
    const number = fileWhileGitHubFails("Patient");
    await failedOnce(number);
    const { seq } = await headOf(number);
    const waits: number[] = [];
    for (let attempts = 1; attempts < 13; ) {
      const left = await secondsLeft(seq);
      if ((await headOf(number)).attempts === attempts) waits[attempts] = left;
      await world.pass(Math.max(left, 0) + 0.1);
      await waitFor("the next try", async () => {
        const now = (await headOf(number)).attempts;
        return now > attempts && (await secondsLeft(seq)) > 0 ? null : `still at ${now}`;
      });
      ({ attempts } = await headOf(number));
    }
    // The wait was looked at a moment after it began.
    for (const [attempt, left] of waits.entries()) {
      if (left === undefined) continue;
      expect(left, `after attempt ${attempt}`).toBeLessThanOrEqual(Math.min(2 ** (attempt - 1), 600));
    }
    expect(waits[7]).toBeGreaterThan(32);
    expect(waits[12]).toBeGreaterThan(512);
  });
});

describe("row 7: while a handler's question to GitHub hangs", () => {
  it("the webhook was answered long ago, and other issues are worked off", async () => {
    const asked = permissionReads().length;
    const number = fileWhileGitHubFails("Hanging", { kind: "hang" }, 1);
    await world.github.delivered();
    // GitHub has its 202 while the handler still waits for GitHub.
    await waitFor("the question", () => (permissionReads().length > asked ? null : "it was not asked"));
    expect(permissionReads().at(-1)).toMatchObject({ status: null, fault: "hang" });
    expect(await headOf(number)).toMatchObject({ state: "pending", attempts: 1, error: null });

    const other = repo.as("tess").openIssue({ title: "Not waiting", labels: ["backlog"] });
    await waitFor("the other issue", async () =>
      (await world.api.tryRepo("GET", `/items/${other}`)).status === 200 ? null : "is no item yet",
    );
    expect(await headOf(number)).toMatchObject({ state: "pending", error: null });

    // The connection breaks; the question is asked again.
    world.github.clearFaults();
    await failedOnce(number);
    await world.pass(2);
    await world.settled();
    expect(await world.api.item(number)).toMatchObject({ title: "Hanging" });
  });
});

describe("row 8: while GitHub answers a handler's question with 404", () => {
  it("the webhook is answered 202, and the delivery is kept and tried again", async () => {
    const number = repo.as("rita").openIssue({ title: "Proposed", labels: ["backlog"] });
    await world.settled();
    expect(repo.issue(number).labels).toContain("needs-specification");
    world.github.fault({ path: /\/issues\/\d+\/events$/, kind: "status", status: 404 });
    repo.as("alice").unlabel(number, "needs-specification");
    await world.github.delivered();
    expect(world.github.deliveries.at(-1)).toMatchObject({ action: "unlabeled", status: 202 });
    await failedOnce(number);
    expect(await headOf(number)).toMatchObject({ state: "pending", error: expect.stringContaining("404") });
    expect(await world.api.item(number)).toMatchObject({ admitted: false });
    await world.pass(2);
    await world.settled();
    expect(await world.api.item(number)).toMatchObject({ admitted: true, admittedBy: "alice" });
  });
});

describe("a delivery that fails for good", () => {
  it("is kept as failed and told; its issue goes on without it; a redelivery tries it anew", async () => {
    world.expectError(/the mirror is closed|failed for good/);
    const pool = world.app.deps.database.pool;
    await pool.query(`
      create function refuse() returns trigger language plpgsql as $$
      begin if new.title = 'Cursed' then raise exception 'the mirror is closed'; end if; return new; end $$;
      create trigger refuse before insert or update on issue for each row execute function refuse()`);
    const number = repo.as("alice").openIssue({ title: "Blessed", labels: ["backlog"] });
    await world.settled();
    const from = world.logged.lines.length;
    repo.as("alice").editIssue(number, { title: "Cursed", body: "the-canary-in-the-body" });
    await headsSettled(world);
    const { delivery_id: guid, seq } = await headOf(number);
    repo.as("alice").editIssue(number, { title: "Blessed again" });
    for (let tries = 0; tries < 20 && (await headOf(number)).state === "pending"; tries += 1) {
      await world.pass(Math.max(await secondsLeft(seq), 0) + 0.1);
      await headsSettled(world);
    }
    await headsSettled(world);

    expect(await headOf(number)).toMatchObject({
      delivery_id: guid,
      state: "failed",
      attempts: 14,
      error: expect.stringContaining("the mirror is closed"),
    });
    expect((await world.api.item(number)).title).toBe("Blessed again");
    const { body } = await world.api.send("GET", "/health");
    expect(body).toMatchObject({
      status: "degraded",
      inbox: { failed: 1, failures: [{ deliveryId: guid, error: expect.stringContaining("closed") }] },
    });
    const told = world.logged.lines.slice(from);
    expect(told.findLast(({ level }) => level >= ERROR)).toMatchObject({
      delivery: guid,
      msg: expect.stringContaining("for good"),
    });
    expect(JSON.stringify(told)).not.toContain("the-canary-in-the-body");

    await pool.query("drop trigger refuse on issue");
    const again = await world.github.redeliver(guid);
    expect(again.status).toBe(202);
    await world.settled();
    expect(await inbox(world, guid)).toEqual([
      expect.objectContaining({ state: "done", attempts: 1, error: null }),
    ]);
    expect((await world.api.send("GET", "/health")).body).toMatchObject({ inbox: { failed: 0 } });
  });

  it("an outage of GitHub is outlasted for as long as GitHub would redeliver, and no longer", async () => {
    world.expectError(/failed for good/);
    const number = fileWhileGitHubFails("Long night");
    await failedOnce(number);
    for (let tries = 0; tries < 18; tries += 1) {
      await world.pass(601);
      await headsSettled(world);
    }
    expect(await headOf(number)).toMatchObject({ state: "pending" });
    expect((await headOf(number)).attempts).toBeGreaterThan(14);
    await world.pass(3 * 86_400);
    await headsSettled(world);
    expect(await headOf(number)).toMatchObject({ action: "opened", state: "failed" });
    await world.db.deleteFrom("inbox").where("state", "=", "failed").execute();
  });
});

describe("a process that dies while it works on a delivery", () => {
  /** A delivery that another process took, and that died with it. */
  async function takenByTheDead(number: number, title: string): Promise<Delivery> {
    const { event, action, guid, payload } = keepBackOne(world.github, "issues.edited", () =>
      repo.as("alice").editIssue(number, { title }),
    );
    const lane = { repositoryId: repo.id, lane: `issue:${number}` };
    const stored = {
      ...lane,
      hookId: "1",
      deliveryId: guid,
      event,
      action,
      payload: JSON.stringify(payload),
    };
    const taken = await world.db.transaction().execute(async (trx) => {
      await storeDeliveries(trx, [stored]);
      return takeDelivery(trx, lane);
    });
    if (!taken) throw new Error("it was not taken");
    return taken;
  }

  it("keeps its place in line until its lease has lapsed; then another takes over, once", async () => {
    const number = repo.as("alice").openIssue({ title: "Before", labels: ["backlog"] });
    await world.settled();
    const seen = await titlesFrom(number);
    const dead = await takenByTheDead(number, "Left lying");
    repo.as("alice").editIssue(number, { title: "After it" });
    await world.github.delivered();
    const other = repo.as("alice").openIssue({ title: "Elsewhere", labels: ["backlog"] });
    await waitFor("the other issue", async () =>
      (await world.api.tryRepo("GET", `/items/${other}`)).status === 200 ? null : "is no item yet",
    );
    expect(await seen()).toEqual([]);

    await world.pass(91);
    await world.settled();
    expect(await seen()).toEqual(["Left lying", "After it"]);
    expect(await inbox(world, dead.deliveryId)).toEqual([
      expect.objectContaining({ state: "done", attempts: 2 }),
    ]);
  });

  it("can do nothing about it any more when it was only late", async () => {
    const number = repo.as("alice").openIssue({ title: "Before", labels: ["backlog"] });
    await world.settled();
    const late = await takenByTheDead(number, "Taken over");
    await world.pass(91);
    await world.settled();
    const before = await inbox(world, late.deliveryId);
    expect(before).toEqual([expect.objectContaining({ state: "done", attempts: 2 })]);

    let effects = 0;
    await settleDelivery(world.app.deps, late.seq, async () => {
      effects += 1;
    });
    await postponeDelivery(world.db, late.seq, late.attempts, "too late", 5);
    await failDelivery(world.db, late.seq, late.attempts, "too late");
    expect(effects).toBe(0);
    expect(await inbox(world, late.deliveryId)).toEqual(before);
  });

  it("does not fail what another process is working on now", async () => {
    const number = repo.as("alice").openIssue({ title: "Before", labels: ["backlog"] });
    await world.settled();
    const first = await takenByTheDead(number, "Slow");
    // Taken over, and not done yet.
    await world.db.updateTable("inbox").set({ locked_until: null }).where("seq", "=", first.seq).execute();
    const second = await takeDelivery(world.db, { repositoryId: repo.id, lane: `issue:${number}` });
    expect(second).toMatchObject({ seq: first.seq, attempts: 2 });
    await failDelivery(world.db, first.seq, first.attempts, "too late");
    await postponeDelivery(world.db, first.seq, first.attempts, "too late", 500);
    expect(await inbox(world, first.deliveryId)).toEqual([
      expect.objectContaining({ state: "pending", attempts: 2, error: null }),
    ]);
    expect(await secondsLeft(first.seq)).toBeLessThanOrEqual(0);
    await world.db.transaction().execute((trx) => finishDelivery(trx, first.seq));
  });
});

/** The titles that the issue's mirror takes from now on, in order. */
async function titlesFrom(number: number): Promise<() => Promise<string[]>> {
  const pool = world.app.deps.database.pool;
  await pool.query(`
    create table if not exists title_log (place serial, number integer, title text);
    create or replace function log_title() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' or new.title is distinct from old.title then
        insert into title_log (number, title) values (new.number, new.title);
      end if;
      return new;
    end $$;
    create or replace trigger log_title after insert or update on issue for each row execute function log_title();
    delete from title_log where number = ${number}`);
  return async () => {
    const { rows } = await pool.query<{ title: string }>(
      "select title from title_log where number = $1 order by place",
      [number],
    );
    return rows.map(({ title }) => title);
  };
}

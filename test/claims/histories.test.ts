/**
 * Random histories of claims by several owners, actors and regions, run through the services on a real database and at
 * the same time by the pure rules. Every answer must be the same, and so must what is left behind.
 */

import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Problem } from "../../src/contract/problem.ts";
import { BACKLOG, itemId } from "../../src/domain/record-key.ts";
import { ADMIN, type Caller } from "../../src/services/caller.ts";
import { type ClaimTarget, claim, refOf } from "../../src/services/claim.ts";
import { claimHistory } from "../../src/services/claim-history.ts";
import { claimStatus } from "../../src/services/claim-status.ts";
import type { Deps } from "../../src/services/deps.ts";
import { forget } from "../../src/services/forget.ts";
import { parkItem, unparkItem } from "../../src/services/item-changes.ts";
import { KnownNames } from "../../src/services/known-names.ts";
import { Metrics } from "../../src/services/metrics.ts";
import { release } from "../../src/services/release.ts";
import { remember, update } from "../../src/services/remember.ts";
import { renew } from "../../src/services/renew.ts";
import { inTransaction, type Trx } from "../../src/store/database.ts";
import { lockRecord } from "../../src/store/records.ts";
import { findRepositoryById, type Repository } from "../../src/store/repositories.ts";
import { NOW, TAGS } from "../domain/facts.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";
import { BOUNDS, ClaimModel } from "./support/claim-model.ts";
import { aHistory, CERTAIN, type Step, type TokenChoice } from "./support/history-steps.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  // A clock that stands still between two steps, so that both sides read the same time to the millisecond.
  await database.pool.query(`
    create table test_clock (now timestamptz not null);
    insert into test_clock values ('${NOW.toISOString()}');
    create or replace function db_now() returns timestamptz language sql volatile as 'select now from test_clock'`);
});
afterAll(() => database.drop());

const NUMBER = 1;
const NOTE = { topic: "notes", id: "n1" };

const WANTED: Readonly<Record<string, readonly string[]>> = {
  claim: ["contended", "foreign_region", "granted", "missing", "parked", "poison"],
  renew: ["granted", "missing", "not_holder", "superseded"],
  release: ["missing", "not_holder", "released", "stale", "unclaimed"],
  write: [
    "accepted",
    "claim_released",
    "claim_required",
    "foreign_region",
    "not_holder",
    "stale_token",
    "unissued_token",
  ],
};
const seen = new Map<string, Set<string>>();

it("the services and the pure rules give the same answers, whatever the history", async () => {
  await fc.assert(
    fc.asyncProperty(aHistory, async (steps) => {
      const history = await History.begin();
      for (const step of steps) await history.take(step);
      await history.compareWhatIsLeft();
    }),
    { numRuns: 60, examples: CERTAIN.map((steps) => [steps]) },
  );
  // What no history came to would be proved of nothing.
  const came = Object.fromEntries([...seen].map(([kind, outcomes]) => [kind, [...outcomes].sort()]));
  expect(came).toMatchObject(WANTED);
}, 180_000);

let repositories = 0;

class History {
  readonly #repository: Repository;
  readonly #models = { item: new ClaimModel(true), note: new ClaimModel(false) };
  readonly #issued: number[] = [];
  #now = NOW;
  #writes = 0;

  private constructor(repository: Repository) {
    this.#repository = repository;
  }

  /** One item and one note, in a repository of their own. */
  static async begin(): Promise<History> {
    repositories += 1;
    const id = repositories;
    const { pool } = database;
    await pool.query("update test_clock set now = $1", [NOW]);
    await pool.query("insert into repository (id, owner, name) values ($1, 'acme', $2)", [id, `r${id}`]);
    await pool.query(
      `insert into issue (repository_id, number, id, title, state, html_url, created_at, updated_at)
       values ($1, $2::int, $2::int, 't', 'open', 'u', db_now(), db_now())`,
      [id, NUMBER],
    );
    await pool.query(
      `insert into item (repository_id, number, enrolled, admitted, admission_at, created_at)
       values ($1, $2, true, true, db_now(), db_now())`,
      [id, NUMBER],
    );
    await pool.query(
      `insert into record (repository_id, topic, id, kind, tags)
       values ($1, 'backlog', $2, 'Note', $3), ($1, 'notes', 'n1', 'Note', '{}')`,
      [id, itemId(NUMBER), TAGS],
    );
    const repository = await findRepositoryById(database.db, id);
    if (!repository) throw new Error("the repository was not found");
    return new History(repository);
  }

  async take(step: Step): Promise<void> {
    if (step.kind === "pass") {
      this.#now = new Date(this.#now.getTime() + step.ms);
      await database.pool.query("update test_clock set now = $1", [this.#now]);
    } else if (step.kind === "park" || step.kind === "unpark") await this.#parkOrUnpark(step.kind);
    else await this.#ask(step);
    for (const name of ["item", "note"] as const) {
      const status = await claimStatus(this.#deps("local"), this.#target(name));
      expect(status).toMatchObject(this.#models[name].status(this.#now));
    }
  }

  async compareWhatIsLeft(): Promise<void> {
    for (const name of ["item", "note"] as const) {
      const { claims } = await claimHistory(this.#deps("local"), this.#target(name), { limit: 100 });
      const modelled = this.#models[name].history(this.#now);
      expect(claims).toHaveLength(modelled.length);
      expect(claims).toMatchObject(modelled);
    }
  }

  async #ask(step: Exclude<Step, { kind: "pass" | "park" | "unpark" }>): Promise<void> {
    const name = step.kind === "forget" ? "note" : step.record;
    const model = this.#models[name];
    const target = this.#target(name);
    const { who } = step;
    const deps = this.#deps(who.deployment);
    const caller = { ...ADMIN, actor: who.actor };
    if (step.kind === "claim") {
      const { region, leaseSeconds } = step;
      const answer = await claim(deps, caller, target, { owner: who.owner, region, leaseSeconds });
      const fence = answer.granted ? answer.fencingToken : null;
      if (fence !== null) this.#assertFresh(fence);
      const asked = { ...(region ? { region } : {}), ...(leaseSeconds ? { leaseSeconds } : {}) };
      expect(answer).toMatchObject(model.claim(who, asked, this.#now, fence));
      note("claim", answer.granted ? "granted" : answer.reason);
      return;
    }
    const token = tokenOf(step.token, model.fences);
    if (step.kind === "write" || step.kind === "forget") {
      const answer = await outcomeOf(async () => {
        await (step.kind === "forget"
          ? forget(deps, caller, target, token, null)
          : this.#write(name, deps, caller, token));
        return { accepted: true };
      });
      expect(answer).toEqual(step.kind === "forget" ? model.forget(who, token) : model.write(who, token));
      note("write", answer.refused ?? "accepted");
      return;
    }
    const fencingToken = token ?? 1;
    if (step.kind === "renew") {
      const { leaseSeconds } = step;
      const answer = await outcomeOf(() => renew(deps, caller, target, { fencingToken, leaseSeconds }));
      expect(answer).toEqual(model.renew(who, fencingToken, leaseSeconds, this.#now));
      note("renew", answer.refused ?? (answer.granted ? "granted" : answer.reason));
      return;
    }
    const answer = await outcomeOf(() => release(deps, caller, target, { fencingToken }));
    expect(answer).toEqual(model.release(who, fencingToken));
    note("release", answer.refused ?? (answer.released ? "released" : answer.reason));
  }

  /** Items are there, notes are made by the first write. */
  async #write(name: "item" | "note", deps: Deps, caller: Caller, token: number | null) {
    this.#writes += 1;
    const { owner, name: repo } = this.#repository;
    const address = { repository: { owner, name: repo }, ...NOTE };
    const body = `write ${this.#writes}`;
    if (name === "item") await update(deps, caller, this.#target("item"), token, { body });
    else await remember(deps, caller, address, token, { body });
  }

  /** As a human does it on GitHub. */
  async #parkOrUnpark(kind: "park" | "unpark"): Promise<void> {
    const at = { repository: this.#repository, number: NUMBER };
    const isParked = async (trx: Trx) =>
      (
        await trx
          .selectFrom("item")
          .select("state")
          .where("repository_id", "=", at.repository.id)
          .executeTakeFirstOrThrow()
      ).state === "parked";
    await inTransaction(database.db, async (trx) => {
      await lockRecord(trx, refOf(this.#target("item")));
      const parked = await isParked(trx);
      if (kind === "park" && !parked)
        await parkItem(trx, at, { by: "alice", reason: "r", eventAt: this.#now });
      if (kind === "unpark" && parked) await unparkItem(trx, at, "alice", this.#now);
    });
    this.#models.item[kind]();
  }

  /** Above every token of the record, and never issued before, on whatever record. */
  #assertFresh(fence: number): void {
    for (const earlier of this.#issued) expect(fence).toBeGreaterThan(earlier);
    this.#issued.push(fence);
  }

  #target(name: "item" | "note"): ClaimTarget {
    const ref = name === "item" ? { topic: BACKLOG, id: itemId(NUMBER) } : NOTE;
    return { repository: this.#repository, ...ref };
  }

  #deps(region: string): Deps {
    const nothing = () => {};
    const wake = { inbox: nothing, outbox: nothing, backfill: nothing };
    const names = new KnownNames();
    const used = {
      database,
      db: database.db,
      region,
      lease: BOUNDS,
      replica: "r",
      wake,
      names,
      // Hours pass, and no GitHub is there to be heard from; that rule has tests of its own.
      mirrors: { refusal: async () => null },
      metrics: new Metrics(),
      github: { app: null },
    };
    // Without waiting and without GitHub, nothing else is asked for.
    return used as unknown as Deps;
  }
}

function tokenOf(choice: TokenChoice, fences: readonly number[]): number | null {
  const mark = fences.at(-1) ?? 7;
  switch (choice) {
    case "mark":
      return mark;
    case "older":
      return fences.at(-2) ?? mark - 1;
    case "below":
      return mark - 1;
    case "above":
      return mark + 1;
    case "none":
      return null;
  }
}

/** What a caller is told; a problem as its code. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are compared with the model's
async function outcomeOf(work: () => Promise<object>): Promise<any> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem) return { refused: error.code };
    throw error;
  }
}

function note(kind: string, outcome: string): void {
  seen.set(kind, (seen.get(kind) ?? new Set()).add(outcome));
}

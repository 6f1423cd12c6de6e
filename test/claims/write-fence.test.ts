/**
 * A fenced write passes the fence in SQL (`judge_write`, `pass_fence`), in the call that writes. Here it is held against
 * the pure decision (`decideWrite`, `admitsBelow`): on every state and token up to a bound, and on random claims of an
 * item and of the epic above it.
 */

import fc from "fast-check";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import { admitsBelow, decideWrite, type FenceState } from "../../src/domain/fence.ts";
import { itemRef } from "../../src/domain/record-key.ts";
import { findRecord } from "../../src/store/records.ts";
import { writeRecord } from "../../src/store/write-record.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const ACTORS = ["ann", "bob"];
const REGIONS = ["local", "eu"];

it("every state and every token: the same verdict", async () => {
  const tokens = [null, 1, 2, 3];
  const states: (FenceState | null)[] = [
    null,
    ...[true, false].flatMap((live) =>
      ACTORS.flatMap((actor) => REGIONS.map((region) => ({ mark: 2, live, actor, region }))),
    ),
  ];
  const seen = new Set<string>();
  for (const state of states) {
    for (const token of tokens) {
      const verdict = decideWrite(state, { token, actor: "ann", region: "local" });
      const { rows } = await sql<{ code: string | null }>`
        select judge_write(${state?.mark ?? null}::bigint, ${state?.live ?? null}::boolean, ${state?.actor ?? null}::text,
          ${state?.region ?? null}::text, ${token}::bigint, 'ann', 'local') as code`.execute(database.db);
      const meant = verdict.accepted ? null : verdict.code;
      expect(rows[0]?.code, JSON.stringify({ state, token })).toBe(meant);
      seen.add(meant ?? "accepted");
    }
  }
  expect([...seen].sort()).toEqual([
    "accepted",
    "claim_released",
    "claim_required",
    "foreign_region",
    "not_holder",
    "stale_token",
    "unissued_token",
  ]);
});

const aClaim = fc.record({
  mark: fc.integer({ min: 1, max: 4 }),
  live: fc.boolean(),
  actor: fc.constantFrom(...ACTORS),
  region: fc.constantFrom("local", "local", "eu"),
  scope: fc.constantFrom<"item" | "subtree">("item", "subtree"),
});
const aCase = fc.record({
  item: fc.option(aClaim),
  epic: fc.option(aClaim, { freq: 5 }),
  token: fc.option(fc.integer({ min: 1, max: 5 }), { freq: 8 }),
});
type Case = typeof aCase extends fc.Arbitrary<infer Value> ? Value : never;
type Claim = NonNullable<Case["item"]>;

let last = 0;
/** An epic with one part; answers the numbers of both. */
async function write({ item, epic }: Case): Promise<{ above: number; below: number }> {
  const [above, below] = [last + 1, last + 2];
  last = below;
  const { pool } = database;
  for (const number of [above, below]) {
    await pool.query(
      "insert into item (repository_id, number, admitted, admission_at, created_at) values (10, $1, true, now(), now())",
      [number],
    );
    await pool.query(
      "insert into record (repository_id, topic, id, kind, body) values (10, 'backlog', $1, 'Note', 'before')",
      [`issue-${number}`],
    );
  }
  await pool.query(
    `insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
     values (10, 'backlog', $1, 'partOf', 10, $2)`,
    [`issue-${below}`, `mem/backlog/issue-${above}`],
  );
  const claim = (number: number, { mark, live, actor, region, scope }: Claim) =>
    pool.query(
      `insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at, lease_expires_at)
       values (10, 'backlog', $1, $2, $3, 'w/a', $4, $5, $6, 60, now(), now())`,
      [`issue-${number}`, mark, live, actor, region, scope],
    );
  if (item) await claim(below, item);
  if (epic) await claim(above, epic);
  return { above, below };
}

/** As `passFence` decides: the item's own claim first, then the subtree claim above it that has this token. */
function meaning({ item, epic, token }: Case): string | null {
  const attempt = { token, actor: "ann", region: "local" };
  const verdict = decideWrite(item, attempt);
  if (verdict.accepted) return null;
  const isAbove = epic?.scope === "subtree" && epic.live && epic.mark === token;
  return isAbove && admitsBelow(epic, item, attempt) ? null : verdict.code;
}

it("the item's own claim and the epic's: what is refused for which reason, and nothing written", async () => {
  await database.pool.query("insert into repository (id, owner, name) values (10, 'o', 'r')");
  const seen = new Set<string>();
  let admittedBelow = 0;
  await fc.assert(
    fc.asyncProperty(aCase, async (given) => {
      const { below } = await write(given);
      const ref = itemRef(10, below);
      const answer = await writeRecord(database.db, {
        ref,
        token: given.token,
        actor: "ann",
        region: "local",
        given: { body: "after" },
        addTags: [],
        removeTags: [],
        create: false,
      });
      const meant = meaning(given);
      expect(answer.refused ?? null).toBe(meant);
      expect((await findRecord(database.db, ref))?.body).toBe(meant === null ? "after" : "before");
      seen.add(meant ?? "accepted");
      const own = decideWrite(given.item, { token: given.token, actor: "ann", region: "local" });
      if (meant === null && !own.accepted) admittedBelow += 1;
    }),
    {
      numRuns: 300,
      examples: [
        [
          {
            item: { mark: 1, live: false, actor: "bob", region: "local", scope: "item" },
            epic: { mark: 3, live: true, actor: "ann", region: "local", scope: "subtree" },
            token: 3,
          },
        ],
      ],
    },
  );
  expect(admittedBelow).toBeGreaterThan(0);
  expect(seen.size).toBe(7);
}, 120_000);

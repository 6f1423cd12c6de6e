/**
 * The ready set is found through indexes; what it means is said by a pure function of all items. Both answer the same on
 * random backlogs: the same lists in the same order, for the same reasons, with the same counts.
 */

import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ReadyAnswer } from "../../src/contract/items.ts";
import { tellingDefects } from "../../src/domain/defects.ts";
import { EVERYTHING } from "../../src/domain/scope.ts";
import type { Deps } from "../../src/services/deps.ts";
import { defectBody } from "../../src/services/item-body.ts";
import { ready } from "../../src/services/ready.ts";
import { readyAnswer } from "../../src/services/ready-below.ts";
import { listItemViews } from "../../src/store/item-facts.ts";
import { findRepositoryById, type Repository } from "../../src/store/repositories.ts";
import {
  aBacklog,
  type Backlog,
  backlog,
  checkAll,
  FREE,
  type Item,
  NUMBERS,
  writeMany,
} from "../claims/support/backlogs.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  // Each connection plans each statement a few times before it keeps the plan.
  database = await testDatabase({ pool: 4 });
});
afterAll(() => database.drop());

const IN_FLIGHT = { live: true, owner: "w/a", scope: "item", leaseEndsIn: 600 } as const;
type Change = { [Key in keyof Item]?: Item[Key] | undefined };
const items = (change: (number: number) => Change): Item[] =>
  NUMBERS.map((number) => ({ ...FREE, ...change(number) }) as Item);
const RARE: Backlog[] = [
  // Overlaps of every kind with what is in flight, and with what lies in a pull request.
  {
    ...backlog({}),
    items: items((n) => (n === 1 ? { claim: IN_FLIGHT, anchors: ["src/"] } : { anchors: ["src/a.ts"] })),
  },
  {
    ...backlog({}),
    items: items((n) => (n === 1 ? { review: "in_review", anchors: ["docs/*.md"] } : { anchors: ["docs"] })),
  },
  { ...backlog({}), items: items((n) => (n < 3 ? { review: "resumable", anchors: ["src/a.ts"] } : {})) },
  // Nothing ready.
  { ...backlog({}), items: items(() => ({ state: "complete" })) },
  { ...backlog({}), items: items((n) => (n === 1 ? { claim: IN_FLIGHT } : { admitted: false })) },
  {
    ...backlog({}),
    items: items((n) => (n === 1 ? { claim: IN_FLIGHT, anchors: ["src"] } : { anchors: ["src/b.ts"] })),
  },
  { ...backlog({}), items: items(() => ({ more: ["state:done"] })) },
  // Below a claimed epic, and beside an integration that is worked on.
  {
    ...backlog(
      { claim: { ...IN_FLIGHT, scope: "subtree" } },
      {
        partOf: [
          [3, 1],
          [4, 1],
        ],
      },
    ),
  },
  {
    ...backlog(
      {},
      {
        partOf: [
          [3, 1],
          [4, 1],
        ],
        integrates: [3, 1],
      },
    ),
    items: items((n) => (n === 3 ? { claim: IN_FLIGHT } : {})),
  },
  { ...backlog({}), items: items(() => ({ attempts: 3 })) },
  // Nothing but a resource that others hold is in the way.
  {
    ...backlog({}, { leases: [{ key: "db", holder: 0, endsIn: 600 }] }),
    items: items(() => ({ resources: ["resource:db"] })),
  },
];

const aRegion = fc.constantFrom(null, "local", "eu");

/** Written and read together: the cost is in the round trips. */
const AT_ONCE = 50;
const RUNS = 40;

interface Case {
  readonly backlog: Backlog;
  readonly region: string | null;
  readonly requireAnchors: boolean;
  readonly limit: number;
}
const aCase: fc.Arbitrary<Case> = fc.record({
  backlog: aBacklog,
  region: aRegion,
  requireAnchors: fc.boolean(),
  // Now and then a list is cut where the other is.
  limit: fc.constantFrom(100, 100, 100, 1, 2, 3),
});

it("the lists, their order, the reasons, the totals and the verdict", async () => {
  const verdicts = new Set<string>();
  const deps = { db: database.db } as Deps;
  const agree = async (cases: readonly Case[]): Promise<void> => {
    const ids = await writeMany(
      database.pool,
      cases.map((each) => each.backlog),
    );
    await checkAll(database.db);
    const answers = await Promise.all(
      cases.map(async ({ region, requireAnchors, limit }, index) => {
        const written = await findRepositoryById(database.db, ids[index] ?? 0);
        if (!written) throw new Error("the repository was not written");
        const repository = { ...written, settings: { ...written.settings, requireAnchors } };
        const query = { limit, ...(region === null ? {} : { region }) };
        return [
          await ready(deps, repository, query, EVERYTHING),
          await meaning(deps, repository, query),
        ] as const;
      }),
    );
    for (const [found, meant] of answers) {
      expect(comparable(found)).toEqual(comparable(meant));
      verdicts.add(found.verdict);
    }
  };
  await agree(RARE.map((each) => ({ backlog: each, region: null, requireAnchors: false, limit: 100 })));
  await fc.assert(fc.asyncProperty(fc.array(aCase, { minLength: AT_ONCE, maxLength: AT_ONCE }), agree), {
    numRuns: RUNS,
    endOnFailure: true,
  });
  // Random backlogs that never came to a verdict would prove nothing about it.
  expect([...verdicts].sort()).toEqual(["alarm", "idle", "overlapping", "ready", "waiting"]);
}, 600_000);

/** What the pure function says of all items; the defects of those that have ended are told of, too. */
async function meaning(deps: Deps, repository: Repository, query: { limit: number; region?: string }) {
  const all = await listItemViews(deps.db, repository.id, repository.settings, {
    after: 0,
    limit: 100,
    view: EVERYTHING,
  });
  const open = all.items.filter(({ facts }) => facts.state === null || facts.state === "parked");
  const answer = await readyAnswer(deps, repository, { ...all, items: open }, query, EVERYTHING);
  const defects = all.items.flatMap((item) => tellingDefects(item.facts, item.defects)).map(defectBody);
  const totals = { ...answer.totals, defects: defects.length };
  return { ...answer, defects: defects.slice(0, query.limit), totals };
}

/** Defects are kept in the order they were found, and told of here in any. When they were found is no part of the meaning. */
function comparable({ defects, ready, ...rest }: ReadyAnswer) {
  return {
    ...rest,
    ready: ready.map((item) => ({ ...item, defects: item.defects.map(({ since: _, ...defect }) => defect) })),
    defects:
      rest.totals.defects > defects.length
        ? defects.length
        : defects.map(({ code, number, value }) => `${number} ${code} ${value}`).sort(),
  };
}

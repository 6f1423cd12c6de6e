/**
 * The ready set is found through indexes; what it means is said by a pure function of all items. Both answer the same on
 * random backlogs: the same lists in the same order, for the same reasons, with the same counts.
 */

import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ReadyAnswer } from "../../src/contract/items.ts";
import { tellingDefects } from "../../src/domain/defects.ts";
import { EVERYTHING } from "../../src/domain/scope.ts";
import { checkItems } from "../../src/services/check-items.ts";
import type { Deps } from "../../src/services/deps.ts";
import { defectBody } from "../../src/services/item-body.ts";
import { ready } from "../../src/services/ready.ts";
import { readyAnswer } from "../../src/services/ready-below.ts";
import { listItemViews, openItems } from "../../src/store/item-facts.ts";
import { findRepositoryById, type Repository } from "../../src/store/repositories.ts";
import {
  aBacklog,
  type Backlog,
  backlog,
  FREE,
  type Item,
  NUMBERS,
  writeBacklog,
} from "../claims/support/backlogs.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
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
];

const aRegion = fc.constantFrom(null, "local", "eu");

it("the lists, their order, the reasons, the totals and the verdict", async () => {
  const verdicts = new Set<string>();
  const deps = { db: database.db } as Deps;
  await fc.assert(
    fc.asyncProperty(aBacklog, aRegion, fc.boolean(), async (backlog, region, requireAnchors) => {
      const written = await findRepositoryById(database.db, await writeBacklog(database.pool, backlog));
      if (!written) throw new Error("the repository was not written");
      const repository = { ...written, settings: { ...written.settings, requireAnchors } };
      while (await checkItems(database.db));
      const query = { limit: 100, ...(region === null ? {} : { region }) };
      const found = await ready(deps, repository, query, EVERYTHING);
      expect(comparable(found)).toEqual(comparable(await meaning(deps, repository, query)));
      verdicts.add(found.verdict);
    }),
    { numRuns: 120, examples: RARE.map((each): [Backlog, null, boolean] => [each, null, false]) },
  );
  // Random backlogs that never came to a verdict would prove nothing about it.
  expect([...verdicts].sort()).toEqual(["alarm", "idle", "overlapping", "ready", "waiting"]);
}, 240_000);

it("a list is cut where the other is", async () => {
  const deps = { db: database.db } as Deps;
  const backlogs = fc.tuple(aBacklog, fc.integer({ min: 1, max: 3 }));
  await fc.assert(
    fc.asyncProperty(backlogs, async ([backlog, limit]) => {
      const repository = await findRepositoryById(database.db, await writeBacklog(database.pool, backlog));
      if (!repository) throw new Error("the repository was not written");
      while (await checkItems(database.db));
      const meant = await meaning(deps, repository, { limit });
      expect(comparable(await ready(deps, repository, { limit }, EVERYTHING))).toEqual(comparable(meant));
    }),
    { numRuns: 30 },
  );
}, 120_000);

/** What the pure function says of all items; the defects of those that have ended are told of, too. */
async function meaning(deps: Deps, repository: Repository, query: { limit: number; region?: string }) {
  const { db } = deps;
  const page = await openItems(db, repository.id, repository.settings, EVERYTHING);
  const answer = await readyAnswer(deps, repository, page, query, EVERYTHING);
  const all = await listItemViews(db, repository.id, repository.settings, {
    after: 0,
    limit: 100,
    view: EVERYTHING,
  });
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

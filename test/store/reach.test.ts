/** What a scope reaches, against an independent walk over random graphs with circles in them. */

import fc from "fast-check";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Scope } from "../../src/domain/scope.ts";
import { reaches } from "../../src/store/reach.ts";
import { backlog, NUMBERS, writeBacklog } from "../claims/support/backlogs.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

async function reached(repository: number, scope: Scope | null): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select i.number from item i where i.repository_id = ${repository}
      and ${reaches(scope, sql.ref("i.repository_id"), sql.ref("i.number"))} order by 1`.execute(database.db);
  return rows.map(({ number }) => number);
}

const rootsOf = (repositoryId: number, ...numbers: number[]) =>
  numbers.map((number) => ({ repositoryId, number }));

/** A repository of six items with these "part of" edges. */
async function write(edges: readonly (readonly [part: number, epic: number])[], first = {}): Promise<number> {
  const id = await writeBacklog(database.pool, backlog(first));
  for (const [part, epic] of edges) {
    await database.pool.query(
      `insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
       values ($1, 'backlog', $2, 'partOf', $1, $3) on conflict do nothing`,
      [id, `issue-${part}`, `mem/backlog/issue-${epic}`],
    );
  }
  return id;
}

/** 2 is part of 1, 3 of 2, 4 of 5, and 6 stands alone. */
const tree = (first = {}) =>
  write(
    [
      [2, 1],
      [3, 2],
      [4, 5],
    ],
    first,
  );

describe("a scope", () => {
  it("with a root reaches it and all below it, at any depth", async () => {
    const id = await tree();
    expect(await reached(id, { roots: rootsOf(id, 1), tags: null })).toEqual([1, 2, 3]);
    expect(await reached(id, { roots: rootsOf(id, 2, 5), tags: null })).toEqual([2, 3, 4, 5]);
  });

  it("of another repository's root reaches nothing here, whatever the number", async () => {
    const id = await tree();
    expect(await reached(id, { roots: rootsOf(id - 1, 1), tags: null })).toEqual([]);
  });

  it("with no roots, or no tags, in its list reaches nothing; no scope reaches all", async () => {
    const id = await tree();
    expect(await reached(id, { roots: [], tags: null })).toEqual([]);
    expect(await reached(id, { roots: null, tags: [] })).toEqual([]);
    expect(await reached(id, null)).toEqual(NUMBERS);
  });

  it("with tags looks at an item's own only; with both, both must hold", async () => {
    const id = await tree({ more: ["team:red"] });
    expect(await reached(id, { roots: null, tags: ["team:red", "team:blue"] })).toEqual([1]);
    expect(await reached(id, { roots: rootsOf(id, 2), tags: ["team:red"] })).toEqual([]);
    expect(await reached(id, { roots: rootsOf(id, 1), tags: ["team:red"] })).toEqual([1]);
  });

  it("agrees with a walk from each item upwards, circles included", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(NUMBERS),
        fc.array(fc.tuple(fc.constantFrom(...NUMBERS), fc.constantFrom(...NUMBERS)), { maxLength: 8 }),
        async (roots, edges) => {
          const id = await write(edges);
          const seen = (number: number, walked: Set<number>): boolean => {
            if (roots.includes(number)) return true;
            if (walked.has(number)) return false;
            walked.add(number);
            return edges.some(([part, epic]) => part === number && seen(epic, walked));
          };
          const wanted = NUMBERS.filter((number) => seen(number, new Set()));
          expect(await reached(id, { roots: rootsOf(id, ...roots), tags: null })).toEqual(wanted);
        },
      ),
      { numRuns: 40 },
    );
  });
});

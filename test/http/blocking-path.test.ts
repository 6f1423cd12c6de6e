/** The search for a cycle, on graphs that are larger than anybody writes by hand. */

import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { edgePath } from "../../src/store/edges.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

const REPOSITORY = 10;
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const target = (number: number) => `mem/backlog/issue-${number}`;

async function edges(pairs: readonly (readonly [number, number])[], repository = REPOSITORY): Promise<void> {
  const rows = pairs.map(([from, to]) => ({
    repository_id: repository,
    topic: "backlog",
    id: `issue-${from}`,
    relation: "blockedBy",
    target_repository_id: repository,
    target: target(to),
  }));
  await database.db.insertInto("record_link").values(rows).execute();
}

/** Fails, instead of hanging, when the search visits every path. */
const path = (from: number, to: number, repository = REPOSITORY) =>
  database.db.transaction().execute(async (trx) => {
    await sql`set local statement_timeout = '5s'`.execute(trx);
    const way = await edgePath(
      trx,
      "blockedBy",
      { repositoryId: repository, target: target(from) },
      { repositoryId: repository, target: target(to) },
    );
    return way?.map((step) => step.target) ?? null;
  });

describe("the search for a cycle", () => {
  it("visits each item once, however many ways lead to it", async () => {
    // 30 layers of 3, each item blocked by all three below: 3^29 paths from top to bottom.
    const layers = Array.from({ length: 30 }, (_, layer) => [1, 2, 3].map((n) => 1000 + layer * 10 + n));
    await edges(
      layers
        .slice(1)
        .flatMap((upper, n) => upper.flatMap((from) => (layers[n] ?? []).map((to) => [from, to] as const))),
    );
    expect(await path(1291, 1001)).toHaveLength(30);
    expect(await path(1001, 1291)).toBeNull();
  });

  it("answers the shortest way, both ends included", async () => {
    await edges([
      [1, 2],
      [2, 3],
      [3, 4],
      [1, 4],
    ]);
    expect(await path(1, 4)).toEqual([target(1), target(4)]);
    expect(await path(2, 4)).toEqual([target(2), target(3), target(4)]);
    expect(await path(5, 5)).toEqual([target(5)]);
  });

  it("ends in a graph that has a cycle already", async () => {
    await edges([
      [21, 22],
      [22, 23],
      [23, 21],
    ]);
    expect(await path(21, 99)).toBeNull();
    expect(await path(22, 21)).toEqual([target(22), target(23), target(21)]);
  });

  it("does not mix up repositories that use the same numbers", async () => {
    await edges([[31, 32]], 10);
    await edges([[32, 33]], 11);
    expect(await path(31, 33, 10)).toBeNull();
    expect(await path(32, 33, 11)).toEqual([target(32), target(33)]);
  });

  it("follows an edge into another repository", async () => {
    await database.db
      .insertInto("record_link")
      .values({
        repository_id: 12,
        topic: "backlog",
        id: "issue-1",
        relation: "blockedBy",
        target_repository_id: 13,
        target: target(1),
      })
      .execute();
    await edges([[1, 2]], 13);
    const found = await edgePath(
      database.db,
      "blockedBy",
      { repositoryId: 12, target: target(1) },
      { repositoryId: 13, target: target(2) },
    );
    expect(found).toEqual([
      { repositoryId: 12, target: target(1) },
      { repositoryId: 13, target: target(1) },
      { repositoryId: 13, target: target(2) },
    ]);
  });
});

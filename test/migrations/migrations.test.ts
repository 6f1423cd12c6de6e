/** Migrations: applied once however many start together, whole or not at all, and with rows in place. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/store/database.ts";
import { migrate, migrationState } from "../../src/store/migrate.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";
import { type Contents, contentsOf, lostRows, tableNames } from "./support/contents.ts";
import { folderWith, migrationNames, numberOf, ROWS } from "./support/migration-files.ts";

const databases: TestDatabase[] = [];
async function opened(options: { empty?: boolean }): Promise<TestDatabase> {
  const database = await testDatabase(options);
  databases.push(database);
  return database;
}
const emptyDatabase = () => opened({ empty: true });
/** As a clone of one that this program migrated. */
const migratedDatabase = () => opened({});
afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop();
});

const recorded = async ({ pool }: TestDatabase): Promise<string[]> => {
  const { rows } = await pool.query<{ name: string }>("select name from schema_migration order by name");
  return rows.map(({ name }) => name);
};

describe("migrating", () => {
  it("an empty database by twenty processes at once applies each migration once", async () => {
    const database = await emptyDatabase();
    const others = Array.from({ length: 20 }, () => openDatabase(database.url, 3, () => {}));
    const applied = await Promise.all(others.map((other) => migrate(other)));
    const names = await migrationNames();
    expect(applied.filter((list) => list.length > 0)).toEqual([names]);
    expect(await recorded(database)).toEqual(names);
    expect(await migrationState(database.db)).toEqual({ applied: names.at(-1), pending: 0 });
    await Promise.all(others.map((other) => other.close()));
  });

  it("makes the tables of the background jobs too", async () => {
    const database = await migratedDatabase();
    const { rows } = await database.pool.query(
      "select (graphile_worker.add_job('inbox', '{}')).id is not null as made",
    );
    expect(rows).toEqual([{ made: true }]);
  });

  it("again changes nothing", async () => {
    const database = await migratedDatabase();
    await database.pool.query(await readFile(join(ROWS, "0001.sql"), "utf8"));
    const before = await contentsOf(database.pool);
    expect(await migrate(database)).toEqual([]);
    expect(await contentsOf(database.pool)).toEqual(before);
  });

  it("says how many are missing before it is done", async () => {
    const database = await emptyDatabase();
    const names = await migrationNames();
    expect(await migrationState(database.db)).toEqual({ applied: null, pending: names.length });
  });
});

describe("a migration that fails", () => {
  const BROKEN = "create table half_done (id bigint); insert into half_done values (1); select 1 / 0;";

  it("leaves nothing half done, and is named", async () => {
    const database = await migratedDatabase();
    const names = await migrationNames();
    const before = await contentsOf(database.pool);

    const broken = migrate(database, await folderWith(names, { "9001_broken": BROKEN }));
    await expect(broken).rejects.toThrow(/9001_broken.*division by zero/);
    expect(await contentsOf(database.pool)).toEqual(before);
    expect(await recorded(database)).toEqual(names);

    const mended = await folderWith(names, { "9001_broken": BROKEN.replace("1 / 0", "1") });
    expect(await migrate(database, mended)).toEqual(["9001_broken"]);
    expect(await tableNames(database.pool)).toContain("half_done");
  });

  it("takes those before it in the same start back too, and the next start can go on", async () => {
    const database = await emptyDatabase();
    const broken = await folderWith([], {
      "0001_fine": "create table fine (id bigint);",
      "0002_broken": BROKEN,
      "0003_never": "create table never (id bigint);",
    });
    await expect(migrate(database, broken)).rejects.toThrow(/0002_broken/);
    expect(await tableNames(database.pool)).toEqual([]);
    const names = await migrationNames();
    expect(await migrate(database)).toEqual(names);
  });

  it("frees the lock: the next process is not kept waiting", async () => {
    const database = await emptyDatabase();
    const folder = await folderWith([], { "0001_broken": "select 1 / 0;" });
    await expect(migrate(database, folder)).rejects.toThrow(/0001_broken/);
    const other = openDatabase(database.url, 3, () => {});
    await expect(migrate(other)).resolves.toEqual(await migrationNames());
    await other.close();
  });
});

describe("a program that is older than its database", () => {
  it("refuses to start, and names what it does not know", async () => {
    const database = await migratedDatabase();
    const names = await migrationNames();
    await migrate(database, await folderWith(names, { "9001_newer": "create table newer (id bigint);" }));
    await expect(migrate(database)).rejects.toThrow(/9001_newer/);
    expect(await tableNames(database.pool)).toContain("newer");
  });
});

describe("with rows in place", () => {
  it("every migration has its rows, in every table that it leaves", async () => {
    const database = await emptyDatabase();
    const names = await migrationNames();
    for (const [index, name] of names.entries()) {
      await migrate(database, await folderWith(names.slice(0, index + 1)));
      const rows = join(ROWS, `${numberOf(name)}.sql`);
      const tables = await contentsOf(database.pool);
      const added = [...tables].filter(([, content]) => content.length === 0).map(([table]) => table);
      // A migration that makes no table may do without.
      if (existsSync(rows)) await database.pool.query(await readFile(rows, "utf8"));
      const left = [...(await contentsOf(database.pool))].filter(([, content]) => content.length === 0);
      expect(
        left.map(([table]) => table),
        `test/migrations/rows/${numberOf(name)}.sql has no row for a table (new: ${added.join(", ")})`,
      ).toEqual([]);
    }
  });

  it("no row is lost on the way to the newest schema", async () => {
    const database = await emptyDatabase();
    const names = await migrationNames();
    const stages: [string, Contents][] = [];
    for (const [index, name] of names.entries()) {
      await migrate(database, await folderWith(names.slice(0, index + 1)));
      const rows = join(ROWS, `${numberOf(name)}.sql`);
      if (existsSync(rows)) await database.pool.query(await readFile(rows, "utf8"));
      stages.push([name, await contentsOf(database.pool)]);
    }
    const now = await contentsOf(database.pool);
    for (const [name, before] of stages) expect(lostRows(before, now), `of those after ${name}`).toEqual([]);
  });

  it("the comparison notices a row that is lost, and one that is changed", () => {
    const before: Contents = new Map([
      [
        "t",
        [
          { id: 1, name: "a", old: true },
          { id: 2, name: "b", old: true },
        ],
      ],
    ]);
    const same: Contents = new Map([
      [
        "t",
        [
          { id: 2, name: "b", fresh: 0 },
          { id: 1, name: "a", fresh: 0 },
        ],
      ],
    ]);
    expect(lostRows(before, same)).toEqual([]);
    const lost: Contents = new Map([["t", [{ id: 1, name: "a" }]]]);
    expect(lostRows(before, lost)).toEqual([{ table: "t", row: { id: 2, name: "b", old: true } }]);
    const changed: Contents = new Map([
      [
        "t",
        [
          { id: 1, name: "a" },
          { id: 2, name: "c" },
        ],
      ],
    ]);
    expect(lostRows(before, changed)).toHaveLength(1);
    expect(lostRows(before, new Map())).toHaveLength(2);
  });

  it("the fence goes on above every token that was granted", async () => {
    const database = await migratedDatabase();
    await database.pool.query(await readFile(join(ROWS, "0001.sql"), "utf8"));
    await migrate(database);
    const { rows } = await database.pool.query(
      "select next_fence(45) as low, next_fence(1767484800000) as high",
    );
    expect(rows[0].low).toBeGreaterThan(45);
    expect(rows[0].high).toBeGreaterThan(1_767_484_800_000);
  });
});

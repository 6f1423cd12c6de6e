/** Names of repositories are remembered for a moment, and no longer. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { KnownNames } from "../../src/services/known-names.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";

describe("known names", () => {
  let database: TestDatabase;
  let now = 0;
  let names: KnownNames;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    now = 0;
    names = new KnownNames(() => now);
    await database.pool.query("truncate repository");
    await database.pool.query("insert into repository (id, owner, name) values (10, 'acme', 'widgets')");
  });
  const found = async (name = "widgets") =>
    (await names.find(database.db, { owner: "Acme", name }))?.id ?? null;
  const rename = () => database.pool.query("update repository set name = 'gadgets' where id = 10");

  it("serves what was found less than a second ago, and then asks anew", async () => {
    expect(await found()).toBe(10);
    await rename();
    now = 999;
    expect(await found("WIDGETS")).toBe(10);
    now = 1000;
    expect(await found()).toBeNull();
    expect(await found("gadgets")).toBe(10);
  });

  it("asks anew at once when told to", async () => {
    expect(await found()).toBe(10);
    await rename();
    names.forget();
    expect(await found()).toBeNull();
  });

  it("does not remember that a name is nobody's", async () => {
    expect(await found("gadgets")).toBeNull();
    await rename();
    expect(await found("gadgets")).toBe(10);
  });

  it("does not remember what only an open transaction sees", async () => {
    const undone = database.db.transaction().execute(async (trx) => {
      await trx.updateTable("repository").set({ name: "gadgets" }).where("id", "=", 10).execute();
      expect((await names.find(trx, { owner: "acme", name: "gadgets" }))?.id).toBe(10);
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect(await found("gadgets")).toBeNull();
  });

  it("keeps no transaction waiting for a question that waits for its connection", async () => {
    const narrow = await testDatabase({ pool: 1 });
    await narrow.pool.query("insert into repository (id, owner, name) values (10, 'acme', 'widgets')");
    const name = { owner: "acme", name: "widgets" };
    let outside: ReturnType<typeof names.find> | null = null;
    const inside = await narrow.db.transaction().execute(async (trx) => {
      outside = names.find(narrow.db, name);
      return names.find(trx, name);
    });
    expect(inside?.id).toBe(10);
    await outside;
    await narrow.drop();
  });

  it("asks again after a failure", async () => {
    const closed = await testDatabase();
    await closed.drop();
    await expect(names.find(closed.db, { owner: "acme", name: "widgets" })).rejects.toThrow();
    expect(await found()).toBe(10);
  });
});

describe("two processes", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ unconfigured: true });
  });
  afterAll(() => world.end());

  it("are told by the database that a name went over to another repository", async () => {
    const replica = await world.secondReplica();
    await world.api.repo("PUT", "/memory/notes/a", { body: { title: "of the first" } });
    const title = async () => (await replica.api.repo("GET", "/memory/notes/a")).title;
    expect(await title()).toBe("of the first");
    const began = performance.now();
    await world.app.deps.database.pool.query(`
      begin;
      update repository set current_name = false where owner = 'acme' and name = 'widgets';
      insert into repository (id, owner, name) values (777, 'acme', 'widgets');
      insert into record (repository_id, topic, id, kind, title) values (777, 'notes', 'a', 'Note', 'of the second');
      commit`);
    await waitFor("the new name", async () => ((await title()) === "of the second" ? null : "the old one"));
    // The second that a name is remembered would be over by then if nobody had told.
    expect(performance.now() - began).toBeLessThan(900);
    await replica.stop();
  });
});

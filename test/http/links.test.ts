/** Links (protocol 2 and 5): kept as keys, never pruned; edges that would starve an item are refused. */

import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { Answer } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

/** Items of the backlog, one per title. */
async function items(...titles: string[]): Promise<number[]> {
  const numbers = titles.map((title) => repo.as("alice").openIssue({ title, labels: ["backlog"] }));
  await world.settled();
  return numbers;
}
const pathOf = (number: number) => `/memory/backlog/issue-${number}`;
const keyOf = (number: number) => `repo/acme/widgets/mem/backlog/issue-${number}`;
const block = (number: number, ...keys: string[]) =>
  world.api.tryRepo("PATCH", pathOf(number), { body: { links: { add: { blockedBy: keys } } } });
const links = async (number: number) => (await world.api.repo("GET", pathOf(number))).links;
const put = (id: string, links: object) =>
  world.api.tryRepo("PUT", `/memory/notes/${id}`, { body: { links } });

const edgeRefused = { status: 409, code: "edge_refused" };

describe("a key", () => {
  it("is the same in its short and its whole form, in any case of the repository's name", async () => {
    const answer = await put("forms", {
      related: ["mem/notes/a", "repo/acme/widgets/mem/notes/a", "repo/ACME/Widgets/mem/notes/a"],
      anchoredTo: ["file/src/a b.ts", "repo/acme/widgets/file/src/a b.ts"],
    });
    expect(answer.body.links).toEqual({
      related: ["repo/acme/widgets/mem/notes/a"],
      anchoredTo: ["repo/acme/widgets/file/src/a b.ts"],
    });
  });

  it("into a repository that nobody knows here is kept as it was written", async () => {
    const key = "repo/elsewhere/gadgets/mem/notes/a";
    expect((await put("foreign", { related: [key] })).body.links).toEqual({ related: [key] });
  });

  it.each([
    "notes/a",
    "mem/notes",
    "mem/notes/a/b",
    "mem/Notes/a",
    "mem/notes/a b",
    "file/",
    "file//etc/passwd",
    "repo/acme/mem/notes/a",
    "repo/ac me/widgets/mem/notes/a",
    "https://github.com/acme/widgets/issues/1",
    "#7",
    "",
    " mem/notes/a",
  ])("that is none is refused by its field: %j", async (key) => {
    const answer = await put("malformed", { informs: ["mem/notes/fine"], related: [key] });
    const field = key === "" ? "links.related.0" : "links.related";
    expectProblem(answer, { status: 400, code: "validation_failed", field });
    expect(await world.api.repo("GET", "/memory/notes/malformed")).toMatchObject({ exists: false });
  });

  it("that is malformed is told by its field in an update too", async () => {
    await put("patched", { related: ["mem/notes/a"] });
    for (const how of ["add", "remove"]) {
      const answer = await world.api.tryRepo("PATCH", "/memory/notes/patched", {
        body: { links: { [how]: { related: ["nonsense"] } } },
      });
      expectProblem(answer, { status: 400, code: "validation_failed", field: `links.${how}.related` });
    }
  });

  it("may be as long as an index takes, in any script, and no longer", async () => {
    const [number = 0] = await items("Long paths");
    const varied = (length: number) =>
      Array.from({ length }, (_, n) => String.fromCharCode(0x4e00 + ((n * 7919) % 20_000))).join("");
    const kept = await world.api.tryRepo("PATCH", pathOf(number), {
      body: { links: { add: { anchoredTo: [`file/${varied(398)}`] } } },
    });
    expect(kept.status).toBe(200);
    const tooLong = await put("long", { anchoredTo: [`file/${varied(399)}`] });
    expectProblem(tooLong, { status: 400, code: "validation_failed", field: "links.anchoredTo.0" });
  });

  it("comes in bounded numbers", async () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => `mem/notes/n${n}`);
    expect((await put("many", { related: many(500), informs: many(500) })).status).toBe(201);
    const answer = await put("too-many", { related: many(500), informs: many(501) });
    expectProblem(answer, { status: 400, code: "validation_failed", field: "links" });
  });
});

describe("a relation", () => {
  it("that nobody knows is kept, on a record", async () => {
    const answer = await put("haunted", { haunts: ["mem/notes/house"] });
    expect(answer.body.links).toEqual({ haunts: ["repo/acme/widgets/mem/notes/house"] });
  });

  it("that nobody knows is kept on an item, and reported with it", async () => {
    const [number = 0] = await items("Haunted");
    await world.api.repo("PATCH", pathOf(number), {
      body: { links: { add: { haunts: ["mem/notes/house"] } } },
    });
    const item = await world.api.item(number);
    expect(item.links).toEqual({ haunts: ["repo/acme/widgets/mem/notes/house"] });
    expect(item.defects).toEqual([
      expect.objectContaining({ code: "unknown_relation", number, value: "haunts" }),
    ]);
  });

  it.each(["constructor", "toString", "hasOwnProperty"])("may be called %s", async (relation) => {
    const answer = await put(`named-${relation}`, { [relation]: ["mem/notes/a"] });
    expect(answer.status).toBe(201);
    expect(Object.entries(answer.body.links)).toEqual([[relation, ["repo/acme/widgets/mem/notes/a"]]]);
  });
});

describe("an edge to what can never be done (which that is: test/stories/blocker-table.test.ts)", () => {
  it("is refused, and takes the good edges beside it down: all or none", async () => {
    const [number = 0, live = 0] = await items("Dependent", "Live");
    expectProblem(await block(number, keyOf(live), "mem/backlog/issue-4711"), edgeRefused);
    expect(await links(number)).toEqual({});
  });
});

describe("a cycle is refused, with its members", () => {
  const cycle = { status: 409, code: "cycle" };

  it("of an item with itself", async () => {
    const [number = 0] = await items("Ouroboros");
    const answer = await block(number, keyOf(number));
    expectProblem(answer, cycle);
    expect(answer.body.detail).toContain(`#${number} → #${number}`);
  });

  it("of three", async () => {
    const [a = 0, b = 0, c = 0] = await items("A", "B", "C");
    expect((await block(a, keyOf(b))).status).toBe(200);
    expect((await block(b, keyOf(c))).status).toBe(200);
    const answer = await block(c, keyOf(a));
    expectProblem(answer, cycle);
    expect(answer.body.detail).toContain(`#${c} → #${a} → #${b} → #${c}`);
    expect(await links(c)).toEqual({});
  });

  it("whose halves are authored at the same time: one of them is refused", async () => {
    const [a = 0, b = 0] = await items("A", "B");
    const { pool } = world.app.deps.database;
    // Each edge waits here until both requests have got as far as they can.
    await pool.query(`
      create function wait_here() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(4711, 1); return new; end $$;
      create trigger wait_here before insert on record_link for each row execute function wait_here()`);
    const waiting = async () => {
      const { rows } = await pool.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length;
    };
    let halves: Promise<Answer>[] = [];
    await world.db.transaction().execute(async (trx) => {
      await sql`select pg_advisory_xact_lock(4711, 1)`.execute(trx);
      halves = [block(a, keyOf(b)), block(b, keyOf(a))];
      await waitFor("both to wait", async () => ((await waiting()) >= 2 ? null : `${await waiting()} do`));
    });
    const answers = await Promise.all(halves);
    await pool.query("drop function wait_here cascade");
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it("that one request would close by itself", async () => {
    const [a = 0, b = 0] = await items("A", "B");
    expect((await block(a, keyOf(b))).status).toBe(200);
    expectProblem(await block(b, keyOf(a)), cycle);
    // Taken apart, the other direction is free.
    await world.api.repo("PATCH", pathOf(a), { body: { links: { remove: { blockedBy: [keyOf(b)] } } } });
    expect((await block(b, keyOf(a))).status).toBe(200);
  });
});

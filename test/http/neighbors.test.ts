/** The graph around a record: both directions, up to three steps, at most a hundred nodes, clamped. */

import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;
let item: number;
beforeAll(async () => {
  world = await World.start();
  const repo = await world.repository();
  item = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  await world.settled();
  const link = (from: string, relation: string, ...to: string[]) =>
    world.api.repo("PUT", `/memory/notes/${from}`, {
      body: { title: from.toUpperCase(), links: { [relation]: to } },
    });
  // a → b → c → d → e, f → b, and a circle from d back to a.
  await link("a", "related", "mem/notes/b");
  await link("b", "informs", "mem/notes/c");
  await link("c", "related", "mem/notes/d");
  await link("d", "related", "mem/notes/e", "mem/notes/a");
  await link("f", "related", "mem/notes/b");
  await link("hub", "anchoredTo", "file/src/hub.ts");
  await link(
    "hub",
    "related",
    `mem/backlog/issue-${item}`,
    "repo/nobody/knows/mem/notes/x",
    "mem/notes/absent",
  );
});
afterAll(() => world.end());

const key = (id: string) => `repo/acme/widgets/mem/notes/${id}`;
const ask = (query: string) => world.api.repo("GET", `/neighbors?${query}`);
const ids = async (query: string): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await ask(query)).nodes.map((node: { key: string; depth: number }) => [
      node.key.split("/").at(-1),
      node.depth,
    ]),
  );

describe("neighbors", () => {
  it("are those that it links to and those that link to it", async () => {
    const answer = await ask("key=mem/notes/b");
    expect(answer).toMatchObject({ key: key("b"), depth: 1, truncated: false });
    expect(await ids("key=mem/notes/b")).toEqual({ b: 0, a: 1, c: 1, f: 1 });
    expect(answer.edges).toEqual([
      { from: key("a"), to: key("b"), relation: "related" },
      { from: key("b"), to: key("c"), relation: "informs" },
      { from: key("f"), to: key("b"), relation: "related" },
    ]);
  });

  it("of several steps, each where it is nearest, and circles end", async () => {
    expect(await ids("key=mem/notes/b&depth=2")).toEqual({ b: 0, a: 1, c: 1, f: 1, d: 2 });
    expect(await ids("key=mem/notes/b&depth=3")).toEqual({ b: 0, a: 1, c: 1, f: 1, d: 2, e: 3 });
  });

  it("by one relation", async () => {
    expect(await ids("key=mem/notes/b&depth=3&relation=informs")).toEqual({ b: 0, c: 1 });
  });

  it("may be items, files, records that are not there, and records of who knows where", async () => {
    const { nodes } = await ask(`key=${key("hub")}`);
    const of = (end: string) => nodes.find((node: { key: string }) => node.key.endsWith(end));
    expect(of("/hub")).toMatchObject({ type: "record", exists: true, kind: "Note", title: "HUB" });
    expect(of(`issue-${item}`)).toMatchObject({
      type: "item",
      exists: true,
      title: "It rattles",
      number: item,
      state: null,
    });
    expect(of("/absent")).toMatchObject({ type: "record", exists: false, title: null, kind: null });
    expect(of("knows/mem/notes/x")).toMatchObject({
      key: "repo/nobody/knows/mem/notes/x",
      type: "record",
      exists: null,
    });
    expect(of("hub.ts")).toMatchObject({
      key: "repo/acme/widgets/file/src/hub.ts",
      type: "file",
      exists: null,
    });
    expect(await ids("key=file/src/hub.ts")).toEqual({ "hub.ts": 0, hub: 1 });
    expect(await ids(`key=mem/backlog/issue-${item}`)).toEqual({ [`issue-${item}`]: 0, hub: 1 });
  });

  it("of what is not there: the place alone", async () => {
    expect(await ask("key=mem/notes/never")).toMatchObject({
      nodes: [{ key: key("never"), exists: false, depth: 0 }],
      edges: [],
    });
  });

  it.each([
    ["depth=0", 1],
    ["depth=-5", 1],
    ["depth=4", 3],
    ["depth=99999999999999999999", 3],
  ])("with %s are looked for %d steps away", async (query, depth) => {
    expect((await ask(`key=mem/notes/b&${query}`)).depth).toBe(depth);
  });

  it("are at most a hundred, or as many as are asked for, and say that there are more", async () => {
    await sql`insert into record (repository_id, topic, id, kind)
      select repository_id, 'many', 'm' || n, 'Note' from record, generate_series(1, 150) n where id = 'hub'`.execute(
      world.db,
    );
    await sql`insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
      select repository_id, 'many', 'm' || n, 'related', repository_id, 'mem/notes/centre' from record, generate_series(1, 150) n
      where id = 'hub'`.execute(world.db);
    for (const [limit, wanted] of [
      ["limit=1000", 100],
      ["limit=100", 100],
      ["", 100],
      ["limit=7", 7],
      ["limit=1", 1],
      ["limit=0", 1],
    ]) {
      const answer = await ask(`key=mem/notes/centre&depth=3&${limit}`);
      expect(answer.nodes, String(limit)).toHaveLength(Number(wanted));
      expect(answer.truncated).toBe(true);
      expect(answer.edges).toHaveLength(Number(wanted) - 1);
    }
  });

  it.each([
    ["", "key"],
    ["key=nonsense", "key"],
    ["key=mem/notes/b&depth=x", "depth"],
    ["key=mem/notes/b&limit=1.5", "limit"],
    ["key=mem/notes/b&relation=two%20words", "relation"],
    ["key=mem/notes/b&colour=red", "colour"],
  ])("refuses %s", async (query, field) => {
    const answer = await world.api.tryRepo("GET", `/neighbors?${query}`);
    expectProblem(answer, { status: 400, code: "validation_failed", field });
  });
});

describe("backlinks of a record", () => {
  it("are who links to it, page by page, whether or not it is there", async () => {
    const of = (path: string) => world.api.repo("GET", `/memory/notes/${path}`);
    expect((await of("b/backlinks")).backlinks).toMatchObject([
      { key: key("a"), relation: "related", title: "A", own: true, native: false },
      { key: key("f"), relation: "related", title: "F" },
    ]);
    const first = await of("b/backlinks?limit=1");
    expect(first.backlinks).toMatchObject([{ key: key("a") }]);
    const rest = await of(`b/backlinks?limit=1&cursor=${first.nextCursor}`);
    expect(rest).toMatchObject({ backlinks: [{ key: key("f") }], nextCursor: null });
    expect((await of("absent/backlinks")).backlinks).toMatchObject([{ key: key("hub") }]);
  });
});

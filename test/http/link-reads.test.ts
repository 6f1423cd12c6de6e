/** Reading what items hang on, and asking whether an edge may be (api.md). */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

async function items(...titles: string[]): Promise<number[]> {
  const numbers = titles.map((title) => repo.as("alice").openIssue({ title, labels: ["backlog"] }));
  await world.settled();
  return numbers;
}
const keyOf = (number: number) => `repo/acme/widgets/mem/backlog/issue-${number}`;
const link = (number: number, relation: string, ...to: number[]) =>
  world.api.repo("PATCH", `/items/${number}`, { body: { links: { add: { [relation]: to.map(keyOf) } } } });

/** Every page of a listing. */
async function all(path: string, name: string, limit: number) {
  const rows: { key: string; number: number; direction?: string; relation?: string }[] = [];
  let cursor = "";
  for (let pages = 0; pages < 20; pages += 1) {
    const answer = await world.api.repo("GET", `${path}?limit=${limit}${cursor}`);
    expect(answer[name].length).toBeLessThanOrEqual(limit);
    rows.push(...answer[name]);
    if (answer.nextCursor === null) return rows;
    cursor = `&cursor=${answer.nextCursor}`;
  }
  throw new Error("a listing without an end");
}

describe("an item's surroundings", () => {
  it("children are its direct parts, by number, a page at a time", async () => {
    const [epic = 0, ...parts] = await items("Epic", "1", "2", "3", "4", "5");
    const [below = 0] = await items("Below");
    for (const part of parts) await link(part, "partOf", epic);
    await link(below, "partOf", parts[0] ?? 0);
    for (const limit of [1, 2, 5, 100]) {
      const found = await all(`/items/${epic}/children`, "children", limit);
      expect(found.map(({ number }) => number)).toEqual(parts);
    }
    expect((await world.api.repo("GET", `/items/${epic}/children`)).children[0]).toMatchObject({
      key: keyOf(parts[0] ?? 0),
      epic,
      role: "queue",
    });
  });

  it("breadcrumbs lead from the root down to its parent", async () => {
    const [root = 0, middle = 0, leaf = 0] = await items("Root", "Middle", "Leaf");
    await link(middle, "partOf", root);
    await link(leaf, "partOf", middle);
    const { breadcrumbs } = await world.api.repo("GET", `/items/${leaf}/breadcrumbs`);
    expect(breadcrumbs).toEqual([
      expect.objectContaining({ key: keyOf(root), number: root, title: "Root", state: null }),
      expect.objectContaining({ key: keyOf(middle), number: middle, title: "Middle", state: null }),
    ]);
    expect(await world.api.repo("GET", `/items/${root}/breadcrumbs`)).toEqual({ breadcrumbs: [] });
  });

  it("dependencies are both directions, first what it waits for, in pages of any size", async () => {
    const [item = 0, one = 0, two = 0, after = 0, later = 0] = await items(
      "Item",
      "1",
      "2",
      "After",
      "Later",
    );
    await link(item, "blockedBy", one, two);
    await link(after, "blockedBy", item);
    await link(later, "blockedBy", item);
    repo.as("alice").close(one, "completed");
    await world.settled();
    for (const limit of [1, 2, 3, 4, 100]) {
      const found = await all(`/items/${item}/dependencies`, "dependencies", limit);
      expect(found.map(({ direction, number }) => [direction, number])).toEqual([
        ["blockedBy", one],
        ["blockedBy", two],
        ["blocks", after],
        ["blocks", later],
      ]);
    }
    const { dependencies } = await world.api.repo("GET", `/items/${item}/dependencies`);
    expect(dependencies).toMatchObject([
      { state: "complete", status: "satisfied", satisfied: true, own: true, native: false },
      { state: null, status: "waiting", satisfied: false },
      { status: "waiting", satisfied: false },
      { status: "waiting", satisfied: false },
    ]);
  });

  it("backlinks are all who link to it: items first, then records, by any relation", async () => {
    const [item = 0, part = 0] = await items("Item", "Part");
    await link(part, "partOf", item);
    await link(part, "haunts", item);
    await world.api.repo("PUT", "/memory/notes/about", {
      body: { title: "About it", links: { informs: [keyOf(item)] } },
    });
    for (const limit of [1, 2, 100]) {
      const found = await all(`/items/${item}/backlinks`, "backlinks", limit);
      expect(found).toMatchObject([
        { relation: "haunts", key: keyOf(part), number: part, title: "Part" },
        { relation: "partOf", key: keyOf(part), number: part },
        { relation: "informs", key: "repo/acme/widgets/mem/notes/about", number: null, title: "About it" },
      ]);
    }
  });

  it.each(["children", "breadcrumbs", "dependencies", "backlinks"])(
    "%s of what is no item: 404",
    async (what) => {
      expectProblem(await world.api.tryRepo("GET", `/items/4711/${what}`), {
        status: 404,
        code: "not_found",
      });
    },
  );

  it.each(["children", "dependencies", "backlinks"])(
    "%s refuse a cursor that is none of theirs",
    async (what) => {
      const [item = 0] = await items("Item");
      for (const cursor of ["nonsense", Buffer.from("[1]").toString("base64url"), "YWZ0ZXI6MQ"]) {
        const answer = await world.api.tryRepo("GET", `/items/${item}/${what}?cursor=${cursor}`);
        expectProblem(answer, { status: 400, code: "validation_failed", field: "cursor" });
      }
    },
  );
});

describe("validate-edges", () => {
  const ask = async (...edges: { from: number | string; relation: string; to: number | string }[]) =>
    (await world.api.repo("POST", "/validate-edges", { body: { edges } })).edges;

  it("says of each edge whether it may be, by numbers or keys, and writes nothing", async () => {
    const [item = 0, live = 0, dropped = 0] = await items("Item", "Live", "Dropped");
    repo.as("alice").close(dropped, "not_planned");
    await world.settled();
    const verdicts = await ask(
      { from: item, relation: "blockedBy", to: live },
      { from: keyOf(item), relation: "blockedBy", to: dropped },
      { from: item, relation: "blockedBy", to: "mem/backlog/issue-4711" },
      { from: item, relation: "blockedBy", to: "mem/notes/a" },
      { from: 4711, relation: "blockedBy", to: live },
      { from: item, relation: "blockedBy", to: "nonsense" },
      { from: item, relation: "related", to: "mem/notes/a" },
      { from: item, relation: "blockedBy", to: "repo/nobody/knows/mem/backlog/issue-1" },
    );
    expect(verdicts).toEqual([
      { ok: true },
      { ok: false, code: "edge_refused", detail: expect.stringContaining(`#${dropped}`) },
      { ok: false, code: "edge_refused", detail: expect.stringContaining("#4711") },
      { ok: false, code: "edge_refused", detail: expect.stringContaining("mem/notes/a") },
      { ok: false, code: "not_found", detail: expect.stringContaining("issue-4711") },
      { ok: false, code: "validation_failed", detail: expect.stringContaining("edges.5.to") },
      { ok: true },
      { ok: true },
    ]);
    expect((await world.api.item(item)).links).toEqual({});
  });

  it("judges each as if those before it were there, of both relations", async () => {
    const [a = 0, b = 0, c = 0] = await items("A", "B", "C");
    await link(a, "blockedBy", b);
    const [fine, circle, parts, back] = await ask(
      { from: b, relation: "blockedBy", to: c },
      { from: c, relation: "blockedBy", to: a },
      { from: a, relation: "partOf", to: c },
      { from: c, relation: "partOf", to: a },
    );
    expect([fine, parts]).toEqual([{ ok: true }, { ok: true }]);
    expect(circle).toMatchObject({ ok: false, code: "cycle", path: [c, a, b, c].map(keyOf) });
    expect(circle.detail).toContain(`#${c} → #${a} → #${b} → #${c}`);
    expect(back).toMatchObject({ ok: false, code: "cycle", path: [c, a, c].map(keyOf) });
  });

  it.each([
    ["no edges", { edges: [] }],
    ["an unknown field", { edges: [{ from: 1, relation: "blockedBy", to: 2, why: "" }] }],
    ["no number", { edges: [{ from: 0, relation: "blockedBy", to: 2 }] }],
    ["no relation", { edges: [{ from: 1, relation: "", to: 2 }] }],
  ])("refuses %s", async (_, body) => {
    const answer = await world.api.tryRepo("POST", "/validate-edges", { body });
    expectProblem(answer, { status: 400, code: "validation_failed" });
  });
});

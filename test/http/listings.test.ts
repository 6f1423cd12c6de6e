/** Lists: pages that miss nothing and repeat nothing, filters, and limits that do not change the totals. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLocalRepository } from "../../src/store/repositories.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { World } from "../harness/world.ts";

let world: World;
let repo: FakeRepository;
/** Seven items: 1 claimed, 2 complete, 3 parked, 4 cancelled, 5 blocked by 6, 6 and 7 ready; 7 is P0. */
let n: Record<"held" | "complete" | "parked" | "cancelled" | "blocked" | "plain" | "urgent", number>;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
  const alice = repo.as("alice");
  const open = (title: string, ...labels: string[]) =>
    alice.openIssue({ title, labels: ["backlog", ...labels] });
  n = {
    held: open("Held"),
    complete: open("Complete"),
    parked: open("Parked"),
    cancelled: open("Cancelled"),
    blocked: open("Blocked"),
    plain: open("Plain 100% _sure_"),
    urgent: open("Urgent", "P0"),
  };
  alice.openIssue({ title: "No item at all" });
  await world.settled();
  alice.close(n.complete, "completed");
  alice.label(n.parked, "stale");
  alice.close(n.cancelled, "not_planned");
  await world.settled();
  await world.api.claim(n.held, "w", { leaseSeconds: 900 });
  await world.api.block(n.blocked, n.plain);
  await world.api.repo("PATCH", `/memory/backlog/issue-${n.plain}`, {
    body: { tags: { add: ["team:red"] }, links: { add: { partOf: [`mem/backlog/issue-${n.urgent}`] } } },
  });
  await world.settled();
});
afterAll(() => world.end());

const list = async (query: string): Promise<number[]> => {
  const { items } = await world.api.repo("GET", `/items${query}`);
  return items.map((item: { number: number }) => item.number);
};

describe("R/items", () => {
  it("answers every item, by number, and no other issue", async () => {
    expect(await list("")).toEqual(Object.values(n).sort((a, b) => a - b));
  });

  it.each([1, 2, 3, 6, 7, 8])("in pages of %d: each item once", async (limit) => {
    const seen: number[] = [];
    let cursor: string | null = "";
    let pages = 0;
    while (cursor !== null) {
      const page: { items: { number: number }[]; nextCursor: string | null } = await world.api.repo(
        "GET",
        `/items?limit=${limit}${cursor ? `&cursor=${cursor}` : ""}`,
      );
      expect(page.items.length).toBeLessThanOrEqual(limit);
      seen.push(...page.items.map((item) => item.number));
      cursor = page.nextCursor;
      pages += 1;
    }
    expect(seen).toEqual(await list(""));
    expect(pages).toBe(Math.ceil(7 / limit));
  });

  it("in pages under a filter that skips rows: each item once, and no page is short", async () => {
    const first = await world.api.repo("GET", "/items?role=queue&limit=1");
    expect(first.items).toHaveLength(1);
    const second = await world.api.repo("GET", `/items?role=queue&limit=1&cursor=${first.nextCursor}`);
    expect(second.items).toHaveLength(1);
    const all = await list("?role=queue");
    expect([first.items[0].number, second.items[0].number]).toEqual(all.slice(0, 2));
  });

  it.each([
    ["state=live", ["held", "blocked", "plain", "urgent"]],
    ["state=complete", ["complete"]],
    ["state=parked", ["parked"]],
    ["state=cancelled", ["cancelled"]],
    ["role=work", ["held"]],
    ["role=terminal", ["complete", "cancelled"]],
    ["role=blocked", ["parked"]],
    ["tag=team:red", ["plain"]],
    // What is part of an urgent epic and has no priority of its own is as urgent.
    ["tag=priority:P0", ["plain", "urgent"]],
    ["tag=team:blue", []],
    ["q=pla", ["plain"]],
    ["q=PLAIN", ["plain"]],
    ["q=100%25", ["plain"]],
    ["q=%25", ["plain"]],
    ["q=_sure_", ["plain"]],
    ["q=no%20such%20title", []],
    ["state=live&tag=team:red&q=plain", ["plain"]],
    ["state=parked&tag=team:red", []],
  ] as [string, (keyof typeof n)[]][])("?%s", async (query, wanted) => {
    expect(await list(`?${query}`)).toEqual(wanted.map((name) => n[name]).sort((a, b) => a - b));
  });

  it("?epic= answers what is part of it", async () => {
    expect(await list(`?epic=${n.urgent}`)).toEqual([n.plain]);
    expect(await list(`?epic=${n.held}`)).toEqual([]);
  });
});

describe("R/ready", () => {
  it("orders by priority, and says what the rest waits for", async () => {
    const answer = await world.api.ready();
    expect(answer).toMatchObject({
      verdict: "ready",
      pending: 4,
      inFlight: [{ number: n.held, isHeld: true }],
      parked: [n.parked],
      totals: { inFlight: 1, parked: 1, awaitingAdmission: 0 },
    });
  });

  it("caps every list at the limit, and no total", async () => {
    const alice = repo.as("alice");
    for (let more = 0; more < 3; more += 1) alice.openIssue({ title: `More ${more}`, labels: ["backlog"] });
    await world.settled();
    const whole = await world.api.ready("?limit=100");
    expect(whole.ready.length).toBeGreaterThan(2);
    const capped = await world.api.ready("?limit=1");
    for (const name of ["ready", "waiting", "inFlight", "parked", "awaitingAdmission", "defects"]) {
      expect(capped[name].length, name).toBeLessThanOrEqual(1);
    }
    expect(capped.ready).toEqual(whole.ready.slice(0, 1));
    expect(capped.totals).toEqual(whole.totals);
    expect(capped.totals.ready).toBe(whole.ready.length);
    expect(capped.pending).toBe(whole.pending);
    expect(capped.verdict).toBe(whole.verdict);
  });
});

describe("GET /api/v1/repos", () => {
  it("pages through all that are known, each once", async () => {
    for (const name of ["acme/gadgets", "acme/gears", "umbrella/widgets"]) {
      await world.install(world.github.repository(name));
    }
    const all = (await world.api.send("GET", "/api/v1/repos")).body;
    expect(all.nextCursor).toBeNull();
    expect(all.repos).toHaveLength(4);
    expect(all.repos.find((row: { id: number }) => row.id === repo.id)).toEqual({
      owner: "acme",
      name: "widgets",
      id: repo.id,
      installed: true,
      items: 10,
      mirrorAgeSeconds: expect.any(Number),
    });
    // By their ids: a mirror's age grows from one page to the next.
    const ids = all.repos.map(({ id }: { id: number }) => id);
    for (const limit of [1, 2, 3, 4]) {
      const seen: number[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const query = `?limit=${limit}${cursor ? `&cursor=${cursor}` : ""}`;
        const page: { repos: { id: number }[]; nextCursor: string | null } = (
          await world.api.send("GET", `/api/v1/repos${query}`)
        ).body;
        expect(page.repos.length).toBeLessThanOrEqual(limit);
        seen.push(...page.repos.map(({ id }) => id));
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(ids);
    }
  });

  it("pages through repositories that live only here, whose ids are negative", async () => {
    await world.db.transaction().execute(async (trx) => {
      for (const name of ["one", "two", "three"]) await createLocalRepository(trx, "local", name);
    });
    const first = (await world.api.send("GET", "/api/v1/repos?limit=2")).body;
    expect(first.repos.map(({ name }: { name: string }) => name)).toEqual(["three", "two"]);
    const rest = (await world.api.send("GET", `/api/v1/repos?cursor=${first.nextCursor}`)).body;
    expect(rest.repos[0].name).toBe("one");
    expect(rest.repos).toHaveLength(5);
  });
});

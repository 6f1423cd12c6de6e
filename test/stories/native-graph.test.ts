/**
 * What GitHub's links do to items: circles, and what a backfill and the outbox make of links. The table of protocol 5, of
 * targets, is in blocker-table.test.ts.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blockedByPromise, type Effect, promise, subIssuePromise } from "../../src/store/outbox.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { World } from "../harness/world.ts";
import { expectReady, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
let other: FakeRepository;
let api: ApiClient;
let there: ApiClient;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
  other = await world.repository("acme/gadgets");
  there = api.with({ repo: "acme/gadgets" });
});
afterAll(() => world.end());

const alice = () => repo.as("alice");
const keyOf = (number: number, name = "acme/widgets") => `repo/${name}/mem/backlog/issue-${number}`;

async function items(...titles: string[]): Promise<number[]> {
  const numbers = titles.map((title) => alice().openIssue({ title, labels: ["backlog"] }));
  await world.settled();
  stories.later();
  return numbers;
}

async function happens(act: () => void): Promise<void> {
  stories.later();
  act();
  await world.settled();
}

describe("a circle that GitHub brings", () => {
  const circles = async (number: number, client = api) =>
    (await client.item(number)).defects
      .filter(({ code }: { code: string }) => code === "dependency_cycle")
      .map(({ value }: { value: string }) => value);

  it("is reported on each member, itself first, and is over when an edge goes or a member completes", async () => {
    const [a = 0, b = 0, c = 0, d = 0] = await items("A", "B", "C", "D");
    await happens(() => {
      alice().blockBy(a, b);
      alice().blockBy(b, c);
      alice().blockBy(d, a);
    });
    expect(await circles(a)).toEqual([]);
    await happens(() => alice().blockBy(c, a));
    expect(await circles(a)).toEqual([`#${a} → #${b} → #${c} → #${a}`]);
    expect(await circles(b)).toEqual([`#${b} → #${c} → #${a} → #${b}`]);
    expect(await circles(c)).toEqual([`#${c} → #${a} → #${b} → #${c}`]);
    expect(await circles(d)).toEqual([]);
    await happens(() => alice().close(b, "completed"));
    expect(await circles(a)).toEqual([]);
    await expectReady(api, a);
    await happens(() => alice().reopen(b));
    expect(await circles(a)).toHaveLength(1);
    await happens(() => alice().unblock(b, c));
    for (const number of [a, b, c]) expect(await circles(number)).toEqual([]);
  });

  it("is reported for each item, also where one edge closes several, and what is left of them stays", async () => {
    const [a = 0, b = 0, c = 0] = await items("A", "B", "C");
    await happens(() => {
      alice().blockBy(b, c);
      alice().blockBy(c, a);
      alice().blockBy(b, a);
    });
    await happens(() => alice().blockBy(a, b));
    const [short, long] = [`#${a} → #${b} → #${a}`, `#${a} → #${b} → #${c} → #${a}`];
    expect((await circles(a)).sort()).toEqual([short, long].sort());
    expect(await circles(c)).toEqual([`#${c} → #${a} → #${b} → #${c}`]);
    await happens(() => alice().unblock(b, a));
    expect(await circles(a)).toEqual([long]);
    expect(await circles(c)).toHaveLength(1);
    await happens(() => alice().unblock(c, a));
    for (const number of [a, b, c]) expect(await circles(number)).toEqual([]);
  });

  it("may lead through two repositories, and through an edge of ours", async () => {
    const [here = 0] = await items("Here");
    const far = other.as("alice").openIssue({ title: "There", labels: ["backlog"] });
    await world.settled();
    await api.repo("PATCH", `/items/${here}`, {
      body: { links: { add: { blockedBy: [keyOf(far, "acme/gadgets")] } } },
    });
    await happens(() => other.as("alice").blockBy(far, { repository: repo, number: here }));
    expect(await circles(here)).toEqual([`#${here} → acme/gadgets#${far} → #${here}`]);
    expect(await circles(far, there)).toEqual([`#${far} → acme/widgets#${here} → #${far}`]);
    await api.repo("PATCH", `/items/${here}`, {
      body: { links: { remove: { blockedBy: [keyOf(far, "acme/gadgets")] } } },
    });
    expect(await circles(here)).toEqual([]);
    expect(await circles(far, there)).toEqual([]);
  });

  it("follows a member that is transferred", async () => {
    const [a = 0, b = 0] = await items("A", "B");
    await happens(() => {
      alice().blockBy(a, b);
      alice().blockBy(b, a);
    });
    expect(await circles(a)).toHaveLength(1);
    let moved = 0;
    await happens(() => {
      moved = alice().transfer(b, other);
    });
    expect(await circles(a)).toEqual([`#${a} → acme/gadgets#${moved} → #${a}`]);
  });

  it("of parts: ours is refused, GitHub's with ours is reported", async () => {
    const [a = 0, b = 0] = await items("A", "B");
    const part = (number: number, of: number) =>
      api.tryRepo("PATCH", `/items/${number}`, { body: { links: { add: { partOf: [keyOf(of)] } } } });
    expect((await part(a, b)).status).toBe(200);
    const refused = await part(b, a);
    expect(refused).toMatchObject({ status: 409, body: { code: "cycle" } });
    expect(refused.body.detail).toContain(`#${b} → #${a} → #${b}`);
    expect(await part(a, a)).toMatchObject({ status: 409, body: { code: "cycle" } });
    await happens(() => alice().addSubIssue(a, b));
    expect(await circles(a)).toEqual([`#${a} → #${b} → #${a}`]);
    await happens(() => alice().removeSubIssue(a, b));
    expect(await circles(a)).toEqual([]);
  });
});

describe("a backfill", () => {
  it("reads links where an issue says that it has any, and resumes to the same", async () => {
    const early = world.github.repository("acme/early", { collaborators: { alice: "admin" } });
    const open = (title: string) => early.as("alice").openIssue({ title, labels: ["backlog"] });
    const [parent, child, done, blocked, free] = ["Parent", "Child", "Done", "Blocked", "Free"].map(open);
    if (!parent || !child || !done || !blocked || !free) throw new Error("five issues");
    early.as("alice").addSubIssue(parent, child);
    early.as("alice").blockBy(blocked, child);
    early.as("alice").blockBy(child, done);
    early.as("alice").close(done, "completed");
    world.github.fault({ path: /dependencies\/blocked_by/, kind: "status", status: 502, times: 1 });
    await world.install(early);
    await stories.pass(31);
    world.app.deps.wake.backfill(early.id);
    await waitFor("the backfill to end", async () => {
      const query = world.db.selectFrom("repository").select("backfill_state").where("id", "=", early.id);
      const row = await query.executeTakeFirst();
      return row?.backfill_state === "done" ? null : `it is ${row?.backfill_state}`;
    });
    await world.settled();

    const client = api.with({ repo: "acme/early" });
    expect((await client.item(child)).links).toEqual({
      partOf: [keyOf(parent, "acme/early")],
      blockedBy: [keyOf(done, "acme/early")],
    });
    await expectReady(client, child);
    expect((await client.item(blocked)).reasons).toMatchObject([{ reason: "blocked", on: [child] }]);
    const asked = (path: string) => world.github.requestsTo("GET", `/repos/acme/early/issues/${path}`).length;
    expect(asked(`${free}/dependencies/blocked_by`) + asked(`${free}/sub_issues`)).toBe(0);
    expect(asked(`${blocked}/dependencies/blocked_by`)).toBeGreaterThan(0);
    expect(asked(`${child}/parent`)).toBe(0);
  });

  it("takes away what was removed while the App was not there", async () => {
    const [item = 0, blocker = 0, parent = 0] = await items("Item", "Blocker", "Parent");
    await happens(() => {
      alice().blockBy(item, blocker);
      alice().addSubIssue(parent, item);
    });
    stories.later();
    world.github.uninstall(repo);
    await world.settled();
    alice().unblock(item, blocker);
    alice().removeSubIssue(parent, item);
    stories.later();
    await world.install(repo);
    expect((await api.item(item)).links).toEqual({});
    await expectReady(api, item);
  });
});

describe("links that Leasehold adds", () => {
  async function promised(number: number, name: string, effect: Effect): Promise<void> {
    await world.db
      .transaction()
      .execute((trx) => promise(trx, { repositoryId: repo.id, issueNumber: number, promise: name, effect }));
    world.app.deps.wake.outbox();
    await world.settled();
  }

  it("are made once, and are done when they are there already", async () => {
    const [parent = 0, child = 0, blocker = 0] = await items("Parent", "Child", "Blocker");
    const subIssueId = repo.issue(child).id;
    const blockerId = repo.issue(blocker).id;
    for (let round = 0; round < 2; round += 1) {
      await promised(parent, subIssuePromise(parent, subIssueId), { kind: "add_sub_issue", subIssueId });
      await promised(child, blockedByPromise(child, blockerId), { kind: "add_blocked_by", blockerId });
    }
    expect((await api.item(child)).links).toEqual({ partOf: [keyOf(parent)], blockedBy: [keyOf(blocker)] });
  });

  it("are reported when GitHub refuses them: a pull request, and a second parent", async () => {
    const [parent = 0, second = 0, child = 0] = await items("Parent", "Second", "Child");
    await happens(() => alice().addSubIssue(parent, child));
    const pull = alice().openPull({ head: "feat/some-branch", title: "No issue" });
    await world.settled();
    world.expectError(/GitHub refuses what was promised|^outbox: (sub_issue|blocked_by):/);
    const subIssueId = repo.issue(child).id;
    await promised(second, subIssuePromise(second, subIssueId), { kind: "add_sub_issue", subIssueId });
    const blockerId = repo.issue(pull).id;
    await promised(child, blockedByPromise(child, blockerId), { kind: "add_blocked_by", blockerId });
    const { outbox } = (await api.send("GET", "/health")).body;
    expect(outbox.failed).toBe(2);
  });
});

/** GitHub's own links between issues (protocol 1, github-cases 1, 62, 63): edges like ours, whoever tells of them. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { expectRefused, granted, lastDelivery, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
let api: ApiClient;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
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

/** Somebody does something on GitHub, a second later than anything before, and all of it arrives. */
async function happens(act: () => void): Promise<void> {
  stories.later();
  act();
  await world.settled();
}

const linksOf = async (number: number, client = api) => (await client.item(number)).links;
const unlink = (number: number, relation: string, key: string) =>
  api.repo("PATCH", `/items/${number}`, { body: { links: { remove: { [relation]: [key] } } } });

/** The deliveries that an act causes, lost on their way. */
function lost(act: () => void) {
  world.github.hold();
  act();
  const deliveries = world.github.drop();
  world.github.release();
  return deliveries.map((delivery) => ({ ...delivery, body: JSON.parse(delivery.payload) }));
}
const arrives = async (event: string, body: object) => {
  await world.github.deliver({ event, payload: body });
  await world.settled();
};

describe("row 62: a sub-issue", () => {
  it("is one partOf edge, though two events tell of it, and its parent is a grouping while it is an item", async () => {
    const [parent = 0, child = 0] = await items("Parent", "Child");
    await happens(() => alice().addSubIssue(parent, child));
    expect(world.github.deliveries.filter(({ event }) => event === "sub_issues")).toHaveLength(2);
    expect(await linksOf(child)).toEqual({ partOf: [keyOf(parent)] });
    expect(await api.item(child)).toMatchObject({ epic: parent });
    await expectRefused(api, parent, "grouping");
    await happens(() => alice().removeSubIssue(parent, child));
    expect(await linksOf(child)).toEqual({});
    await granted(api, parent, "w/1");
  });

  it("counts once it becomes an item", async () => {
    const [parent = 0] = await items("Parent");
    const child = alice().openIssue({ title: "No item yet" });
    await happens(() => alice().addSubIssue(parent, child));
    expect(await api.repo("GET", `/items/${parent}/children`)).toEqual({ children: [], nextCursor: null });
    await happens(() => alice().label(child, "backlog"));
    await expectRefused(api, parent, "grouping");
    expect(await linksOf(child)).toEqual({ partOf: [keyOf(parent)] });
    await happens(() => alice().unlabel(child, "backlog"));
    await granted(api, parent, "w/1");
  });

  it("added to B before it was removed from A is B's, whatever the order and the second", async () => {
    for (const seconds of [0, 2]) {
      for (const order of [
        [0, 1, 2, 3],
        [2, 3, 0, 1],
        [3, 1, 2, 0],
      ]) {
        const [a = 0, b = 0, child = 0] = await items("A", "B", "Child");
        await happens(() => alice().addSubIssue(a, child));
        stories.later();
        world.github.hold();
        alice().removeSubIssue(a, child);
        stories.later(seconds);
        alice().addSubIssue(b, child);
        world.github.release({ order });
        await world.settled();
        expect(await linksOf(child)).toEqual({ partOf: [keyOf(b)] });
      }
    }
  });

  it("whose removal was lost has the parent that was added last", async () => {
    const [a = 0, b = 0, child = 0] = await items("A", "B", "Child");
    await happens(() => alice().addSubIssue(a, child));
    stories.later();
    lost(() => alice().removeSubIssue(a, child));
    await happens(() => alice().addSubIssue(b, child));
    expect(await linksOf(child)).toEqual({ partOf: [keyOf(b)] });
  });

  it("is not brought back by an event that comes late, nor by one that comes twice", async () => {
    const [parent = 0, child = 0] = await items("Parent", "Child");
    await happens(() => alice().addSubIssue(parent, child));
    const added = lastDelivery(world, "parent_issue_added").body;
    await happens(() => alice().removeSubIssue(parent, child));
    await arrives("sub_issues", added);
    expect(await linksOf(child)).toEqual({});
  });
});

describe("a native and an own edge of the same kind", () => {
  it("are one edge; removing either leaves the other", async () => {
    const [item = 0, blocker = 0] = await items("Item", "Blocker");
    await api.block(item, blocker);
    await happens(() => alice().blockBy(item, blocker));
    expect(await linksOf(item)).toEqual({ blockedBy: [keyOf(blocker)] });
    await happens(() => alice().unblock(item, blocker));
    expect(await linksOf(item)).toEqual({ blockedBy: [keyOf(blocker)] });
    await happens(() => alice().blockBy(item, blocker));
    await unlink(item, "blockedBy", keyOf(blocker));
    expect(await linksOf(item)).toEqual({ blockedBy: [keyOf(blocker)] });
    await expectRefused(api, item, "blocked");
    await happens(() => alice().unblock(item, blocker));
    expect(await linksOf(item)).toEqual({});
    await granted(api, item, "w/1");
  });
});

describe("row 63: a native blocker", () => {
  it("blocks until it is closed as completed, stalls when it is not planned, blocks again when reopened", async () => {
    const [item = 0] = await items("Item");
    const blocker = alice().openIssue({ title: "No item" });
    await happens(() => alice().blockBy(item, blocker));
    await expectRefused(api, item, "blocked");
    await happens(() => alice().close(blocker, "not_planned"));
    await expectRefused(api, item, "blocked");
    expect((await api.item(item)).defects).toMatchObject([{ code: "stalled_blocker", value: `#${blocker}` }]);
    await happens(() => alice().reopen(blocker));
    expect((await api.item(item)).defects).toEqual([]);
    await expectRefused(api, item, "blocked");
    await happens(() => alice().close(blocker, "completed"));
    expect((await api.item(item)).reasons).toEqual([]);
    await granted(api, item, "w/1");
  });

  it("that the payload leaves out is found in the mirror by its id, and else in GitHub's list", async () => {
    const [item = 0, mirrored = 0] = await items("Item", "Mirrored");
    const elsewhere = world.github.repository("acme/private", { collaborators: { alice: "admin" } });
    const hidden = elsewhere.as("alice").openIssue({ title: "Elsewhere" });
    stories.later();
    for (const blocker of [mirrored, { repository: elsewhere, number: hidden }]) {
      const [first] = lost(() => alice().blockBy(item, blocker));
      const { blocking_issue: _, blocking_issue_repo: __, ...rest } = first?.body ?? {};
      await arrives("issue_dependencies", rest);
      stories.later();
      const path = `/repos/acme/widgets/issues/${item}/dependencies/blocked_by`;
      // The list of one that is blocked from elsewhere is read besides, now and then.
      expect(world.github.requestsTo("GET", path).length > 0).toBe(blocker !== mirrored);
    }
    const links = await linksOf(item);
    expect(links.blockedBy.sort()).toEqual([keyOf(hidden, "acme/private"), keyOf(mirrored)].sort());
  });

  it("that GitHub shows to nobody here blocks all the same, until it is removed", async () => {
    const [item = 0] = await items("Item");
    const elsewhere = world.github.repository("acme/secret", { collaborators: { alice: "admin" } });
    const hidden = elsewhere.as("alice").openIssue({ title: "Hidden" });
    const [added] = lost(() => alice().blockBy(item, { repository: elsewhere, number: hidden }));
    const [removed] = lost(() => {
      stories.later();
      alice().unblock(item, { repository: elsewhere, number: hidden });
    });
    const strip = (body: { blocking_issue: unknown; blocking_issue_repo: unknown }) => ({
      ...body,
      blocking_issue: undefined,
      blocking_issue_repo: undefined,
    });
    await arrives("issue_dependencies", strip(added?.body));
    await expectRefused(api, item, "blocked");
    await arrives("issue_dependencies", strip(removed?.body));
    await granted(api, item, "w/1");
  });

  it("in a repository where the App is not is unknown: it blocks, and says so", async () => {
    const [item = 0] = await items("Item");
    const other = world.github.repository("acme/unheard", { collaborators: { alice: "admin" } });
    const blocker = other.as("alice").openIssue({ title: "Unheard of" });
    await happens(() => alice().blockBy(item, { repository: other, number: blocker }));
    await expectRefused(api, item, "blocked");
    const { reasons, defects } = await api.item(item);
    expect(defects).toEqual([]);
    expect(reasons).toEqual([
      { reason: "blocked", on: [], detail: expect.stringContaining(keyOf(blocker, "acme/unheard")) },
    ]);
    // Once the App is there too it is known, and completing it frees the item.
    other.as("alice").close(blocker, "completed");
    await world.install(other);
    expect((await api.item(item)).reasons).toEqual([]);
    await granted(api, item, "w/1");
  });

  it("that was closed before the App came satisfies", async () => {
    const early = world.github.repository("acme/early", { collaborators: { alice: "admin" } });
    const done = early.as("alice").openIssue({ title: "Done long ago" });
    early.as("alice").close(done, "completed");
    const dropped = early.as("alice").openIssue({ title: "Dropped long ago" });
    early.as("alice").close(dropped, "not_planned");
    await world.install(early);
    const client = api.with({ repo: "acme/early" });
    const [one, two] = [1, 2].map((n) =>
      early.as("alice").openIssue({ title: `Item ${n}`, labels: ["backlog"] }),
    );
    await world.settled();
    stories.later();
    early.as("alice").blockBy(one ?? 0, done);
    early.as("alice").blockBy(two ?? 0, dropped);
    await world.settled();
    await granted(client, one ?? 0, "w/1");
    expect((await client.item(two ?? 0)).defects).toMatchObject([{ code: "stalled_blocker" }]);
  });

  it("that is deleted leaves an edge to a tombstone, which stalls, and which may be removed here", async () => {
    const [item = 0, blocker = 0] = await items("Item", "Blocker");
    await happens(() => alice().blockBy(item, blocker));
    await happens(() => alice().deleteIssue(blocker));
    expect((await api.item(item)).defects).toMatchObject([{ code: "stalled_blocker", value: `#${blocker}` }]);
    await unlink(item, "blockedBy", keyOf(blocker));
    expect(await linksOf(item)).toEqual({});
    // The defect goes when the item was looked at again.
    await world.settled();
    await granted(api, item, "w/1");
  });
});

describe("between repositories", () => {
  let other: FakeRepository;
  let there: ApiClient;
  beforeAll(async () => {
    other = await world.repository("acme/gadgets");
    there = api.with({ repo: "acme/gadgets" });
  });

  async function itemThere(title: string): Promise<number> {
    const number = other.as("alice").openIssue({ title, labels: ["backlog"] });
    await world.settled();
    stories.later();
    return number;
  }

  it("edges go both ways, and completion frees across", async () => {
    const [here = 0] = await items("Here");
    const one = await itemThere("Blocks");
    const two = await itemThere("Is blocked");
    await happens(() => {
      alice().blockBy(here, { repository: other, number: one });
      other.as("alice").blockBy(two, { repository: repo, number: here });
    });
    expect(await linksOf(here)).toEqual({ blockedBy: [keyOf(one, "acme/gadgets")] });
    expect(await linksOf(two, there)).toEqual({ blockedBy: [keyOf(here)] });
    await happens(() => other.as("alice").close(one, "completed"));
    await granted(api, here, "w/1");
    expect(await there.claim(two, "w/2")).toMatchObject({ granted: false, reason: "blocked" });
    await happens(() => alice().close(here, "completed"));
    await granted(there, two, "w/2");
  });

  it.each(["sub_issue_added", "parent_issue_added"])(
    "row 62: the event of one side alone suffices: %s",
    async (action) => {
      const [parent = 0] = await items("Parent");
      const child = await itemThere("Child");
      const both = lost(() => alice().addSubIssue(parent, { repository: other, number: child }));
      const one = both.find((delivery) => delivery.action === action);
      await arrives("sub_issues", one?.body);
      expect(await linksOf(child, there)).toEqual({ partOf: [keyOf(parent)] });
      await expectRefused(api, parent, "grouping");
    },
  );

  it.each([
    ["opened first", [0, 1]],
    ["transferred first", [1, 0]],
  ])("rows 28, 62: a transferred issue takes its edges along, %s", async (_, order) => {
    const [parent = 0, child = 0, dependent = 0, own = 0] = await items(
      "Parent",
      "Child",
      "Dependent",
      "Own",
    );
    await happens(() => {
      alice().addSubIssue(parent, child);
      alice().blockBy(dependent, child);
    });
    await api.block(own, child);
    stories.later();
    world.github.hold();
    const moved = alice().transfer(child, other);
    world.github.release({ order });
    await world.settled();
    const key = keyOf(moved, "acme/gadgets");
    expect(await linksOf(dependent)).toEqual({ blockedBy: [key] });
    expect(await linksOf(own)).toEqual({ blockedBy: [key] });
    expect(await there.repo("GET", `/items/${moved}/breadcrumbs`)).toMatchObject({
      breadcrumbs: [{ key: keyOf(parent) }],
    });
    await happens(() => other.as("alice").close(moved, "completed"));
    await granted(api, dependent, "w/1");
  });

  it("rows 28, 62: transferred to where the App is not, the edge stays at the tombstone and stalls", async () => {
    const [blocker = 0, dependent = 0] = await items("Blocker", "Dependent");
    await happens(() => alice().blockBy(dependent, blocker));
    const unknown = world.github.repository("acme/nowhere", { collaborators: { alice: "admin" } });
    await happens(() => void alice().transfer(blocker, unknown));
    expect(await linksOf(dependent)).toEqual({ blockedBy: [keyOf(blocker)] });
    expect((await api.item(dependent)).defects).toMatchObject([{ code: "stalled_blocker" }]);
  });
});

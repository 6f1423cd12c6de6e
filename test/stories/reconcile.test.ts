/** What events did not tell is read from GitHub: the same state as if they had been received, and nothing the second time. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reconcileRepository } from "../../src/services/reconcile.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  claimMarkers,
  defectsOf,
  expectNotReady,
  expectReady,
  GATE,
  granted,
  labelWrites,
  readyNumbers,
  STALE,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
});
afterAll(() => world.end());

let last = 0;
async function place(): Promise<{ repo: FakeRepository; api: ApiClient }> {
  last += 1;
  const repo = await world.repository(`gap-${last}/widgets`);
  return { repo, api: world.api.with({ repo: repo.fullName }) };
}

async function item(repo: FakeRepository, by = "alice", labels: string[] = []): Promise<number> {
  const number = repo.as(by).openIssue({ title: "Work", body: "As it was.", labels: ["backlog", ...labels] });
  await world.settled();
  stories.later();
  return number;
}

/** It happens, and nobody tells; then what GitHub might still tell is over. */
function unheard<T>(change: () => T): T {
  const result = world.github.silently(change);
  stories.later(130);
  return result;
}

async function reconcile(repo: FakeRepository, mode: "since" | "all" = "since"): Promise<void> {
  await reconcileRepository(world.app.deps, repo.id, mode);
  await world.settled();
}

const writes = () =>
  world.github.requests.filter(({ method, path }) => method !== "GET" && path.startsWith("/repos/"));

/** Everything that Leasehold keeps of a repository, but for when it looked. */
async function stateOf(repo: FakeRepository) {
  const tables = [
    "issue",
    "issue_comment",
    "label",
    "item",
    "record",
    "record_link",
    "native_link",
    "claim_marker",
    "incident",
    "transition",
    "outbox",
    "pull_request_closes",
    "branch",
    "defect",
  ];
  const state: Record<string, unknown> = {};
  for (const table of tables) {
    const { rows } = await world.app.deps.database.pool.query(
      `select to_jsonb(t) as row from ${table} t where repository_id = $1 order by to_jsonb(t)::text`,
      [repo.id],
    );
    state[table] = rows.map(({ row }) => row);
  }
  return state;
}

async function changesNothing(repo: FakeRepository, mode: "since" | "all"): Promise<void> {
  const [state, written] = [await stateOf(repo), writes().length];
  await reconcile(repo, mode);
  expect(await stateOf(repo)).toEqual(state);
  expect(writes()).toHaveLength(written);
}

describe("row 6: what was lost on the way", () => {
  it("an `unlabeled` and a merge: the item is admitted, and completed by the merge; a second time nothing is done", async () => {
    const { repo, api } = await place();
    const gated = await item(repo, "planner[bot]");
    const merged = await item(repo);
    expect(repo.issue(gated).labels).toContain(GATE);
    const pull = repo.as("alice").openPull({ head: `feat/issue-${merged}`, body: `Fixes #${merged}` });
    await world.settled();
    unheard(() => {
      repo.as("tess").unlabel(gated, GATE);
      repo.as("alice").merge(pull);
    });
    await expectNotReady(api, gated);
    await reconcile(repo);
    expect(await api.item(gated)).toMatchObject({ admitted: true, admittedBy: "tess" });
    const done = await api.item(merged);
    expect(done).toMatchObject({ state: "complete", issueState: "closed" });
    expect(done.tags).toContain(`pr:${pull}`);
    await changesNothing(repo, "since");
    await changesNothing(repo, "all");
  });

  it("an issue that was closed before it was heard of, and a merge that was heard: completed by the merge", async () => {
    const { repo, api } = await place();
    const [done, relabelled, reopened] = unheard(() =>
      [1, 2, 3].map(() => {
        const number = repo.as("planner[bot]").openIssue({ title: "Work", labels: ["backlog"] });
        repo.as("planner[bot]").close(number, "not_planned");
        return number;
      }),
    ) as [number, number, number];
    const pulls = [done, relabelled, reopened].map((number) => {
      const pull = repo.as("alice").openPull({ head: `topic/${number}`, body: `Fixes #${number}` });
      repo.as("alice").merge(pull);
      return pull;
    });
    await world.settled();
    unheard(() => {
      // Whoever makes an item of it now, or takes it up again, wants more done.
      repo.as("tess").unlabel(relabelled, "backlog");
      stories.later(2);
      repo.as("tess").label(relabelled, "backlog");
      repo.as("tess").reopen(reopened);
    });
    await reconcile(repo);
    expect(await api.item(done)).toMatchObject({ state: "complete", issueState: "closed" });
    expect((await api.item(done)).tags).toContain(`pr:${pulls[0]}`);
    expect((await api.item(relabelled)).state).not.toBe("complete");
    expect(await api.item(reopened)).toMatchObject({ state: null, issueState: "open" });
    await changesNothing(repo, "since");
    await changesNothing(repo, "all");
  });

  it("a merge that was heard of, and then a label that made the issue an item: completed by the merge", async () => {
    const { repo, api } = await place();
    const number = unheard(() => repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] }));
    const pull = repo.as("alice").openPull({ head: `feat/issue-${number}` });
    repo.as("alice").merge(pull);
    await world.settled();
    repo.as("tess").label(number, "bug");
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: null });
    await reconcile(repo);
    expect(await api.item(number)).toMatchObject({ state: "complete", issueState: "closed" });
    await changesNothing(repo, "since");
    await changesNothing(repo, "all");
  });

  it("also if a later event brought the snapshot, and not the decision", async () => {
    const { repo, api } = await place();
    const gated = await item(repo, "planner[bot]");
    unheard(() => repo.as("tess").unlabel(gated, GATE));
    repo.as("rita").comment(gated, "Any news?");
    await world.settled();
    await expectNotReady(api, gated);
    await reconcile(repo);
    await expectReady(api, gated);
  });

  it("an agent's removal of the label: it is put back, and recorded", async () => {
    const { repo, api } = await place();
    const gated = await item(repo, "planner[bot]");
    unheard(() => repo.as("planner[bot]").unlabel(gated, GATE));
    await reconcile(repo);
    expect(repo.issue(gated).labels).toContain(GATE);
    await expectNotReady(api, gated);
    expect(await defectsOf(api, gated)).toContain("label_removed_by_agent");
  });

  it("the label put on, and taken off by an agent: it is on again, and the item is not admitted", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    await expectReady(api, number);
    unheard(() => {
      repo.as("tess").label(number, GATE);
      stories.later();
      repo.as("planner[bot]").unlabel(number, GATE);
    });
    await reconcile(repo);
    expect(repo.issue(number).labels).toContain(GATE);
    await expectNotReady(api, number);
  });

  it("closes and reopenings, in whatever order: the last one counts", async () => {
    const { repo, api } = await place();
    const [done, off, back, agents] = [
      await item(repo),
      await item(repo),
      await item(repo),
      await item(repo),
    ];
    repo.as("alice").close(back, "completed");
    await world.settled();
    expect(await api.item(back)).toMatchObject({ state: "complete" });
    stories.later();
    unheard(() => {
      repo.as("tess").close(done, "completed");
      repo.as("tess").close(off, "not_planned");
      repo.as("tess").reopen(back);
      repo.as("planner[bot]").close(agents, "completed");
    });
    await reconcile(repo);
    expect(await api.item(done)).toMatchObject({ state: "complete" });
    expect(await api.item(off)).toMatchObject({ state: "cancelled" });
    // row 33: open again.
    expect(await api.item(back)).toMatchObject({ state: null });
    expect(await api.item(agents)).toMatchObject({ state: null, issueState: "closed" });
    await changesNothing(repo, "since");
  });

  it("a reopening counts though whoever did it lost their rights since", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    repo.as("alice").close(number, "completed");
    stories.later();
    repo.as("tess").reopen(number);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: null });
    stories.later();
    // Something to ask the history about; by then the list shows alice's close as the last act of a human.
    repo.setRole("tess", "read");
    unheard(() => repo.as("alice").label(number, "priority:P0"));
    await reconcile(repo);
    expect(await api.item(number)).toMatchObject({ state: null, issueState: "open" });
    expect((await api.item(number)).tags).toContain("priority:P0");
  });

  it("a merge before the issue was reopened does not complete it", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    const pull = repo.as("alice").openPull({ head: `feat/issue-${number}`, body: `Fixes #${number}` });
    await world.settled();
    unheard(() => {
      repo.as("alice").merge(pull);
      stories.later();
      repo.as("alice").reopen(number);
    });
    await reconcile(repo);
    expect(await api.item(number)).toMatchObject({ state: null, issueState: "open" });
  });

  it("a park and an unpark by a human", async () => {
    const { repo, api } = await place();
    const [parks, unparks] = [await item(repo), await item(repo)];
    repo.as("tess").label(unparks, STALE);
    await world.settled();
    stories.later();
    unheard(() => {
      repo.as("tess").label(parks, STALE);
      repo.as("tess").unlabel(unparks, STALE);
    });
    await reconcile(repo);
    expect(await api.item(parks)).toMatchObject({ state: "parked" });
    expect(await api.item(unparks)).toMatchObject({ state: null });
  });

  it("an edit of the body by nobody knows whom withdraws admission; one that GitHub still tells of does not", async () => {
    const { repo, api } = await place();
    const [edited, told] = [await item(repo), await item(repo)];
    unheard(() => repo.as("tess").editIssue(edited, { body: "Something else." }));
    world.github.hold();
    repo.as("tess").editIssue(told, { body: "Something else." });
    await reconcileRepository(world.app.deps, repo.id, "since");
    world.github.release();
    await world.settled();
    expect(await api.item(edited)).toMatchObject({ admitted: false });
    expect(repo.issue(edited).labels).toContain(GATE);
    expect(await api.item(told)).toMatchObject({ admitted: true });
  });

  it("issues opened, also those that are closed again by now", async () => {
    const { repo, api } = await place();
    const [open, closed] = unheard(() => {
      const numbers = ["Open", "Done"].map((title) =>
        repo.as("alice").openIssue({ title, labels: ["backlog", "P1"] }),
      );
      repo.as("alice").close(numbers[1] ?? 0, "completed");
      return numbers;
    });
    await reconcile(repo);
    expect(await readyNumbers(api)).toEqual([open]);
    expect(await api.item(closed ?? 0)).toMatchObject({ state: "complete", priority: "P1" });
  });

  it("a push: what is anchored on the branch is read, and its head is known", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    repo.setFile("main", "src/a.ts", "one");
    await world.settled();
    await api.repo("PATCH", `/items/${number}`, {
      body: { links: { add: { anchoredTo: ["file/src/a.ts"] } } },
    });
    await world.settled();
    expect(await api.item(number)).toMatchObject({ stale: false });
    unheard(() => repo.setFile("main", "src/a.ts", "two"));
    await reconcile(repo);
    expect(await api.item(number)).toMatchObject({ stale: true });
    await changesNothing(repo, "since");
  });

  it("links between issues", async () => {
    const { repo, api } = await place();
    const [blocked, blocker] = [await item(repo), await item(repo)];
    unheard(() => repo.as("alice").blockBy(blocked, blocker));
    await expectReady(api, blocked);
    await reconcile(repo);
    await expectNotReady(api, blocked);
    unheard(() => repo.as("alice").unblock(blocked, blocker));
    await reconcile(repo);
    await expectReady(api, blocked);
  });
});

describe("a reading of everything finds what is gone", () => {
  it("row 29: a deleted issue leaves a tombstone, and the rest is read", async () => {
    const { repo, api } = await place();
    const [gone, kept] = [await item(repo), await item(repo)];
    unheard(() => repo.as("alice").deleteIssue(gone));
    await reconcile(repo, "all");
    expect(await readyNumbers(api)).toEqual([kept]);
    expect(await api.item(gone)).toMatchObject({ state: "cancelled" });
    await changesNothing(repo, "all");
  });

  it("row 28: a transferred issue leaves one too, and its memory is at its new place", async () => {
    const { repo, api } = await place();
    const other = await world.repository(`${repo.owner}/gadgets`);
    const number = await item(repo);
    const { fencingToken } = await granted(api, number, "worker/a");
    await api.release(number, fencingToken);
    await world.settled();
    const moved = unheard(() => repo.as("alice").transfer(number, other));
    other.silently(() => other.as("alice").label(moved, "backlog"));
    await reconcile(other, "all");
    await reconcile(repo, "all");
    expect(await api.item(number)).toMatchObject({ state: "cancelled" });
    const there = await world.api.with({ repo: other.fullName }).item(moved);
    expect(there).toMatchObject({ attempts: { grants: 1 } });
    await changesNothing(repo, "all");
  });

  it("row 30: what became a discussion is cancelled, and never complete", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    unheard(() => repo.as("alice").convertToDiscussion(number));
    await reconcile(repo);
    expect(await api.item(number)).toMatchObject({ state: "cancelled" });
    await changesNothing(repo, "all");
  });

  it("row 42: a deleted comment takes nothing back", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    const { fencingToken } = await granted(api, number, "worker/a");
    await api.release(number, fencingToken);
    await world.settled();
    const [marker] = repo.issue(number).comments;
    unheard(() => repo.as("alice").deleteComment(marker?.id ?? 0));
    await reconcile(repo, "all");
    expect(claimMarkers(repo, number)).toHaveLength(0);
    expect(await api.item(number)).toMatchObject({ attempts: { markers: 1, grants: 1 } });
    const { rows } = await world.app.deps.database.pool.query(
      "select deleted from issue_comment where repository_id = $1 and id = $2",
      [repo.id, marker?.id],
    );
    expect(rows).toEqual([{ deleted: true }]);
    await changesNothing(repo, "all");
  });

  it("row 71: an issue that GitHub does not show yet leaves no tombstone", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    const path = `/repos/${repo.fullName}/issues/${number}`;
    world.github.fault({ method: "GET", path, kind: "status", status: 404, body: { message: "Not Found" } });
    world.github.fault({
      method: "GET",
      path: `/repos/${repo.fullName}/issues`,
      kind: "status",
      status: 200,
      body: [],
    });
    await reconcile(repo, "all");
    world.github.clearFaults();
    await expectReady(api, number);
  });

  it("row 71: an event of an issue that was deleted leaves one, though nobody told of the deletion", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    world.github.hold();
    repo.as("alice").close(number, "completed");
    world.github.silently(() => repo.as("alice").deleteIssue(number));
    world.github.release();
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "cancelled" });
  });
});

describe("labels whose definitions changed while nobody told", () => {
  it("row 18: renaming the gate admits nobody", async () => {
    const { repo, api } = await place();
    const gated = await item(repo, "planner[bot]");
    unheard(() => repo.as("alice").renameLabel(GATE, "needs-spec"));
    await reconcile(repo, "all");
    await expectNotReady(api, gated);
    expect(repo.issue(gated).labels).toEqual(expect.arrayContaining([GATE]));
    await changesNothing(repo, "all");
  });

  it.each(["since", "all"] as const)("row 19: nor does deleting it (%s)", async (mode) => {
    const { repo, api } = await place();
    const gated = await item(repo, "planner[bot]");
    unheard(() => repo.as("alice").deleteLabel(GATE));
    await reconcile(repo, mode);
    await expectNotReady(api, gated);
    expect(repo.issue(gated).labels).toContain(GATE);
    await changesNothing(repo, mode);
  });
});

describe("row 5: an event and a reading in the same second", () => {
  it("of what the mirror and the list say otherwise the issue itself is asked", async () => {
    const { repo, api } = await place();
    const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
    world.github.silently(() => repo.as("alice").label(number, "P0"));
    await world.settled();
    await reconcile(repo);
    expect(await api.item(number)).toMatchObject({ labels: expect.arrayContaining(["P0"]), priority: "P0" });
    expect(labelWrites(world, repo, number)).toBe(0);
  });
});

describe("the life of a repository", () => {
  it("rows 36 and 37: a suspension or a removal of which nobody told ends what speaks to GitHub, and what comes back is read", async () => {
    const { repo } = await place();
    await item(repo);
    unheard(() => world.github.suspend(repo.owner));
    await expect(reconcileRepository(world.app.deps, repo.id, "since")).rejects.toThrow(/could not be read/);
    await world.settled();
    const before = world.github.requests.length;
    await stories.pass(120);
    await world.settled();
    // The audit of deliveries asks in the App's own name.
    expect(world.github.requests.slice(before).filter(({ path }) => !path.startsWith("/app/"))).toEqual([]);
    world.github.unsuspend(repo.owner);
    await world.settled();
    await changesNothing(repo, "all");
  });

  it("a deleted repository is uninstalled, and its history kept", async () => {
    const { repo, api } = await place();
    const number = await item(repo);
    unheard(() => world.github.deleteRepository(repo));
    await reconcileRepository(world.app.deps, repo.id, "since").catch(() => {});
    await world.settled();
    const { repos } = (await world.api.send("GET", "/api/v1/repos?limit=100")).body;
    const listed = repos.find(({ id }: { id: number }) => id === repo.id);
    expect(listed).toMatchObject({ installed: false });
    expect(await api.item(number)).toMatchObject({ number });
  });

  it("renamed and with another default branch", async () => {
    const { repo } = await place();
    const number = await item(repo);
    unheard(() => {
      world.github.renameRepository(repo, "renamed");
      repo.as("alice").createBranch("trunk");
      world.github.changeDefaultBranch(repo, "trunk");
    });
    await reconcile(repo);
    const api = world.api.with({ repo: `${repo.owner}/renamed` });
    expect(await api.item(number)).toMatchObject({ baseBranch: "trunk" });
  });

  it("row 35: unarchived, it is read", async () => {
    const { repo, api } = await place();
    await item(repo);
    world.github.archive(repo);
    await world.settled();
    world.github.hold();
    world.github.unarchive(repo);
    stories.later(400);
    const opened = repo.as("alice").openIssue({ title: "Meanwhile", labels: ["backlog"] });
    const lost = world.github.drop();
    const unarchived = lost.find(({ action }) => action === "unarchived");
    world.github.release();
    await world.github.redeliver(unarchived?.guid ?? "");
    await world.settled();
    await expectReady(api, opened);
  });
});

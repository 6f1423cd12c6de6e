/** Poison and parking (protocol 5): three attempts park an item; only a human unparks it. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  defectsOf,
  down,
  expectNotReady,
  expectReady,
  expectRefused,
  granted,
  labelWrites,
  outcomes,
  ownComments,
  readyNumbers,
  STALE,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let api: ApiClient;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
});
afterAll(() => world.end());

async function readyItem(where = repo): Promise<number> {
  const number = where.as("alice").openIssue({ title: "Hard", labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
}

/** Claims and gives back. */
async function attemptInVain(number: number, on = api): Promise<void> {
  const { fencingToken } = await granted(on, number, "worker/tries");
  await on.release(number, fencingToken);
}

/** Two attempts in vain, and a third under way; answers its token. */
async function thirdAttempt(number: number): Promise<number> {
  await attemptInVain(number);
  await attemptInVain(number);
  return (await granted(api, number, "worker/third")).fencingToken;
}

async function parkedItem(where = repo, on = api): Promise<number> {
  const number = await readyItem(where);
  for (let attempt = 0; attempt < 3; attempt += 1) await attemptInVain(number, on);
  await world.settled();
  stories.later();
  return number;
}

async function expectParked(number: number): Promise<void> {
  const item = await api.item(number);
  expect(item).toMatchObject({ state: "parked", role: "blocked" });
  expect(item.tags).toContain("state:parked");
  expect(repo.issue(number)).toMatchObject({ state: "open", labels: expect.arrayContaining([STALE]) });
  await expectRefused(api, number, "parked");
}

describe("the third attempt", () => {
  it("runs to its end: it may renew and write, and no sweep takes it away", async () => {
    const number = await readyItem();
    const fence = await thirdAttempt(number);
    expect(await world.sweep()).toBe(0);
    expect(await api.renew(number, fence)).toMatchObject({ granted: true });
    expect(await api.item(number)).toMatchObject({ state: null, role: "work", attempts: { poison: true } });
    await api.release(number, fence);
  });

  it("given back parks the item at once, with one comment that says why and what to do", async () => {
    const number = await readyItem();
    const fence = await thirdAttempt(number);
    await api.release(number, fence, { note: "The tests cannot pass." });
    await world.settled();
    await expectParked(number);
    const [outcome, ...others] = outcomes(repo, number, "parked");
    expect(others).toEqual([]);
    expect(outcome).toContain(`owner=worker/third fence=${fence} result=parked -->`);
    expect(outcome).toContain("3 attempts did not complete it");
    expect(outcome).toContain("> The tests cannot pass.");
    expect(outcome).toContain("removes the label `stale` unparks it");
    expect(outcomes(repo, number, "released")).toHaveLength(2);
  });

  it("writes the label before the comment", async () => {
    const number = await readyItem();
    await api.release(number, await thirdAttempt(number));
    await world.settled();
    const writes = world.github.requests
      .filter(({ method, path }) => method === "POST" && path.includes(`/issues/${number}/`))
      .map(({ path }) => path.split("/").at(-1));
    expect(writes.slice(-2)).toEqual(["labels", "comments"]);
  });

  it("lapsed is poison until the sweep parks it", async () => {
    const number = await readyItem();
    await thirdAttempt(number);
    await stories.pass(31);
    await expectRefused(api, number, "poison");
    await expectNotReady(api, number);
    expect(await world.sweep()).toBe(1);
    await expectParked(number);
    expect(outcomes(repo, number, "parked")).toHaveLength(1);
  });

  it("that completes the item does not park it", async () => {
    const number = await readyItem();
    await thirdAttempt(number);
    repo.as("alice").merge(repo.as("alice").openPull({ head: `feat/issue-${number}` }));
    await world.settled();
    await world.sweep();
    expect(await api.item(number)).toMatchObject({ state: "complete" });
    expect(repo.issue(number).labels).not.toContain(STALE);
  });
});

describe("the sweep", () => {
  it("done twice, or by two processes at once, parks once", async () => {
    const number = await readyItem();
    await thirdAttempt(number);
    await stories.pass(31);
    const parked = await Promise.all([world.sweep(), world.sweep(), world.sweep()]);
    expect(parked.toSorted()).toEqual([0, 0, 1]);
    expect(await world.sweep()).toBe(0);
    expect(outcomes(repo, number, "parked")).toHaveLength(1);
    expect(labelWrites(world, repo, number)).toBe(1);
  });

  it("leaves an item with attempts to spare alone", async () => {
    const number = await readyItem();
    await attemptInVain(number);
    await granted(api, number, "worker/b");
    await stories.pass(31);
    expect(await world.sweep()).toBe(0);
    await expectReady(api, number);
  });

  it("runs by its schedule without being asked", async () => {
    const number = await readyItem();
    await thirdAttempt(number);
    await stories.pass(31);
    await world.app.deps.database.pool.query(
      "select graphile_worker.add_job('sweep', job_key => 'sweep', job_key_mode => 'replace')",
    );
    await expect.poll(async () => (await api.item(number)).state).toBe("parked");
    await world.settled();
    const { rows } = await world.app.deps.database.pool.query(
      "select run_at > now() + interval '50 minutes' as later from graphile_worker.jobs where key = 'sweep'",
    );
    expect(rows).toEqual([{ later: true }]);
  });
});

describe("half a park", () => {
  it("is finished when GitHub refuses the label for a while", async () => {
    const number = await readyItem();
    const fence = await thirdAttempt(number);
    down(world, `/repos/acme/widgets/issues/${number}/labels`);
    await api.release(number, fence);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "parked" });
    expect(repo.issue(number).labels).not.toContain(STALE);
    await expectRefused(api, number, "parked");

    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    await expectParked(number);
    expect(outcomes(repo, number, "parked")).toHaveLength(1);
  });

  it("is finished by the sweep when GitHub refused the label for good", async () => {
    world.expectError(/GitHub refuses what was promised/);
    const number = await readyItem();
    const fence = await thirdAttempt(number);
    world.github.fault({
      method: "POST",
      path: `/repos/acme/widgets/issues/${number}/labels`,
      kind: "status",
      status: 422,
    });
    await api.release(number, fence);
    await world.settled();
    expect(repo.issue(number).labels).not.toContain(STALE);
    await world.sweep();
    await expectParked(number);
    expect(outcomes(repo, number, "parked")).toHaveLength(1);
  });

  it("is not finished by the sweep once a human unparked the item", async () => {
    const number = await parkedItem();
    repo.as("alice").unlabel(number, STALE);
    await world.settled();
    const before = labelWrites(world, repo, number);
    await world.sweep();
    await expectReady(api, number);
    expect(labelWrites(world, repo, number)).toBe(before);
  });
});

describe("unparking", () => {
  it("is a human taking the label off: the item is ready again, and its attempts start afresh", async () => {
    const number = await parkedItem();
    await expectParked(number);
    repo.as("tess").unlabel(number, STALE);
    await world.settled();
    await expectReady(api, number);
    const item = await api.item(number);
    expect(item).toMatchObject({ state: null, attempts: { grants: 0, markers: 0, poison: false } });
    expect(item.tags.filter((tag: string) => tag.startsWith("state:"))).toEqual([]);
    expect(await api.claim(number, "worker/new")).toMatchObject({ granted: true, attempt: 1 });
  });

  it("is not a bot's to do: the label is put back, and the attempt recorded", async () => {
    const number = await parkedItem();
    repo.as("github-actions[bot]").unlabel(number, STALE);
    await world.settled();
    await expectParked(number);
    expect(await defectsOf(api, number)).toContain("label_removed_by_agent");
  });

  it("is not a reader's to do, nor that of a person acting through an app", async () => {
    for (const somebody of [repo.as("rita"), repo.as("alice", { viaApp: "some-agent" })]) {
      const number = await parkedItem();
      somebody.unlabel(number, STALE);
      await world.settled();
      await expectParked(number);
    }
  });

  it("is not done by deleting the label's definition: it is made again, and put on again", async () => {
    const other = await world.repository("acme/no-stale");
    const number = await parkedItem(other, api.with({ repo: "acme/no-stale" }));
    other.as("alice").deleteLabel(STALE);
    await world.settled();
    expect(other.labels()).toContain(STALE);
    expect(other.issue(number).labels).toContain(STALE);
    await expectRefused(api.with({ repo: "acme/no-stale" }), number, "parked");
  });

  it("is not done by renaming the label", async () => {
    const other = await world.repository("acme/renamed-stale");
    const number = await parkedItem(other, api.with({ repo: "acme/renamed-stale" }));
    other.as("alice").renameLabel(STALE, "old");
    await world.settled();
    expect(other.issue(number).labels).toContain(STALE);
    await expectRefused(api.with({ repo: "acme/renamed-stale" }), number, "parked");
  });

  it("is not done by a human whose removal was undone within the same second", async () => {
    const number = await parkedItem();
    world.github.hold();
    repo.as("alice").unlabel(number, STALE);
    repo.as("tess").label(number, STALE);
    world.github.release({ order: "reverse" });
    await world.settled();
    await expectParked(number);
  });

  it("lets the item be parked once more after three further attempts", async () => {
    const number = await parkedItem();
    repo.as("tess").unlabel(number, STALE);
    await world.settled();
    stories.later();
    for (let attempt = 0; attempt < 3; attempt += 1) await attemptInVain(number);
    await world.settled();
    await expectParked(number);
    expect(outcomes(repo, number, "parked")).toHaveLength(2);
  });

  it("[42] is not done by deleting the markers: counted is counted", async () => {
    const number = await parkedItem();
    for (const { id, author } of repo.issue(number).comments) {
      if (author === "leasehold[bot]") repo.as("alice").deleteComment(id);
    }
    await world.settled();
    await expectParked(number);
    expect(await api.item(number)).toMatchObject({ attempts: { grants: 3, markers: 3 } });
  });

  it("[26] is not done by what the App itself writes, which moves the issue's time", async () => {
    const number = await parkedItem();
    const before = ownComments(repo, number).length;
    repo.as("stranger").comment(number, "Any news?");
    repo.as("alice").editIssue(number, { title: "Harder" });
    await world.settled();
    await expectParked(number);
    expect(ownComments(repo, number)).toHaveLength(before);
  });
});

describe("a human's label", () => {
  it("parks the item at once when nobody works on it, and names who must rule", async () => {
    const number = await readyItem();
    repo.as("tess").label(number, STALE);
    await world.settled();
    await expectParked(number);
    expect((await api.item(number)).reasons).toEqual([
      expect.objectContaining({ reason: "parked", rulingOwner: "tess" }),
    ]);
    expect(outcomes(repo, number, "parked")).toHaveLength(1);
  });

  it("leaves whoever holds the item alone: it is parked when they give it back", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/a");
    repo.as("tess").label(number, STALE);
    await world.settled();
    await world.sweep();
    expect(await api.item(number)).toMatchObject({ state: null, role: "work" });
    await api.repo("PATCH", `/memory/backlog/issue-${number}`, { fence: fencingToken, body: { body: "x" } });
    await api.release(number, fencingToken);
    await world.settled();
    await expectParked(number);
    expect((await api.item(number)).reasons).toEqual([
      expect.objectContaining({ reason: "parked", rulingOwner: "tess" }),
    ]);
    expect(outcomes(repo, number, "parked")).toHaveLength(1);
    expect(outcomes(repo, number, "released")).toHaveLength(0);
  });

  it("keeps everybody from the item after a lapse, and the sweep parks it", async () => {
    const number = await readyItem();
    await granted(api, number, "worker/a");
    repo.as("tess").label(number, STALE);
    await world.settled();
    await stories.pass(1800);
    await expectRefused(api, number, "parked");
    expect(await readyNumbers(api)).not.toContain(number);
    await world.sweep();
    await world.settled();
    await expectParked(number);
  });

  it("taken off again while the item is held changes nothing; a bot may not do that", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/a");
    repo.as("tess").label(number, STALE);
    await world.settled();
    stories.later();
    repo.as("janitor[bot]").unlabel(number, STALE);
    await world.settled();
    expect(repo.issue(number).labels).toContain(STALE);
    stories.later();
    repo.as("tess").unlabel(number, STALE);
    await world.settled();
    await api.release(number, fencingToken);
    await world.settled();
    await expectReady(api, number);
  });

  it("on an issue that becomes an item by it, or later, parks it too", async () => {
    const [first, later] = repo.silently(() => [
      repo.as("alice").openIssue({ title: "Unseen", labels: ["backlog"] }),
      repo.as("alice").openIssue({ title: "No item yet" }),
    ]);
    repo.as("tess").label(first, STALE);
    repo.silently(() => repo.as("tess").label(later, STALE));
    stories.later();
    repo.as("alice").label(later, "backlog");
    await world.settled();
    await expectParked(first);
    await expectParked(later);
  });

  it("is told to what waits for the item", async () => {
    const [number, dependent] = [await readyItem(), await readyItem()];
    await api.block(dependent, number);
    repo.as("tess").label(number, STALE);
    await world.settled();
    const waiting = (await api.ready("?limit=100")).waiting.find(
      (entry: { number: number }) => entry.number === dependent,
    );
    expect(waiting.reasons[0]).toMatchObject({ reason: "blocked", on: [number], rulingOwner: "tess" });
    expect(await defectsOf(api, dependent)).toEqual(["stalled_blocker"]);
  });

  it("parks although a bot took it off at once and was heard of first", async () => {
    const number = await readyItem();
    world.github.hold();
    repo.as("tess").label(number, STALE);
    repo.as("janitor[bot]").unlabel(number, STALE);
    world.github.release({ order: "reverse" });
    await world.settled();
    await expectParked(number);
  });

  it("[17] parks in any case of letters", async () => {
    const other = world.github.repository("acme/shouting", {
      collaborators: { alice: "admin" },
      labels: ["STALE"],
    });
    await world.install(other);
    const number = other.as("alice").openIssue({ title: "x", labels: ["backlog"] });
    await world.settled();
    stories.later();
    other.as("alice").label(number, "stale");
    await world.settled();
    await expectRefused(api.with({ repo: "acme/shouting" }), number, "parked");
  });
});

describe("[26] another tool's label", () => {
  it("does not park", async () => {
    const number = await readyItem();
    repo.as("actions-stale[bot]").label(number, STALE);
    await world.settled();
    await world.sweep();
    expect(await api.item(number)).toMatchObject({ state: null });
    await expectReady(api, number);
  });

  it("taken off again by the tool or by a human unparks nothing, and is not put back", async () => {
    for (const somebody of ["actions-stale[bot]", "alice"]) {
      const number = await readyItem();
      repo.as("actions-stale[bot]").label(number, STALE);
      await world.settled();
      stories.later();
      repo.as(somebody).unlabel(number, STALE);
      await world.settled();
      await expectReady(api, number);
      expect(repo.issue(number).labels).not.toContain(STALE);
      expect(await defectsOf(api, number)).toEqual([]);
    }
  });

  it("taken off a parked item by the tool is put back", async () => {
    const number = await readyItem();
    repo.as("actions-stale[bot]").label(number, STALE);
    await world.settled();
    for (let attempt = 0; attempt < 3; attempt += 1) await attemptInVain(number);
    await world.settled();
    await expectParked(number);
    stories.later();
    repo.as("actions-stale[bot]").unlabel(number, STALE);
    await world.settled();
    await expectParked(number);
  });
});

describe("a parked item", () => {
  it("is listed as parked, and reopening or closing by a bot does not unpark it", async () => {
    const number = await parkedItem();
    expect((await api.ready("?limit=100")).parked).toContain(number);
    repo.as("actions-stale[bot]").close(number, "not_planned");
    await world.settled();
    stories.later();
    repo.as("alice").reopen(number);
    await world.settled();
    await expectParked(number);
  });

  it("may not be waited for: a new edge to it is refused", async () => {
    const [number, dependent] = [await parkedItem(), await readyItem()];
    const edge = { body: { links: { add: { blockedBy: [`mem/backlog/issue-${number}`] } } } };
    expect(await api.tryRepo("PATCH", `/memory/backlog/issue-${dependent}`, edge)).toMatchObject({
      status: 409,
      body: { code: "edge_refused" },
    });
  });
});

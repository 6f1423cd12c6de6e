/** Rows of the list of GitHub's real behaviour that are nobody else's story: 30, 44, 55 and 61. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  claimMarkers,
  defectsOf,
  expectNotReady,
  expectReady,
  expectRefused,
  granted,
  intercept,
  outcomes,
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

async function readyItem(): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
}

const goneOf = async (number: number): Promise<string | null> => {
  const row = await world.db
    .selectFrom("issue")
    .select("gone")
    .where("repository_id", "=", repo.id)
    .where("number", "=", number)
    .executeTakeFirstOrThrow();
  return row.gone;
};

describe("row 30: an issue converted to a discussion", () => {
  it.each([
    ["a human with triage rights", () => repo.as("alice")],
    ["a bot", () => repo.as("tidy[bot]")],
    ["a person's token through an app", () => repo.as("alice", { viaApp: "some-agent" })],
  ])("by %s is cancelled, never complete, and leaves a tombstone", async (_, who) => {
    const [number, dependent] = [await readyItem(), await readyItem()];
    await api.block(dependent, number);
    const { fencingToken } = await granted(api, number, "worker/a");
    who().convertToDiscussion(number);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "cancelled" });
    expect(await goneOf(number)).toBe("converted");
    expect(outcomes(repo, number, "complete")).toEqual([]);
    await expectRefused(api, number, "closed");
    expect(await api.renew(number, fencingToken)).toMatchObject({ granted: false });
    expect(await defectsOf(api, dependent)).toEqual(["stalled_blocker"]);
  });

  it("is not brought back by what was said on it before", async () => {
    const number = await readyItem();
    const comment = intercept(world, () => repo.as("tess").comment(number, "Is this a discussion?"));
    stories.later();
    repo.as("alice").convertToDiscussion(number);
    await world.settled();
    await world.github.deliver({ event: "issue_comment", payload: comment });
    await world.settled();
    expect(await goneOf(number)).toBe("converted");
    await expectNotReady(api, number);
  });
});

describe("row 44: two agents in the same second", () => {
  it("get one winner, whose marker alone is on the issue", async () => {
    const number = await readyItem();
    const owners = ["worker/a", "worker/b"];
    const answers = await Promise.all(owners.map((owner) => api.claim(number, owner)));
    const winners = owners.filter((_, place) => answers[place].granted);
    expect(winners).toHaveLength(1);
    expect(answers.find((answer) => !answer.granted)).toMatchObject({ reason: "contended" });
    await world.settled();
    expect(claimMarkers(repo, number)).toEqual([expect.stringContaining(` owner=${winners[0]} `)]);
  });

  it.each([
    ["in the order of their ids", [0, 1]],
    ["the other way round", [1, 0]],
  ])("whose own markers carry one time hold as the store granted, told %s", async (_, order) => {
    const number = await readyItem();
    const held = await granted(api, number, "worker/holder");
    await world.settled();
    const stamp = "2026-09-06T00:12:44Z";
    const marker = (owner: string, fence: number) =>
      `<!-- backlog-worker: claim item=issue-${number} owner=${owner} region=local fence=${fence} at=${stamp} -->`;
    world.github.hold();
    repo.as("alice").comment(number, marker("worker/rival", held.fencingToken + 1));
    repo.as("alice").comment(number, marker("worker/holder", held.fencingToken));
    world.github.release({ order });
    await world.settled();
    expect(await api.status(number)).toMatchObject({
      owner: "worker/holder",
      fencingToken: held.fencingToken,
      isHeld: true,
    });
    expect((await api.item(number)).attempts).toMatchObject({ grants: 1, markers: 1 });
  });
});

describe("row 55: a merge queue's side events", () => {
  /** The pull request of an item, and the news that the queue let go of it. */
  async function queued(): Promise<{ number: number; pull: number; dequeued: (reason: string) => object }> {
    const number = await readyItem();
    const pull = repo.as("alice").openPull({ head: `queue/${number}`, body: `Fixes #${number}` });
    await world.settled();
    stories.later();
    const payload = intercept(world, () => repo.as("alice").editPull(pull, { title: "Queued" }));
    return {
      number,
      pull,
      dequeued: (reason) => ({ ...payload, action: "dequeued", reason, changes: undefined }),
    };
  }

  it.each([
    ["before", true],
    ["after", false],
  ])("dequeued for a merge, heard of %s the merge, completes once", async (_, isBefore) => {
    const { number, pull, dequeued } = await queued();
    const news = { event: "pull_request", payload: dequeued("MERGE") };
    if (isBefore) await world.github.deliver(news);
    stories.later();
    repo.as("alice").merge(pull);
    if (!isBefore) await world.github.deliver(news);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "complete" });
    expect(outcomes(repo, number, "complete")).toHaveLength(1);
  });

  it.each(["CI_FAILURE", "MANUAL", "UNKNOWN_REMOVAL_REASON"])(
    "dequeued for %s completes nothing",
    async (reason) => {
      const { number, dequeued } = await queued();
      await world.github.deliver({ event: "pull_request", payload: dequeued(reason) });
      await world.settled();
      expect(await api.item(number)).toMatchObject({ state: null });
      expect(outcomes(repo, number, "complete")).toEqual([]);
    },
  );
});

describe("row 61: a draft", () => {
  it("opened, made ready and made a draft again, completes nothing", async () => {
    const number = await readyItem();
    const alice = repo.as("alice");
    const pull = alice.openPull({ head: `draft/${number}`, body: `Fixes #${number}`, draft: true });
    await world.settled();
    alice.readyForReview(pull);
    alice.convertToDraft(pull);
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: null });
    await expectReady(api, number);
  });
});

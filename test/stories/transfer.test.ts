/** A transferred item moves with its memory (protocol 1; github-cases 28), whichever of its two deliveries comes first. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  expectNotReady,
  expectReady,
  expectRefused,
  granted,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
let target: FakeRepository;
let api: ApiClient;
let there: ApiClient;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
  target = await world.repository("acme/target");
  there = api.with({ repo: "acme/target" });
});
afterAll(() => world.end());

const openItem = async (title = "Moves"): Promise<number> => {
  const number = repo.as("alice").openIssue({ title, labels: ["backlog"] });
  await world.settled();
  return number;
};

/** Transfers the issue; its two deliveries are kept back, the new place's first. */
function transferUnheard(number: number) {
  stories.later();
  world.github.hold();
  const moved = repo.as("alice").transfer(number, target);
  const deliveries = world.github.drop();
  world.github.release();
  expect(deliveries.map(({ action }) => action)).toEqual(["opened", "transferred"]);
  const arrives = async (which: number) => {
    const { event = "", payload = "null" } = deliveries[which] ?? {};
    await world.github.deliver({ event, payload: JSON.parse(payload) });
    await world.settled();
  };
  return { moved, arrives };
}

/** Transfers the issue; the first of its two deliveries is worked off before the second comes. */
async function transfer(number: number, order: readonly [number, number]): Promise<number> {
  const { moved, arrives } = transferUnheard(number);
  for (const which of order) await arrives(which);
  return moved;
}

const record = (client: ApiClient, number: number) => client.repo("GET", `/memory/backlog/issue-${number}`);

describe.each([
  ["opened first", [0, 1]],
  ["transferred first", [1, 0]],
] as const)("[28] a transfer, %s", (_, order) => {
  it("leaves a tombstone, and takes text, tags, edges, notes and attempts along", async () => {
    const [number, blocker] = [await openItem(), await openItem("Blocks")];
    await api.block(number, blocker);
    await api.repo("PATCH", `/memory/backlog/issue-${number}`, {
      body: { body: "The parser is the hard part.", tags: { add: ["team:red"] } },
    });
    repo.as("alice").close(blocker, "completed");
    await world.settled();
    const { fencingToken } = await granted(api, number, "worker/a");
    await api.repo("PATCH", `/items/${number}`, {
      fence: fencingToken,
      body: { resume: { lastLocation: { branch: `feat/issue-${number}` }, resumeNote: "half done" } },
    });
    await world.settled();
    const moved = await transfer(number, order);

    expect(await api.item(number)).toMatchObject({ state: "cancelled", isClaimed: false });
    await expectNotReady(api, number);
    await expectReady(there, moved);
    const item = await there.item(moved);
    expect(item).toMatchObject({
      isClaimed: false,
      baseBranch: "main",
      attempts: { grants: 1, markers: 1, reading: "consistent" },
      resume: { lastLocation: null, resumeNote: "half done" },
    });
    expect(item.tags).toContain("team:red");
    expect(await record(there, moved)).toMatchObject({
      body: "The parser is the hard part.",
      links: { blockedBy: [`repo/acme/widgets/mem/backlog/issue-${blocker}`] },
    });
    expect((await there.claim(moved, "worker/b")).attempt).toBe(2);
    const late = await there.tryRepo("PATCH", `/memory/backlog/issue-${moved}`, {
      fence: fencingToken,
      body: { body: "a token of the old place" },
    });
    expect([late.status, late.body.code]).toEqual([409, "stale_token"]);
  });

  it("does not unpark, and a human may then", async () => {
    const number = await openItem();
    await api.repo("POST", `/items/${number}/park`, {
      body: { reason: "two readings", rulingOwner: "alice", question: "Which of both?" },
    });
    await world.settled();
    const moved = await transfer(number, order);
    await expectRefused(there, moved, "parked");
    const { parked, waiting } = await there.ready();
    expect({ parked, waiting }).toMatchObject({ parked: expect.arrayContaining([moved]) });
    expect((await there.item(moved)).reasons).toMatchObject([
      { rulingOwner: "alice", question: "Which of both?" },
    ]);
    stories.later();
    target.as("alice").unlabel(moved, "stale");
    await world.settled();
    await expectReady(there, moved);
  });

  it("of a complete item makes no item there, and leaves its dependents free", async () => {
    const [number, dependent] = [await openItem(), await openItem("Depends")];
    await api.block(dependent, number);
    stories.later();
    repo.as("alice").close(number, "completed");
    await world.settled();
    const moved = await transfer(number, order);
    expect((await there.tryRepo("GET", `/items/${moved}`)).status).toBe(404);
    await expectReady(api, dependent);
  });
});

it("[28] what a human decided at the new place is not undone by late news of the old one", async () => {
  const number = await openItem();
  await api.repo("POST", `/items/${number}/park`, {
    body: { reason: "unclear", rulingOwner: "alice", question: "Which?" },
  });
  await world.settled();
  const { moved, arrives } = transferUnheard(number);
  await arrives(0);
  stories.later();
  target.as("alice").unlabel(moved, "stale");
  await world.settled();
  await expectReady(there, moved);
  await arrives(1);
  await expectReady(there, moved);
});

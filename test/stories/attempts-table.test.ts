/** The table of protocol 4, "Attempts, markers, takeover", a story per row: what grants and markers together mean. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { defectsOf, granted, OWN_BOT, type Stories, startStories } from "./support/stories.ts";

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

/** A claim that is given back. `unmarked`: GitHub refuses its marker for good. */
async function attempt(number: number, owner: string, { unmarked = false } = {}): Promise<void> {
  const path = `/repos/acme/widgets/issues/${number}/comments`;
  if (unmarked) {
    world.expectError(/GitHub refuses what was promised|outbox: claim:/);
    world.github.fault({ method: "POST", path, kind: "status", status: 422 });
  }
  const { fencingToken } = await granted(api, number, owner);
  await world.settled();
  await api.release(number, fencingToken);
  await world.settled();
}

const attemptsOf = async (number: number) => (await api.item(number)).attempts;

describe("grants and markers", () => {
  it("0 and 0: never claimed", async () => {
    const number = await readyItem();
    expect(await attemptsOf(number)).toMatchObject({
      grants: 0,
      markers: 0,
      reading: "never_claimed",
      poison: false,
    });
    expect(await defectsOf(api, number)).toEqual([]);
  });

  it("n and 0, past the outbox's delay: claimed but unmarked, and the grants count", async () => {
    const number = await readyItem();
    await attempt(number, "w/1", { unmarked: true });
    expect(await attemptsOf(number)).toMatchObject({
      grants: 1,
      markers: 0,
      reading: "claimed_but_unmarked",
    });
    expect(await defectsOf(api, number)).toEqual(["claimed_but_unmarked"]);
    await attempt(number, "w/2", { unmarked: true });
    await attempt(number, "w/3", { unmarked: true });
    expect(await api.item(number)).toMatchObject({
      state: "parked",
      attempts: { grants: 3, markers: 0, poison: true },
    });
  });

  it("n and n: consistent", async () => {
    const number = await readyItem();
    await attempt(number, "w/1");
    await attempt(number, "w/2");
    expect(await attemptsOf(number)).toMatchObject({ grants: 2, markers: 2, reading: "consistent" });
    expect(await defectsOf(api, number)).toEqual([]);
  });

  it("n and fewer: the union counts, and the gap is told", async () => {
    const number = await readyItem();
    await attempt(number, "w/1");
    await attempt(number, "w/2", { unmarked: true });
    expect(await attemptsOf(number)).toMatchObject({ grants: 2, markers: 1, reading: "gap", poison: false });
    await attempt(number, "w/3", { unmarked: true });
    expect(await api.item(number)).toMatchObject({
      state: "parked",
      attempts: { grants: 3, markers: 1, poison: true },
    });
  });

  it("n and more: more markers than grants", async () => {
    const number = await readyItem();
    await attempt(number, "w/1");
    const line = `<!-- backlog-worker: claim item=issue-${number} owner=w/x region=local fence=4 at=2026-09-06T00:12:44Z -->`;
    repo.as(OWN_BOT).comment(number, line);
    await world.settled();
    expect(await attemptsOf(number)).toMatchObject({
      grants: 1,
      markers: 2,
      reading: "marker_without_grant",
    });
    expect(await defectsOf(api, number)).toEqual(["marker_without_grant"]);
  });
});

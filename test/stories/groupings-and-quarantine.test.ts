/** Claims among items: subtrees, integration, and work that goes on after its lease lapsed. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";

let world: World;
let repo: FakeRepository;
let api: ApiClient;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
  api = world.api;
});
afterAll(() => world.end());

async function items(...titles: string[]): Promise<number[]> {
  const numbers = titles.map((title) => repo.as("alice").openIssue({ title, labels: ["backlog"] }));
  await world.settled();
  return numbers;
}

const link = (number: number, relation: string, target: number) =>
  api.repo("PATCH", `/memory/backlog/issue-${number}`, {
    body: { links: { add: { [relation]: [`mem/backlog/issue-${target}`] } } },
  });

describe("a subtree claim", () => {
  it("keeps everything below, at any depth, from everybody, and is refused while something below is held", async () => {
    const [epic = 0, middle = 0, leaf = 0] = await items("epic", "middle", "leaf");
    await link(middle, "partOf", epic);
    await link(leaf, "partOf", middle);
    expect(await api.claim(epic, "w/1")).toMatchObject({ granted: false, reason: "grouping" });

    const below = await api.claim(leaf, "w/2", { leaseSeconds: 600 });
    expect(await api.claim(epic, "w/1", { scope: "subtree" })).toMatchObject({
      granted: false,
      reason: "contended",
    });
    await api.release(leaf, below.fencingToken);

    const grant = await api.claim(epic, "w/1", { scope: "subtree", leaseSeconds: 600 });
    expect(grant).toMatchObject({ granted: true, scope: "subtree" });
    expect(await api.claim(leaf, "w/2")).toMatchObject({ granted: false, reason: "ancestor_claimed" });
    expect(await api.claim(leaf, "w/1")).toMatchObject({ granted: false, reason: "ancestor_claimed" });
    expect((await api.item(leaf)).reasons).toEqual([
      { reason: "ancestor_claimed", detail: expect.stringContaining("an epic above it is claimed whole") },
    ]);
  });

  it("has its token accepted on writes below, unless something below was granted since", async () => {
    const [epic = 0, leaf = 0] = await items("epic", "leaf");
    await link(leaf, "partOf", epic);
    const old = await api.claim(leaf, "w/1");
    await api.release(leaf, old.fencingToken);
    const grant = await api.claim(epic, "w/2", { scope: "subtree", leaseSeconds: 600 });
    const write = (fence: number) =>
      api.tryRepo("PATCH", `/memory/backlog/issue-${leaf}`, { fence, body: { body: "from above" } });
    expect((await write(grant.fencingToken)).status).toBe(200);
    expect((await write(old.fencingToken)).body.code).toBe("claim_released");
    await api.release(epic, grant.fencingToken);
    expect((await write(grant.fencingToken)).body.code).toBe("unissued_token");
    const later = await api.claim(leaf, "w/3");
    expect((await write(grant.fencingToken)).body.code).toBe("stale_token");
    expect((await write(later.fencingToken)).status).toBe(200);
  });

  it("waits for what is held below, and stops new grants below while it waits", async () => {
    const [epic = 0, one = 0, two = 0] = await items("epic", "one", "two");
    await link(one, "partOf", epic);
    await link(two, "partOf", epic);
    const held = await api.claim(one, "w/1", { leaseSeconds: 600 });
    const waiting = api.claim(epic, "w/2", { scope: "subtree", maxWaitSeconds: 30 });
    await waitFor("the subtree claim to queue", async () =>
      (await api.status(epic)).queueDepth === 1 ? null : "not yet",
    );
    expect(await api.claim(two, "w/3")).toMatchObject({ granted: false, reason: "contended" });
    await api.release(one, held.fencingToken);
    expect(await waiting).toMatchObject({ granted: true, scope: "subtree" });
  });
});

describe("an integration item", () => {
  it("is not granted before its fan-out is complete, nor the fan-out while it is worked", async () => {
    const [epic = 0, part = 0, late = 0, integration = 0] = await items(
      "epic",
      "part",
      "late",
      "integration",
    );
    for (const number of [part, integration]) await link(number, "partOf", epic);
    await link(integration, "integrates", epic);
    expect(await api.claim(integration, "w/1")).toMatchObject({ granted: false, reason: "not_quiesced" });
    repo.as("alice").close(part, "completed");
    await world.settled();
    expect((await api.claim(integration, "w/1", { leaseSeconds: 600 })).granted).toBe(true);
    await link(late, "partOf", epic);
    expect(await api.claim(late, "w/2")).toMatchObject({ granted: false, reason: "not_quiesced" });
  });
});

describe("an item that lapsed but is active", () => {
  async function lapsed(): Promise<number> {
    const [number = 0] = await items("lively");
    await api.claim(number, "w/late", { leaseSeconds: 30 });
    await world.pass(60);
    return number;
  }

  it("is quarantined for others after a push to its working branch, and free in time", async () => {
    const number = await lapsed();
    repo.as("alice").push(`feat/issue-${number}`, { message: "still at it" });
    await world.settled();
    const refused = await api.claim(number, "w/other");
    expect(refused).toMatchObject({ granted: false, reason: "quarantined" });
    expect(refused.retryAfterMs).toBeGreaterThan(800_000);
    expect((await api.item(number)).reasons).toEqual([
      { reason: "quarantined", detail: expect.stringMatching(/kept from others until 20\d\d-/) },
    ]);
    await world.pass(901);
    expect(await api.claim(number, "w/other")).toMatchObject({
      granted: true,
      previous: { owner: "w/late" },
    });
  });

  it("is quarantined after its pull request was updated, at most for an hour after the lapse", async () => {
    const number = await lapsed();
    // A draft waits for nobody: it is no review that keeps others away.
    const pull = repo.as("alice").openPull({ head: `feat/issue-${number}`, title: "half", draft: true });
    for (let minutes = 0; minutes < 60; minutes += 12) {
      repo.as("alice").editPull(pull, { title: `half, minute ${minutes}` });
      await world.settled();
      expect(await api.claim(number, "w/other")).toMatchObject({ reason: "quarantined" });
      await world.pass(12 * 60);
    }
    expect((await api.claim(number, "w/other")).granted).toBe(true);
  });

  it("is open to the same owner, and to whoever takes over on purpose", async () => {
    const number = await lapsed();
    repo.as("alice").push(`feat/issue-${number}`, { message: "still at it" });
    await world.settled();
    expect(await api.claim(number, "w/late")).toMatchObject({ granted: true, custodyChanged: false });
    await world.pass(60);
    repo.as("alice").push(`feat/issue-${number}`, { message: "and again" });
    await world.settled();
    expect((await api.claim(number, "w/other")).reason).toBe("quarantined");
    expect(await api.claim(number, "w/other", { takeover: true })).toMatchObject({
      granted: true,
      attempt: 2,
    });
  });

  it("is claimable at once when the holder died without a sign", async () => {
    const number = await lapsed();
    expect(await api.claim(number, "w/other")).toMatchObject({ granted: true, attempt: 2 });
  });
});

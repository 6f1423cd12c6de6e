/** Deliveries that failed are asked for again; an audit without a failure vouches for every mirror; old mirrors grant nothing. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDueReadings } from "../../src/services/reconcile.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { expectNotReady, expectReady, granted, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
let api: ApiClient;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  repo = await world.repository("audited/widgets");
  api = world.api.with({ repo: repo.fullName });
});
afterAll(() => world.end());

/** What a webhook told is lost on the way: GitHub lists it as failed. */
function lost(change: () => void): void {
  world.github.hold();
  change();
  world.github.drop();
  world.github.release();
}

const item = async (): Promise<number> => {
  const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
};

const asked = () => world.github.requestsTo("POST", /^\/app\/hook\/deliveries\/\d+\/attempts$/).length;
const age = async (): Promise<number> => {
  const { repos } = (await world.api.send("GET", "/api/v1/repos?limit=100")).body;
  return repos.find(({ id }: { id: number }) => id === repo.id).mirrorAgeSeconds;
};

describe("row 6: failed deliveries", () => {
  it("are asked for again, and have their effect once", async () => {
    const number = await item();
    await world.audit();
    lost(() => repo.as("alice").close(number, "completed"));
    const before = asked();
    await world.audit();
    await world.settled();
    expect(asked()).toBe(before + 1);
    expect(await api.item(number)).toMatchObject({ state: "complete" });
    await world.audit();
    await world.settled();
    expect(asked()).toBe(before + 1);
  });

  it("that fail again and again are asked for a few times; then what they told is read", async () => {
    const number = await item();
    await world.audit();
    lost(() => repo.as("alice").close(number, "not_planned"));
    world.github.deliverTo(null);
    const before = asked();
    for (let audits = 0; audits < 5; audits++) await world.audit();
    expect(asked()).toBe(before + 3);
    world.github.hold();
    world.github.deliverTo(`${world.app.address}/api/github/webhooks`);
    world.github.drop();
    world.github.release();
    await world.settled();
    expect(await api.item(number)).toMatchObject({ state: "cancelled" });
  });

  it("make the mirror of their repository no younger", async () => {
    const number = await item();
    await world.audit();
    expect(await age()).toBeLessThan(120);
    lost(() => repo.as("alice").label(number, "P0"));
    world.github.deliverTo(null);
    await stories.pass(1900);
    expect(await age()).toBeGreaterThan(1500);
    world.github.deliverTo(`${world.app.address}/api/github/webhooks`);
    await world.settled();
    await world.audit();
    expect(await age()).toBeLessThan(120);
  });
});

describe("an audit", () => {
  it("without a failure makes every mirror young, at the cost of one request", async () => {
    await item();
    await world.audit();
    await stories.pass(1700);
    expect(await age()).toBeGreaterThan(1500);
    const before = world.github.requests.length;
    await world.audit();
    // GitHub's clock moved and this process's did not: a signature of before is refused once, and made anew by its time.
    const heeded = world.github.requests.slice(before).filter(({ status }) => status !== 401);
    expect(heeded.map(({ path, status }) => [path, status])).toEqual([["/app/hook/deliveries", 200]]);
    expect(await age()).toBeLessThan(120);
  });

  it("vouches for nothing while GitHub lists no delivery: then repositories are read, and that is enough", async () => {
    await item();
    await world.audit();
    const number = world.github.silently(() =>
      repo.as("alice").openIssue({ title: "Meanwhile", labels: ["backlog"] }),
    );
    await stories.pass(1000);
    await world.audit(900);
    expect(await age()).toBeGreaterThan(900);
    await expectNotReady(api, number);
    await startDueReadings(world.app.deps, 900);
    await world.settled();
    expect(await age()).toBeLessThan(120);
    await expectReady(api, number);
  });
});

describe("row 77: a server that does not tell of links between issues", () => {
  it("is asked for them, though deliveries are vouched for", async () => {
    const [blocked, blocker] = [await item(), await item()];
    const { app } = world.github;
    const events = app.events;
    app.events = events.filter((event) => event !== "sub_issues" && event !== "issue_dependencies");
    await stories.pass(86_400);
    await world.audit();
    world.github.silently(() => repo.as("alice").blockBy(blocked, blocker));
    await stories.pass(1000);
    await startDueReadings(world.app.deps, 900);
    await world.settled();
    await expectNotReady(api, blocked);
    world.github.silently(() => repo.as("alice").unblock(blocked, blocker));
    await stories.pass(1000);
    await world.audit();
    await startDueReadings(world.app.deps, 900);
    await world.settled();
    await expectReady(api, blocked);
    app.events = events;
    await stories.pass(86_400);
    await world.audit();
  });
});

describe("a mirror that is too old", () => {
  it("grants no claim and offers nothing to claim-next, says why, and goes on by itself", async () => {
    const number = await item();
    await world.audit();
    await expectReady(api, number);
    const { fencingToken } = await granted(api, await item(), "worker/before", { leaseSeconds: 1800 });
    // GitHub does not answer the App any more.
    world.github.fault({ path: /^\/app\//, kind: "status", status: 503, times: 1000 });
    await stories.pass(1800);
    await stories.pass(1900);
    expect(await api.claim(number, "worker/a")).toMatchObject({
      granted: false,
      reason: "mirror_stale",
      detail: expect.stringMatching(/GET \/health/),
    });
    expect(await api.repo("POST", "/claim-next", { body: { owner: "worker/a" } })).toMatchObject({
      granted: false,
      reason: "mirror_stale",
    });
    expect(await api.claim(number, "worker/a", { maxWaitSeconds: 1 })).toMatchObject({
      reason: "mirror_stale",
    });
    // What was granted goes on.
    expect(await api.release(number, fencingToken)).toMatchObject({ released: false });
    const health = (await world.api.send("GET", "/health")).body;
    expect(health.problems.join("\n")).toMatch(/mirror of audited\/widgets/);
    world.github.clearFaults();
    await stories.pass(301);
    await world.audit();
    await granted(api, number, "worker/a");
  });

  it("has nothing to say where no mirror is: of memory, and of what lives only here", async () => {
    await api.repo("PUT", "/memory/decisions/x", { body: { title: "X" } });
    const path = "/memory/decisions/x/claim";
    world.github.fault({ path: /^\/app\//, kind: "status", status: 503, times: 1000 });
    await stories.pass(3700);
    expect(await api.repo("POST", path, { body: { owner: "worker/a" } })).toMatchObject({ granted: true });
    world.github.clearFaults();
    await stories.pass(301);
    await world.audit();
    await expectNotReady(api, 999_999);
  });
});

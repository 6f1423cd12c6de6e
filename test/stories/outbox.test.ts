/** What GitHub is told (protocol 4): promised with the grant, written once, in order, whatever GitHub or we go through. */

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { claimComment } from "../../src/domain/comments.ts";
import type { ClaimMarkerFacts } from "../../src/store/outbox.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  claimMarkers,
  defectsOf,
  down,
  expectRefused,
  granted,
  outcomes,
  ownComments,
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

interface Place {
  readonly repo: FakeRepository;
  readonly api: ApiClient;
}

let lastPlace = 0;
/** A repository with an installation of its own, so that one story's limits are not another's. */
async function place(): Promise<Place> {
  lastPlace += 1;
  const repo = await world.repository(`owner-${lastPlace}/widgets`);
  return { repo, api: world.api.with({ repo: repo.fullName }) };
}

async function readyItem({ repo }: Place): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
}

const commentsPath = ({ repo }: Place, number: number) => `/repos/${repo.fullName}/issues/${number}/comments`;

const posts = (where: Place, number: number): number =>
  world.github.requestsTo("POST", commentsPath(where, number)).length;

/** The claim's marker is written, and neither its answer nor its webhook is heard. */
async function unheard(where: Place, number: number): Promise<void> {
  world.github.hold();
  await granted(where.api, number, "worker/a");
  await expect.poll(() => claimMarkers(where.repo, number)).toHaveLength(1);
  await expect.poll(() => states(where)).not.toContain("pending, under way");
  world.github.drop();
  world.github.release();
}

/** Of what was promised in the place. */
async function states({ repo }: Place): Promise<string[]> {
  const rows = await world.db
    .selectFrom("outbox")
    .select(["state", "error"])
    .where("repository_id", "=", repo.id)
    .execute();
  return rows.map(({ state, error }) =>
    state === "pending" && error === null ? "pending, under way" : state,
  );
}

async function outboxHealth() {
  return (await world.api.send("GET", "/health")).body.outbox;
}

describe("[70] a comment whose answer is lost is not written again", () => {
  it.each([
    ["a 502 after the effect", { kind: "effect-then-status", status: 502 }],
    ["a cut connection after the effect", { kind: "effect-then-drop" }],
  ] as const)("%s", async (_, fault) => {
    const where = await place();
    const number = await readyItem(where);
    world.github.fault({ method: "POST", path: commentsPath(where, number), ...fault });
    await granted(where.api, number, "worker/a");
    await world.settled();
    await stories.pass(5);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    expect(posts(where, number)).toBe(1);
    expect((await where.api.item(number)).attempts).toMatchObject({ markers: 1, reading: "consistent" });
  });

  it.each([
    ["a 502 after the effect", { kind: "effect-then-status", status: 502 }],
    ["a cut connection after the effect", { kind: "effect-then-drop" }],
  ] as const)("%s, with the comment's webhook lost: the next try looks first", async (_, fault) => {
    const where = await place();
    const number = await readyItem(where);
    world.github.fault({ method: "POST", path: commentsPath(where, number), ...fault });
    await unheard(where, number);
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    await stories.pass(5);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    expect(posts(where, number)).toBe(1);
    expect(await states(where)).not.toContain("pending");
  });

  it("a 502 without an effect: the second try writes it", async () => {
    const where = await place();
    const number = await readyItem(where);
    world.github.fault({ method: "POST", path: commentsPath(where, number), kind: "status", status: 502 });
    await granted(where.api, number, "worker/a");
    await world.settled();
    await stories.pass(2);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    expect(posts(where, number)).toBe(2);
  });

  it("another's comment with the same first line is not taken for it", async () => {
    const where = await place();
    const number = await readyItem(where);
    down(world, commentsPath(where, number));
    await granted(where.api, number, "worker/a");
    await world.settled();
    const { payload } = await world.db
      .selectFrom("outbox")
      .select("payload")
      .where("state", "=", "pending")
      .where("repository_id", "=", where.repo.id)
      .executeTakeFirstOrThrow();
    const facts = payload as ClaimMarkerFacts;
    const [grantedAt, leaseExpiresAt] = [new Date(facts.grantedAt), new Date(facts.leaseExpiresAt)];
    where.repo.as("mallory").comment(number, claimComment({ ...facts, grantedAt, leaseExpiresAt }));
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
  });

  it("the process dies between the effect and its own note of it", async () => {
    const where = await place();
    const number = await readyItem(where);
    await unheard(where, number);
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    const { rowCount } = await world.app.deps.database.pool.query(
      "update outbox set state = 'pending', finished_at = null where repository_id = $1 and kind = 'claim_marker'",
      [where.repo.id],
    );
    expect(rowCount).toBe(1);
    await world.app.deps.database.pool.query(
      `update installation set writer = 'the dead process', writer_until = db_now() + interval '60 seconds'
       where account_login = $1`,
      [where.repo.owner],
    );
    await world.restart();
    await stories.pass(61);
    await world.settled();
    expect(await states(where)).not.toContain("pending");
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    expect(posts(where, number)).toBe(1);
  });

  it("a label and a close that were had already are had once", async () => {
    const where = await place();
    const number = await readyItem(where);
    const path = `/repos/${where.repo.fullName}/issues/${number}`;
    where.repo.as("alice").createBranch("dev");
    await world.db
      .updateTable("record")
      .set({ tags: ["backlog", "priority:P2", "phase:implementation", "homeRegion:local", "baseBranch:dev"] })
      .where("repository_id", "=", where.repo.id)
      .execute();
    world.github.fault({ method: "PATCH", path, kind: "effect-then-status", status: 502 });
    where.repo
      .as("alice")
      .merge(where.repo.as("alice").openPull({ head: `feat/issue-${number}`, base: "dev" }));
    await world.settled();
    await stories.pass(5);
    await world.settled();
    expect(where.repo.issue(number)).toMatchObject({ state: "closed", stateReason: "completed" });
    expect(where.repo.events(number).filter(({ event }) => event === "closed")).toHaveLength(1);
    expect(await states(where)).not.toContain("pending");
  });
});

describe("GitHub being down", () => {
  it("suspends nothing: claims are granted, attempts count, and the markers come later in order", async () => {
    const where = await place();
    const number = await readyItem(where);
    down(world, commentsPath(where, number));
    const first = await granted(where.api, number, "worker/a");
    await where.api.release(number, first.fencingToken);
    const second = await granted(where.api, number, "worker/b");
    await where.api.release(number, second.fencingToken);
    expect(await granted(where.api, number, "worker/c")).toMatchObject({ attempt: 3 });
    await world.settled();
    expect(ownComments(where.repo, number)).toEqual([]);
    expect((await where.api.item(number)).attempts).toMatchObject({ grants: 3, markers: 0, poison: true });
    expect(await defectsOf(where.api, number)).toEqual([]);

    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    const verbs = ownComments(where.repo, number).map((body) => body.split(" ")[2]);
    expect(verbs).toEqual(["claim", "outcome", "claim", "outcome", "claim"]);
    expect((await where.api.item(number)).attempts).toMatchObject({ markers: 3, reading: "consistent" });
  });

  it("parks a poisoned item all the same: its label and comment follow when GitHub is back", async () => {
    const where = await place();
    const number = await readyItem(where);
    down(world, new RegExp(`^/repos/${where.repo.fullName}/issues/${number}/`));
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await where.api.release(number, (await granted(where.api, number, "worker/a")).fencingToken);
    }
    await world.settled();
    await expectRefused(where.api, number, "parked");
    expect(where.repo.issue(number).labels).toEqual(["backlog"]);
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    expect(where.repo.issue(number).labels).toEqual(["backlog", "stale"]);
    expect(outcomes(where.repo, number, "parked")).toHaveLength(1);
  });

  it("for one issue holds up that issue's news only", async () => {
    const where = await place();
    const [stuck, free] = [await readyItem(where), await readyItem(where)];
    down(world, commentsPath(where, stuck));
    await granted(where.api, stuck, "worker/a");
    await granted(where.api, free, "worker/b");
    await world.settled();
    expect(claimMarkers(where.repo, stuck)).toEqual([]);
    expect(claimMarkers(where.repo, free)).toHaveLength(1);
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    expect(claimMarkers(where.repo, stuck)).toHaveLength(1);
  });

  it("is asked with growing pauses: half a minute costs a handful of tries", async () => {
    const where = await place();
    const number = await readyItem(where);
    down(world, commentsPath(where, number));
    const { fencingToken } = await granted(where.api, number, "worker/a");
    await where.api.release(number, fencingToken);
    for (let second = 0; second < 30; second += 1) {
      await world.settled();
      await stories.pass(1);
    }
    const tries = world.github.requests.filter(({ path }) => path === commentsPath(where, number)).length;
    // After 0, 1, 3, 7 and 15 seconds.
    expect(tries).toBeGreaterThanOrEqual(3);
    expect(tries).toBeLessThanOrEqual(6);
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
  });
});

describe("[69] a limit", () => {
  it.each([
    ["429 with retry-after", 429, { "retry-after": "60" }],
    ["403 with retry-after", 403, { "retry-after": "60" }],
  ])("%s is obeyed for the whole installation, also across a restart", async (_, status, headers) => {
    const where = await place();
    const elsewhere = await place();
    const [number, other] = [await readyItem(where), await readyItem(where)];
    const unlimited = await readyItem(elsewhere);
    world.github.fault({
      method: "POST",
      path: commentsPath(where, number),
      kind: "status",
      status,
      headers,
      body: { message: "You have exceeded a secondary rate limit." },
    });
    await granted(where.api, number, "worker/a");
    await expect.poll(() => posts(where, number)).toBe(1);
    await world.settled();
    await granted(where.api, other, "worker/b");
    await granted(elsewhere.api, unlimited, "worker/c");
    await world.restart();
    await world.settled();
    await stories.pass(30);
    await world.settled();
    expect([posts(where, number), posts(where, other)]).toEqual([1, 0]);
    expect(claimMarkers(elsewhere.repo, unlimited)).toHaveLength(1);

    await stories.pass(31);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    expect(claimMarkers(where.repo, other)).toHaveLength(1);
  });

  it("without remaining requests is waited out until its reset", async () => {
    const where = await place();
    const number = await readyItem(where);
    const reset = Math.floor(Date.now() / 1000) + 100_000;
    world.github.fault({
      method: "POST",
      path: commentsPath(where, number),
      kind: "status",
      status: 403,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(reset) },
      body: { message: "API rate limit exceeded for installation." },
    });
    await granted(where.api, number, "worker/a");
    await expect.poll(() => posts(where, number)).toBe(1);
    await world.settled();
    const { rows } = await world.app.deps.database.pool.query(
      "select extract(epoch from paused_until - db_now())::int as seconds from installation where account_login = $1",
      [where.repo.owner],
    );
    const onGitHub = reset - Math.floor(lastRequestAt().getTime() / 1000);
    expect(Math.abs(rows[0].seconds - onGitHub)).toBeLessThanOrEqual(3);
    expect(claimMarkers(where.repo, number)).toEqual([]);
    await world.app.deps.database.pool.query("update installation set paused_until = null");
  });

  it("named in words only is waited out for a minute", async () => {
    const where = await place();
    const number = await readyItem(where);
    const message = "You have exceeded a secondary rate limit. Please wait a few minutes.";
    world.github.fault({
      method: "POST",
      path: commentsPath(where, number),
      kind: "status",
      status: 403,
      body: { message },
    });
    await granted(where.api, number, "worker/a");
    await expect.poll(() => posts(where, number)).toBe(1);
    await world.settled();
    await stories.pass(30);
    await world.settled();
    expect(posts(where, number)).toBe(1);
    await stories.pass(31);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
  });
});

const lastRequestAt = (): Date => world.github.requests.at(-1)?.at ?? new Date(0);

describe("[35] an archived repository", () => {
  it("is not written to until it is unarchived; claims go on", async () => {
    const where = await place();
    const number = await readyItem(where);
    world.github.archive(where.repo);
    await world.settled();
    await granted(where.api, number, "worker/a");
    await world.settled();
    await stories.pass(120);
    expect(posts(where, number)).toBe(0);

    world.github.unarchive(where.repo);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
  });

  it("of whose archiving no news came is tried once, and nothing is lost", async () => {
    const where = await place();
    const number = await readyItem(where);
    world.github.silently(() => world.github.archive(where.repo));
    await granted(where.api, number, "worker/a");
    await expect.poll(() => posts(where, number)).toBe(1);
    await world.settled();
    await stories.pass(900);
    await world.settled();
    expect(posts(where, number)).toBe(1);
    expect((await outboxHealth()).failed).toBe(0);

    world.github.unarchive(where.repo);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
  });
});

describe("[36] a suspended installation", () => {
  it("of whose suspension no news came is tried once, and nothing is lost", async () => {
    const where = await place();
    const number = await readyItem(where);
    world.github.silently(() => world.github.suspend(where.repo.owner));
    await granted(where.api, number, "worker/a");
    await expect.poll(() => posts(where, number)).toBe(1);
    await world.settled();
    await stories.pass(900);
    await world.settled();
    expect(posts(where, number)).toBe(1);
    expect((await outboxHealth()).failed).toBe(0);

    world.github.unsuspend(where.repo.owner);
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
  });
});

describe("what cannot be written", () => {
  it("[29] about an issue that was deleted meanwhile is dropped without a fuss", async () => {
    const where = await place();
    const number = await readyItem(where);
    down(world, commentsPath(where, number));
    await granted(where.api, number, "worker/a");
    await world.settled();
    where.repo.as("alice").deleteIssue(number);
    await world.settled();
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    expect(await states(where)).not.toContain("pending");
  });

  it("[29] about an issue of whose deletion no news came is given up, and does not hold up the rest", async () => {
    world.expectError(/410 This issue was deleted/);
    const where = await place();
    const [gone, number] = [await readyItem(where), await readyItem(where)];
    world.github.silently(() => where.repo.as("alice").deleteIssue(gone));
    await granted(where.api, gone, "worker/a");
    await granted(where.api, number, "worker/b");
    for (let wait = 0; wait < 4; wait += 1) {
      await world.settled();
      await stories.pass(10);
    }
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    expect(await states(where)).not.toContain("pending");
  });

  it("row 71: on an issue that GitHub does not show yet is tried again, and written", async () => {
    const where = await place();
    const number = await readyItem(where);
    world.github.fault({
      method: "POST",
      path: commentsPath(where, number),
      kind: "status",
      status: 404,
      times: 2,
    });
    await granted(where.api, number, "worker/a");
    for (let wait = 0; wait < 2; wait += 1) {
      await world.settled();
      await stories.pass(5);
    }
    await world.settled();
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
    expect(await states(where)).not.toContain("failed");
  });

  it("is refused for good: kept, told in health and logged", async () => {
    world.expectError(/refuses what was promised|outbox: /);
    const where = await place();
    const number = await readyItem(where);
    const before = (await outboxHealth()).failed;
    world.github.fault({ method: "POST", path: commentsPath(where, number), kind: "status", status: 422 });
    await granted(where.api, number, "worker/a");
    await world.settled();
    expect((await outboxHealth()).failed).toBe(before + 1);
    expect((await world.api.send("GET", "/health")).body).toMatchObject({ status: "degraded" });
    await stories.pass(301);
    expect(await defectsOf(where.api, number)).toEqual(["claimed_but_unmarked"]);
    expect((await where.api.item(number)).attempts).toMatchObject({ grants: 1, markers: 0 });
  });
});

describe("[72] a token", () => {
  it("that died is replaced, and nothing waits for it", async () => {
    const where = await place();
    const number = await readyItem(where);
    // Within the first seconds of a token Octokit waits for GitHub to know it.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_000 });
    await stories.pass(3601);
    await granted(where.api, number, "worker/a");
    await world.settled();
    vi.useRealTimers();
    expect(world.github.requestsTo("POST", commentsPath(where, number)).map(({ status }) => status)).toEqual([
      401, 201,
    ]);
    expect(claimMarkers(where.repo, number)).toHaveLength(1);
  });
});

describe("two processes", () => {
  it("write every marker once", async () => {
    const where = await place();
    const numbers = [];
    for (let count = 0; count < 6; count += 1) numbers.push(await readyItem(where));
    const replica = await world.secondReplica();
    await Promise.all(numbers.map((number) => granted(where.api, number, "worker/a")));
    await world.settled();
    await replica.stop();
    for (const number of numbers) expect(posts(where, number)).toBe(1);
  });
});

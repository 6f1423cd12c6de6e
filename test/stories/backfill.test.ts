/** Backfill: what was there before the App was, read page by page, with nothing lost, doubled or overwritten. */

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { World } from "../harness/world.ts";
import {
  down,
  expectNotReady,
  expectReady,
  expectRefused,
  GATE,
  granted,
  labelWrites,
  OWN_BOT,
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

interface Place {
  readonly repo: FakeRepository;
  readonly api: ApiClient;
}

let lastPlace = 0;
/** A repository that the App is not on yet, of an account of its own. */
function place(labels: string[] = []): Place {
  lastPlace += 1;
  const repo = world.github.repository(`owner-${lastPlace}/widgets`, {
    collaborators: { alice: "admin", tess: "triage", rita: "read" },
    labels,
  });
  return { repo, api: world.api.with({ repo: repo.fullName }) };
}

const marker = (number: number, fence: number): string =>
  `<!-- backlog-worker: claim item=issue-${number} owner=worker/x region=local fence=${fence} at=2026-09-06T00:12:44Z -->`;

const reads = ({ repo }: Place, path: string) =>
  world.github.requestsTo("GET", `/repos/${repo.fullName}${path}`);

async function stateOf({ repo }: Place) {
  return world.db
    .selectFrom("repository")
    .select(["backfill_state", "backfill_cursor", "backfill_error"])
    .where("id", "=", repo.id)
    .executeTakeFirstOrThrow();
}

/** Nothing is left of a backfill to do, whoever must be woken for it. */
async function finished(where: Place): Promise<void> {
  world.app.deps.wake.backfill(where.repo.id);
  await waitFor("the backfill to be done", async () => {
    const state = await stateOf(where);
    return state.backfill_state === "done" ? null : JSON.stringify(state);
  });
  await world.settled();
}

/** GitHub's clock stands still meanwhile. */
function inOneSecond(what: () => void): void {
  vi.useFakeTimers({ toFake: ["Date"] });
  what();
  vi.useRealTimers();
}

/** The installation is suspended and comes back: everything is read once more. */
async function backfilledAgain({ repo }: Place): Promise<void> {
  world.github.suspend(repo.owner);
  world.github.unsuspend(repo.owner);
  await world.settled();
}

describe("installing on a repository with a past", () => {
  it("takes up each of 250 issues of one second, though some change while they are read", async () => {
    const where = place();
    const { repo } = where;
    const pulls: number[] = [];
    inOneSecond(() => {
      for (let count = 0; count < 248; count += 1) {
        const login = count % 3 === 0 ? "bot[bot]" : "alice";
        repo.as(login).openIssue({ title: `Issue ${count}`, labels: count % 5 === 0 ? ["backlog"] : [] });
        if (count % 200 === 0) {
          pulls.push(repo.as("alice").openPull({ head: `topic/${count}`, labels: ["backlog"] }));
        }
      }
    });
    await world.install(repo);

    const answer = await where.api.ready("?limit=100");
    expect(answer.totals).toMatchObject({ ready: 33, awaitingAdmission: 17, waiting: 0 });
    for (const number of answer.awaitingAdmission) {
      expect(repo.issue(number)).toMatchObject({ author: "bot[bot]", labels: ["backlog", GATE] });
      expect(labelWrites(world, repo, number)).toBe(1);
    }
    expect(pulls).toHaveLength(2);
    for (const number of pulls) expect((await where.api.tryRepo("GET", `/items/${number}`)).status).toBe(404);
    const mirrored = await world.db
      .selectFrom("issue")
      .select("number")
      .where("repository_id", "=", repo.id)
      .execute();
    expect(mirrored).toHaveLength(248);
    const writes = world.github.requests.filter(
      ({ method, path }) => method !== "GET" && path.startsWith(`/repos/${repo.fullName}/`),
    );
    // Two label definitions were missing.
    expect(writes).toHaveLength(17 + 2);
  }, 90_000);

  it("[46] counts markers among 250 comments, at the 1st, the 101st and the 201st", async () => {
    const where = place();
    const number = where.repo.as("alice").openIssue({ title: "Talked of", labels: ["backlog"] });
    for (let count = 1; count <= 250; count += 1) {
      if (count % 100 === 1) where.repo.as(OWN_BOT).comment(number, marker(number, count));
      else where.repo.as("rita").comment(number, `Comment ${count}`);
    }
    await world.install(where.repo);
    expect((await where.api.item(number)).attempts).toMatchObject({ markers: 3, poison: true });
    await expectRefused(where.api, number, "poison");
    await world.sweep();
    expect(where.repo.issue(number).labels).toEqual(["backlog", STALE]);
  });

  it("[43] counts no markers of others, and none on closed issues or pull requests", async () => {
    const where = place();
    const alice = where.repo.as("alice");
    const number = alice.openIssue({ title: "x", labels: ["backlog"] });
    const closed = alice.openIssue({ title: "x", labels: ["backlog"] });
    const pull = alice.openPull({ head: "topic/x" });
    alice.comment(number, marker(number, 11));
    for (const other of [closed, pull]) where.repo.as(OWN_BOT).comment(other, marker(other, 12));
    alice.close(closed);
    await world.install(where.repo);
    const counted = await world.db
      .selectFrom("claim_marker")
      .select("fence")
      .where("repository_id", "=", where.repo.id)
      .execute();
    expect(counted).toEqual([]);
    await expectReady(where.api, number);
  });

  it("makes only the labels that are missing, in any case of letters", async () => {
    const where = place(["BACKLOG", "Stale"]);
    await world.install(where.repo);
    expect(where.repo.labels()).toEqual(["BACKLOG", "Stale", GATE]);
    expect(world.github.requestsTo("POST", `/repos/${where.repo.fullName}/labels`)).toHaveLength(1);
  });

  it("mirrors open pull requests with their branches, and none that are closed", async () => {
    const where = place();
    const alice = where.repo.as("alice");
    const open = alice.openPull({ head: "topic/open", draft: true });
    alice.closePull(alice.openPull({ head: "topic/closed" }));
    await world.install(where.repo);
    const rows = await world.db
      .selectFrom("pull_request")
      .select(["number", "state", "draft", "head_ref", "base_ref"])
      .where("repository_id", "=", where.repo.id)
      .execute();
    expect(rows).toEqual([
      { number: open, state: "open", draft: true, head_ref: "topic/open", base_ref: "main" },
    ]);
  });

  it("with nothing in it, makes the labels and is done", async () => {
    const where = place();
    await world.install(where.repo);
    expect(await where.api.ready()).toMatchObject({ verdict: "idle", pending: 0 });
    expect(where.repo.labels()).toEqual(["backlog", GATE, STALE]);
    expect(await stateOf(where)).toMatchObject({ backfill_state: "done" });
  });
});

describe("an issue's history", () => {
  it("admits an agent's issue from which a human took the gate label", async () => {
    const where = place();
    const number = where.repo.as("bot[bot]").openIssue({ title: "x", labels: ["backlog", GATE] });
    where.repo.as("tess").unlabel(number, GATE);
    await world.install(where.repo);
    expect(await where.api.item(number)).toMatchObject({ admitted: true, admittedBy: "tess" });
  });

  it.each([
    ["a bot", (repo: FakeRepository) => repo.as("janitor[bot]")],
    ["a reader", (repo: FakeRepository) => repo.as("rita")],
    ["a person through an app", (repo: FakeRepository) => repo.as("alice", { viaApp: "some-agent" })],
  ])("does not admit one from which %s took it, not even a human's", async (_, somebody) => {
    const where = place();
    const numbers = [
      where.repo.as("bot[bot]").openIssue({ title: "x", labels: ["backlog", GATE] }),
      where.repo.as("alice").openIssue({ title: "x", labels: ["backlog", GATE] }),
    ];
    for (const number of numbers) somebody(where.repo).unlabel(number, GATE);
    await world.install(where.repo);
    for (const number of numbers) {
      expect(where.repo.issue(number).labels).toContain(GATE);
      await expectRefused(where.api, number, "not_admitted");
    }
  });

  it("does not admit one whose label is on again after a human's removal", async () => {
    const where = place();
    const number = where.repo.as("alice").openIssue({ title: "x", labels: ["backlog", GATE] });
    where.repo.as("tess").unlabel(number, GATE);
    where.repo.as("bot[bot]").label(number, GATE);
    await world.install(where.repo);
    await expectRefused(where.api, number, "not_admitted");
  });

  it("parks by a human's label, and not by a bot's", async () => {
    const where = place();
    const [byHuman, byBot] = ["tess", "actions-stale[bot]"].map((login) => {
      const number = where.repo.as("alice").openIssue({ title: "x", labels: ["backlog"] });
      where.repo.as(login).label(number, STALE);
      return number;
    });
    await world.install(where.repo);
    await expectRefused(where.api, byHuman ?? 0, "parked");
    await expectReady(where.api, byBot ?? 0);
  });

  it("is asked for items only: other issues cost nothing", async () => {
    const where = place();
    const number = where.repo.as("alice").openIssue({ title: "No item" });
    await world.install(where.repo);
    expect(reads(where, `/issues/${number}/events`)).toEqual([]);
  });
});

describe("a backfill that is cut short", () => {
  /** 150 issues, each of a second of its own: the second page begins where the first one's time ended. */
  function longPast(where: Place): void {
    for (let count = 0; count < 150; count += 1) {
      stories.later();
      where.repo
        .as("alice")
        .openIssue({ title: `Issue ${count}`, labels: count % 50 === 0 ? ["backlog"] : [] });
    }
  }
  const issuesPath = ({ repo }: Place) => `/repos/${repo.fullName}/issues`;

  it("goes on in another process from where it stopped, and reads no page twice", async () => {
    const where = place();
    longPast(where);
    world.github.fault({ method: "GET", path: issuesPath(where), kind: "delay", delayMs: 0 });
    world.github.fault({ method: "GET", path: issuesPath(where), kind: "status", status: 502 });
    await world.install(where.repo);
    expect(await stateOf(where)).toMatchObject({ backfill_state: "pending" });
    expect((await stateOf(where)).backfill_error).toContain("502");
    await stories.pass(31);
    await world.restart();
    await finished(where);
    expect(await readyNumbers(where.api)).toEqual([1, 51, 101]);
    expect(reads(where, "/issues").map(({ status, query }) => [status, query.since === undefined])).toEqual([
      [200, true],
      [502, false],
      [200, false],
    ]);
    expect(reads(where, "/issues/1/events")).toHaveLength(1);
  });

  it("by the death of its process goes on when the lease lapses, and not before", async () => {
    const where = place();
    longPast(where);
    world.github.fault({ method: "GET", path: issuesPath(where), kind: "delay", delayMs: 0 });
    world.github.fault({ method: "GET", path: issuesPath(where), kind: "status", status: 502 });
    await world.install(where.repo);
    await world.db
      .updateTable("repository")
      .set({ backfiller: "the dead process" })
      .where("id", "=", where.repo.id)
      .execute();
    await world.app.deps.database.pool.query(
      "update repository set backfiller_until = db_now() + interval '300 seconds' where id = $1",
      [where.repo.id],
    );
    await world.restart();
    await stories.pass(200);
    world.app.deps.wake.backfill(where.repo.id);
    await world.restart();
    expect(await stateOf(where)).toMatchObject({ backfill_state: "pending" });
    await stories.pass(101);
    await finished(where);
    expect(await readyNumbers(where.api)).toEqual([1, 51, 101]);
  });

  it("[72] by a token that died goes on at once under a new one, at the same page", async () => {
    const where = place();
    longPast(where);
    world.github.fault({ method: "GET", path: issuesPath(where), kind: "delay", delayMs: 0 });
    world.github.fault({
      method: "GET",
      path: issuesPath(where),
      kind: "status",
      status: 401,
      body: { message: "Bad credentials" },
    });
    // Within the first seconds of a token Octokit waits for GitHub to know it.
    vi.useFakeTimers({ toFake: ["Date"] });
    world.github.install(where.repo);
    await waitFor("the first page", () => (reads(where, "/issues").length > 0 ? null : "none was read"));
    vi.setSystemTime(Date.now() + 10_000);
    await world.settled();
    vi.useRealTimers();
    expect(await readyNumbers(where.api)).toEqual([1, 51, 101]);
    expect(reads(where, "/issues").map(({ status }) => status)).toEqual([200, 401, 200]);
    const installation = world.github.installationId(where.repo.owner);
    const tokens = world.github.requestsTo("POST", `/app/installations/${installation}/access_tokens`);
    expect(tokens.filter(({ status }) => status === 201)).toHaveLength(2);
  });

  it("[69] by a limit waits as told, asking nothing meanwhile", async () => {
    const where = place();
    longPast(where);
    world.github.fault({ method: "GET", path: issuesPath(where), kind: "delay", delayMs: 0 });
    world.github.fault({
      method: "GET",
      path: issuesPath(where),
      kind: "status",
      status: 403,
      headers: { "retry-after": "120" },
      body: { message: "You have exceeded a secondary rate limit." },
    });
    await world.install(where.repo);
    await stories.pass(60);
    world.app.deps.wake.backfill(where.repo.id);
    await world.restart();
    await world.settled();
    expect(reads(where, "/issues")).toHaveLength(2);
    await stories.pass(61);
    await finished(where);
    expect(await readyNumbers(where.api)).toEqual([1, 51, 101]);
  });

  it("where the App has no access after all, waits, and harms nobody else", async () => {
    const [where, other] = [place(), place()];
    down(world, `/repositories/${where.repo.id}`);
    await world.install(where.repo);
    await world.install(other.repo);
    expect(await stateOf(other)).toMatchObject({ backfill_state: "done" });
    expect(await stateOf(where)).toMatchObject({ backfill_state: "pending" });
    world.github.clearFaults();
    await stories.pass(31);
    await finished(where);
  });
});

describe("webhooks during a backfill", () => {
  /** The backfill has read the list of issues, and asks about this one while `meanwhile` happens and is heard of. */
  async function meanwhile(where: Place, number: number, happens: () => void): Promise<void> {
    const path = `/repos/${where.repo.fullName}/issues/${number}/events`;
    world.github.fault({ method: "GET", path, kind: "delay", delayMs: 400 });
    world.github.install(where.repo);
    await waitFor("the backfill to ask", () =>
      reads(where, `/issues/${number}/events`).length > 0 ? null : "it has not",
    );
    happens();
    await world.settled();
  }

  it("win over what was read before them", async () => {
    const where = place();
    const alice = where.repo.as("alice");
    const number = alice.openIssue({ title: "Old", labels: ["backlog", "P3"] });
    await meanwhile(where, number, () => {
      stories.later();
      alice.editIssue(number, { title: "New" });
      alice.label(number, "P0");
      alice.unlabel(number, "P3");
    });
    expect(await where.api.item(number)).toMatchObject({ title: "New", priority: "P0" });
  });

  it("win within the same second too: a human's removal of the gate label stands", async () => {
    const where = place();
    const number = where.repo.as("bot[bot]").openIssue({ title: "x", labels: ["backlog", GATE] });
    await meanwhile(where, number, () => where.repo.as("tess").unlabel(number, GATE));
    expect(where.repo.issue(number).labels).toEqual(["backlog"]);
    await expectReady(where.api, number);
  });

  it("that add the gate label close it, whatever was read before", async () => {
    const where = place();
    const number = where.repo.as("alice").openIssue({ title: "x", labels: ["backlog"] });
    await meanwhile(where, number, () => where.repo.as("bot[bot]").label(number, GATE));
    await expectNotReady(where.api, number);
    await expectRefused(where.api, number, "not_admitted");
  });

  it("that delete an issue leave it deleted", async () => {
    const where = place();
    const number = where.repo.as("alice").openIssue({ title: "x", labels: ["backlog"] });
    await meanwhile(where, number, () => {
      stories.later();
      where.repo.as("alice").deleteIssue(number);
    });
    await finished(where);
    expect(await readyNumbers(where.api)).toEqual([]);
  });
});

describe("reading everything again", () => {
  it("changes nothing where nothing changed", async () => {
    const where = place();
    const number = where.repo.as("alice").openIssue({ title: "x", labels: ["backlog"] });
    where.repo.as("bot[bot]").openIssue({ title: "x", labels: ["backlog"] });
    await world.install(where.repo);
    await granted(where.api, number, "worker/a", { leaseSeconds: 900 });
    await world.settled();
    const before = [await where.api.item(1), await where.api.item(2), await where.api.ready()];
    await backfilledAgain(where);
    expect([await where.api.item(1), await where.api.item(2), await where.api.ready()]).toEqual(before);
  });

  it("takes up what was missed: labels, priorities, a human's admission, park and unpark", async () => {
    const where = place();
    const alice = where.repo.as("alice");
    const [renamed, gated, parked, enrolled, left] = [
      alice.openIssue({ title: "x", labels: ["backlog"] }),
      where.repo.as("bot[bot]").openIssue({ title: "x", labels: ["backlog"] }),
      alice.openIssue({ title: "x", labels: ["backlog"] }),
      alice.openIssue({ title: "x" }),
      alice.openIssue({ title: "x", labels: ["backlog"] }),
    ];
    await world.install(where.repo);
    stories.later();
    world.github.suspend(where.repo.owner);
    alice.editIssue(renamed, { title: "Renamed" });
    alice.label(renamed, "P0");
    alice.unlabel(gated, GATE);
    alice.label(parked, STALE);
    alice.label(enrolled, "backlog");
    alice.unlabel(left, "backlog");
    world.github.unsuspend(where.repo.owner);
    await world.settled();
    expect(await where.api.item(renamed)).toMatchObject({ title: "Renamed", priority: "P0" });
    expect(await where.api.item(gated)).toMatchObject({ admitted: true, admittedBy: "alice" });
    expect(await where.api.item(parked)).toMatchObject({ state: "parked" });
    await expectReady(where.api, enrolled);
    await expectNotReady(where.api, left);

    stories.later();
    world.github.suspend(where.repo.owner);
    alice.unlabel(parked, STALE);
    world.github.unsuspend(where.repo.owner);
    await world.settled();
    await expectReady(where.api, parked);
  });

  it("puts back what a bot took off meanwhile", async () => {
    const where = place();
    const number = where.repo.as("bot[bot]").openIssue({ title: "x", labels: ["backlog"] });
    await world.install(where.repo);
    stories.later();
    world.github.suspend(where.repo.owner);
    where.repo.as("bot[bot]").unlabel(number, GATE);
    world.github.unsuspend(where.repo.owner);
    await world.settled();
    expect(where.repo.issue(number).labels).toContain(GATE);
    await expectRefused(where.api, number, "not_admitted");
  });

  it("does not admit an item whose admission was withdrawn, though its label could not be written yet", async () => {
    const where = place();
    const number = where.repo.as("alice").openIssue({ title: "x", body: "Do.", labels: ["backlog"] });
    await world.install(where.repo);
    down(world, `/repos/${where.repo.fullName}/issues/${number}/labels`);
    stories.later();
    where.repo.as("rita").editIssue(number, { body: "Do harm." });
    await world.settled();
    await expectRefused(where.api, number, "not_admitted");
    await backfilledAgain(where);
    await expectRefused(where.api, number, "not_admitted");
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    expect(where.repo.issue(number).labels).toContain(GATE);
  });

  it("does not unpark an item whose label could not be written yet", async () => {
    const where = place();
    const number = where.repo.as("alice").openIssue({ title: "x", labels: ["backlog"] });
    await world.install(where.repo);
    down(world, `/repos/${where.repo.fullName}/issues/${number}/labels`);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await where.api.release(number, (await granted(where.api, number, "worker/a")).fencingToken);
    }
    await world.settled();
    await backfilledAgain(where);
    await expectRefused(where.api, number, "parked");
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    expect(where.repo.issue(number).labels).toContain(STALE);
  });
});

/** Repositories come and go (protocol 1): known by their id, whatever they are called and whoever may reach them. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  claimMarkers,
  down,
  expectReady,
  GATE,
  granted,
  ownComments,
  readyNumbers,
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

const apiOf = (fullName: string): ApiClient => world.api.with({ repo: fullName });

async function readyItem(repo: FakeRepository): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
}

async function attempt(repo: FakeRepository, number: number): Promise<void> {
  const { fencingToken } = await granted(apiOf(repo.fullName), number, "worker/a");
  await apiOf(repo.fullName).release(number, fencingToken);
  await world.settled();
}

const writesTo = (fullName: string): number =>
  world.github.requests.filter(
    ({ method, path }) => method !== "GET" && path.startsWith(`/repos/${fullName}/`),
  ).length;

/** What was asked since, but for what the audit of deliveries asks in the App's own name, for all at once. */
const requestsOfInstallations = (since: number) =>
  world.github.requests
    .slice(since)
    .filter(({ path }) => !/^\/app\/(hook\/deliveries|installations$)/.test(path));

describe("renaming a repository", () => {
  it("changes its address and nothing else: the old one is unknown, writes go to the new one", async () => {
    const repo = await world.repository("rename/old");
    const number = await readyItem(repo);
    await attempt(repo, number);
    world.github.renameRepository(repo, "new");
    await world.settled();
    expect((await apiOf("rename/old").tryRepo("GET", `/items/${number}`)).status).toBe(404);
    const writes = writesTo("rename/old");
    expect(await granted(apiOf("rename/new"), number, "worker/b")).toMatchObject({ attempt: 2 });
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(2);
    expect(writesTo("rename/old")).toBe(writes);
  });

  it("is understood with another repository taking the name, whichever is heard of first", async () => {
    for (const order of ["as sent", "reverse"] as const) {
      const owner = `name-${order.replace(" ", "-")}`;
      const first = await world.repository(`${owner}/one`);
      const number = await readyItem(first);
      await attempt(first, number);
      world.github.hold();
      world.github.renameRepository(first, "two");
      const second = world.github.repository(`${owner}/one`, { collaborators: { alice: "admin" } });
      world.github.install(second);
      world.github.release(order === "reverse" ? { order } : {});
      await world.settled();

      expect(await readyNumbers(apiOf(`${owner}/one`))).toEqual([]);
      expect(await readyNumbers(apiOf(`${owner}/two`))).toEqual([number]);
      const other = await readyItem(second);
      expect(other).toBe(number);
      expect(await granted(apiOf(`${owner}/one`), other, "worker/x")).toMatchObject({ attempt: 1 });
      expect(await granted(apiOf(`${owner}/two`), number, "worker/y")).toMatchObject({ attempt: 2 });
      await world.settled();
      expect(claimMarkers(second, other)).toHaveLength(1);
      expect(claimMarkers(first, number)).toHaveLength(2);
    }
  });

  it("unheard of, with another repository taking the name, makes no write land there", async () => {
    const first = await world.repository("usurped/name");
    const number = await readyItem(first);
    down(world, `/repos/usurped/name/issues/${number}/comments`);
    await granted(apiOf("usurped/name"), number, "worker/a");
    await world.settled();
    world.github.silently(() => world.github.renameRepository(first, "elsewhere"));
    const second = world.github.repository("usurped/name", { collaborators: { alice: "admin" } });
    await world.install(second);
    expect(await readyItem(second)).toBe(number);
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    expect(ownComments(second, number)).toEqual([]);

    first.as("tess").comment(number, "Anybody there?");
    await world.settled();
    expect(claimMarkers(first, number)).toHaveLength(1);
    await expectReady(apiOf("usurped/name"), number);
  });

  it("to another owner where the App is too, keeps everything", async () => {
    await world.repository("buyer/other");
    const repo = await world.repository("seller/goods");
    const number = await readyItem(repo);
    await attempt(repo, number);
    world.github.transferRepository(repo, "buyer");
    await world.settled();
    expect(await granted(apiOf("buyer/goods"), number, "worker/b")).toMatchObject({ attempt: 2 });
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(2);
  });
});

describe("the default branch", () => {
  it("[68] changed takes the items based on it along; nothing completes by itself", async () => {
    const repo = await world.repository("branches/default");
    const api = apiOf("branches/default");
    const before = await readyItem(repo);
    repo.as("alice").createBranch("trunk");
    world.github.changeDefaultBranch(repo, "trunk");
    await world.settled();
    const after = await readyItem(repo);
    expect(await api.item(after)).toMatchObject({ baseBranch: "trunk" });
    expect(await api.item(before)).toMatchObject({ baseBranch: "trunk", state: null, defects: [] });
    repo.as("alice").merge(repo.as("alice").openPull({ head: `feat/issue-${before}`, base: "trunk" }));
    await world.settled();
    expect(await api.item(before)).toMatchObject({ state: "complete" });
  });
});

describe("[37] removing a repository from the installation", () => {
  it("keeps its history: added again, it is read again and its attempts are what they were", async () => {
    const keeper = await world.repository("removed/keeper");
    const repo = await world.repository("removed/widgets");
    const api = apiOf("removed/widgets");
    const number = await readyItem(repo);
    await attempt(repo, number);
    await attempt(repo, number);
    world.github.removeFromInstallation(repo);
    await world.settled();
    expect(await listed("removed/widgets")).toMatchObject({ installed: false });
    const missed = repo.as("alice").openIssue({ title: "Meanwhile", labels: ["backlog"] });

    world.github.install(repo);
    await world.settled();
    expect(await listed("removed/widgets")).toMatchObject({ installed: true });
    expect(await readyNumbers(api)).toEqual([number, missed]);
    expect(await granted(api, number, "worker/c")).toMatchObject({ attempt: 3 });
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(3);
    expect(await listed(keeper.fullName)).toMatchObject({ installed: true });
  });

  it("writes nothing there meanwhile, and what was promised follows", async () => {
    await world.repository("away/keeper");
    const repo = await world.repository("away/widgets");
    const number = await readyItem(repo);
    world.github.removeFromInstallation(repo);
    await world.settled();
    await granted(apiOf("away/widgets"), number, "worker/a");
    await world.settled();
    await stories.pass(30);
    await world.settled();
    expect(ownComments(repo, number)).toEqual([]);
    world.github.install(repo);
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(1);
  });

  it("and uninstalling altogether, then installing anew, keeps it too", async () => {
    const repo = await world.repository("uninstalled/widgets");
    const number = await readyItem(repo);
    await attempt(repo, number);
    world.github.uninstall(repo);
    await world.settled();
    expect(await listed("uninstalled/widgets")).toMatchObject({ installed: false });
    await world.install(repo);
    expect(await granted(apiOf("uninstalled/widgets"), number, "worker/b")).toMatchObject({ attempt: 2 });
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(2);
  });
});

async function listed(fullName: string) {
  const { repos } = (await world.api.send("GET", "/api/v1/repos?limit=100")).body;
  return repos.find(({ owner, name }: { owner: string; name: string }) => `${owner}/${name}` === fullName);
}

describe("[36] suspending the installation", () => {
  it("stops everything that speaks to GitHub, and takes up what was missed when it ends", async () => {
    const repo = await world.repository("suspended/widgets");
    const api = apiOf("suspended/widgets");
    const number = await readyItem(repo);
    world.github.suspend("suspended");
    await world.settled();
    const before = world.github.requests.length;
    await granted(api, number, "worker/a", { leaseSeconds: 900 });
    await world.settled();
    await stories.pass(60);
    await world.settled();
    expect(requestsOfInstallations(before)).toEqual([]);
    const [missed, gated] = [
      repo.as("alice").openIssue({ title: "Meanwhile", labels: ["backlog", "P0"] }),
      repo.as("planner[bot]").openIssue({ title: "Meanwhile", labels: ["backlog"] }),
    ];

    world.github.unsuspend("suspended");
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(1);
    expect(await readyNumbers(api)).toEqual([missed]);
    expect(repo.issue(gated).labels).toContain(GATE);
  });

  it("puts off what cannot be asked meanwhile, which is tried again at once when it ends", async () => {
    const repo = await world.repository("put-off/widgets");
    world.github.hold();
    const number = repo.as("alice").openIssue({ title: "Came too late", labels: ["backlog"] });
    world.github.silently(() => world.github.suspend("put-off"));
    world.github.release();
    await world.github.delivered();
    const left = async (): Promise<number> => {
      const { rows } = await world.app.deps.database.pool.query<{ left: number }>(
        "select extract(epoch from max(next_try_at) - db_now())::float8 as left from inbox where state = 'pending' and repository_id = $1",
        [repo.id],
      );
      return rows[0]?.left ?? 0;
    };
    await expect.poll(left).toBeGreaterThan(0);
    // Each try puts it off for longer.
    await expect
      .poll(
        async () => {
          const seconds = await left();
          if (seconds < 60) await stories.pass(Math.max(0, seconds) + 0.1);
          return seconds;
        },
        { timeout: 60_000 },
      )
      .toBeGreaterThan(60);
    world.github.unsuspend("put-off");
    await world.settled();
    expect(await readyNumbers(apiOf("put-off/widgets"))).toEqual([number]);
  });

  it("before the backfill was done lets it wait, and go on", async () => {
    const repo = world.github.repository("early/widgets", { collaborators: { alice: "admin" } });
    world.github.silently(() => repo.as("alice").openIssue({ title: "Old", labels: ["backlog"] }));
    world.github.hold();
    world.github.install(repo);
    world.github.suspend("early");
    world.github.release();
    await world.settled();
    const before = world.github.requests.length;
    await stories.pass(120);
    await world.settled();
    expect(requestsOfInstallations(before)).toEqual([]);
    world.github.unsuspend("early");
    await world.settled();
    expect(await readyNumbers(apiOf("early/widgets"))).toEqual([1]);
  });
});

describe("[36] a suspension of which no news came", () => {
  it("stops whoever asks GitHub, after one answer", async () => {
    const repo = await world.repository("unheard/widgets");
    await readyItem(repo);
    world.github.hold();
    const number = repo.as("rita").openIssue({ title: "Needs a look at rights", labels: ["backlog"] });
    world.github.silently(() => world.github.suspend("unheard"));
    const before = world.github.requests.length;
    world.github.release();
    await expect.poll(() => world.github.requests.length).toBeGreaterThan(before);
    await world.settled();
    const asked = world.github.requests.length;
    for (let wait = 0; wait < 4; wait += 1) {
      await stories.pass(600);
      await world.settled();
    }
    expect(requestsOfInstallations(asked)).toEqual([]);

    world.github.unsuspend("unheard");
    // Not `settled`: what was put off is due again in up to ten minutes, which pass below.
    const suspended = () =>
      world.db.selectFrom("installation").select("id").where("suspended_at", "is not", null).execute();
    await expect.poll(suspended, { timeout: 60_000 }).toEqual([]);
    await stories.pass(600);
    await world.settled();
    expect(repo.issue(number).labels).toContain(GATE);
  }, 120_000);
});

describe("a repository that was deleted, of which no news came", () => {
  it("is tried a few times, and given up", async () => {
    world.expectError(/refuses what was promised|outbox: claim/);
    const repo = await world.repository("deleted/widgets");
    const number = await readyItem(repo);
    world.github.silently(() => world.github.deleteRepository(repo));
    await granted(apiOf("deleted/widgets"), number, "worker/a");
    for (let wait = 0; wait < 6; wait += 1) {
      await world.settled();
      await stories.pass(60);
    }
    await world.settled();
    const tries = world.github.requestsTo("POST", `/repos/deleted/widgets/issues/${number}/comments`);
    expect(tries.length).toBeGreaterThan(0);
    expect(tries.length).toBeLessThanOrEqual(4);
    const { body } = await world.api.send("GET", "/api/v1/outbox?state=failed&repo=deleted/widgets");
    expect(body.entries).toEqual([
      expect.objectContaining({ issue: number, error: expect.stringContaining("404") }),
    ]);
  });
});

describe("a repository that nobody announced", () => {
  it("is taken up, and read, when anything is heard from it", async () => {
    const repo = world.github.repository("unannounced/widgets", { collaborators: { alice: "admin" } });
    world.github.silently(() => {
      repo.as("alice").openIssue({ title: "Old", labels: ["backlog"] });
      world.github.install(repo);
    });
    const number = repo.as("alice").openIssue({ title: "New", labels: ["backlog"] });
    await world.settled();
    expect(await readyNumbers(apiOf("unannounced/widgets"))).toEqual([1, number]);
    expect(repo.labels()).toContain("stale");
  });
});

/** [63] Blockers in repositories where the App is not installed: read from the blocked issue's own list, every so often. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { backfill } from "../../src/services/backfill.ts";
import { readForeignBlockers } from "../../src/services/foreign-blockers.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { World } from "../harness/world.ts";
import { expectRefused, granted, type Stories, startStories } from "./support/stories.ts";

const INTERVAL_SECONDS = 900;

let stories: Stories;
let world: World;
let repo: FakeRepository;
let elsewhere: FakeRepository;
let api: ApiClient;
let item: number;
let blocker: number;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
  elsewhere = world.github.repository("acme/elsewhere", { collaborators: { alice: "admin" } });
});
afterAll(() => world.end());

/** An item that is blocked, on GitHub, by an open issue where the App is not. */
beforeEach(async () => {
  item = repo.as("alice").openIssue({ title: "Item", labels: ["backlog"] });
  blocker = elsewhere.as("alice").openIssue({ title: "Elsewhere" });
  await world.settled();
  await link();
});

async function link(): Promise<void> {
  stories.later();
  repo.as("alice").blockBy(item, { repository: elsewhere, number: blocker });
  await world.settled();
}

const path = () => `/repos/acme/widgets/issues/${item}/dependencies/blocked_by`;
const key = () => `repo/acme/elsewhere/mem/backlog/issue-${blocker}`;
const seen = () => world.github.requestsTo("GET", path()).map(({ status }) => status);

/** An interval goes by, and whatever is due then is read. */
async function polled(): Promise<void> {
  await world.pass(INTERVAL_SECONDS + 1);
  await readDue();
}
async function readDue(): Promise<void> {
  while (await readForeignBlockers(world.app.deps, INTERVAL_SECONDS));
  await world.settled();
}

const statusOfBlocker = async () =>
  (await api.repo("GET", `/items/${item}/dependencies`)).dependencies.map(
    ({ status }: { status: string }) => status,
  );
const isReady = async () =>
  (await api.repo("GET", "/ready?limit=100")).ready.some(({ number }: { number: number }) => number === item);

describe("[63] a blocker in a repository where the App is not installed", () => {
  it("blocks while it is open, frees when it is completed, blocks again when it is reopened", async () => {
    await readDue();
    await expectRefused(api, item, "blocked");
    expect(await statusOfBlocker()).toEqual(["waiting"]);
    elsewhere.as("alice").close(blocker, "completed");
    await polled();
    expect((await api.item(item)).reasons).toEqual([]);
    expect(await statusOfBlocker()).toEqual(["satisfied"]);
    expect(await isReady()).toBe(true);
    elsewhere.as("alice").reopen(blocker);
    await polled();
    await expectRefused(api, item, "blocked");
    expect(await isReady()).toBe(false);
    elsewhere.as("alice").close(blocker, "completed");
    await polled();
    await granted(api, item, "w/1");
  });

  it("stalls when it is closed as not planned", async () => {
    elsewhere.as("alice").close(blocker, "not_planned");
    await polled();
    await expectRefused(api, item, "blocked");
    expect((await api.item(item)).defects).toMatchObject([{ code: "stalled_blocker", value: key() }]);
    elsewhere.as("alice").reopen(blocker);
    await polled();
    expect((await api.item(item)).defects).toEqual([]);
  });

  it("is read once in an interval, and an answer that GitHub gave before is not told again", async () => {
    await readDue();
    const before = seen().length;
    await readDue();
    expect(seen()).toHaveLength(before);
    await polled();
    expect(seen().slice(before)).toEqual([304]);
    elsewhere.as("alice").close(blocker, "completed");
    await polled();
    expect(seen().slice(before)).toEqual([304, 200]);
  });

  it("that GitHub leaves out of its list blocks, and the item says so", async () => {
    elsewhere.as("alice").close(blocker, "completed");
    await polled();
    expect((await api.item(item)).reasons).toEqual([]);
    world.github.fault({ path: path(), kind: "status", status: 200, body: [] });
    await polled();
    await expectRefused(api, item, "blocked");
    expect(await statusOfBlocker()).toEqual(["unknown"]);
    expect((await api.item(item)).reasons).toEqual([
      { reason: "blocked", on: [], detail: expect.stringContaining(`${key()} blocks`) },
    ]);
    await polled();
    expect((await api.item(item)).reasons).toEqual([]);
  });

  it("whose list GitHub refuses blocks; where GitHub only fails, what is known stays", async () => {
    elsewhere.as("alice").close(blocker, "completed");
    await polled();
    world.github.fault({ path: path(), kind: "status", status: 502 });
    await polled();
    expect((await api.item(item)).reasons).toEqual([]);
    // Not after a whole interval: the list may have changed.
    const tried = seen().length;
    await world.pass(61);
    await readDue();
    expect(seen().slice(tried)).toEqual([304]);
    world.github.fault({ path: path(), kind: "status", status: 403, body: { message: "Forbidden" } });
    await polled();
    await expectRefused(api, item, "blocked");
    expect((await api.item(item)).reasons).toMatchObject([
      { detail: expect.stringContaining("cannot see its state") },
    ]);
    await polled();
    expect((await api.item(item)).reasons).toEqual([]);
  });

  it("that was unlinked and linked again is read anew", async () => {
    elsewhere.as("alice").close(blocker, "completed");
    await polled();
    expect((await api.item(item)).reasons).toEqual([]);
    stories.later();
    repo.as("alice").unblock(item, { repository: elsewhere, number: blocker });
    await world.settled();
    elsewhere.as("alice").reopen(blocker);
    await link();
    await expectRefused(api, item, "blocked");
    elsewhere.as("alice").close(blocker, "completed");
    await readDue();
    await granted(api, item, "w/1");
  });

  it("that only we have an edge to any more is known no more, and blocks", async () => {
    await world.db
      .updateTable("record_link")
      .set({ own: true })
      .where("number", "=", item)
      .where("relation", "=", "blockedBy")
      .execute();
    elsewhere.as("alice").close(blocker, "completed");
    await polled();
    expect((await api.item(item)).reasons).toEqual([]);
    stories.later();
    repo.as("alice").unblock(item, { repository: elsewhere, number: blocker });
    await world.settled();
    await expectRefused(api, item, "blocked");
    expect(await statusOfBlocker()).toEqual(["unknown"]);
  });

  it("is heard of by its own events once the App is there too, and read no more", async () => {
    elsewhere.as("alice").close(blocker, "completed");
    await polled();
    expect((await api.item(item)).reasons).toEqual([]);
    elsewhere.as("alice").reopen(blocker);
    await world.install(elsewhere);
    await expectRefused(api, item, "blocked");
    const before = seen().length;
    await polled();
    expect(seen()).toHaveLength(before);
    elsewhere.as("alice").close(blocker, "completed");
    await world.settled();
    await granted(api, item, "w/1");
    // And read again once the App has left.
    elsewhere.as("alice").reopen(blocker);
    await world.settled();
    world.github.removeFromInstallation(elsewhere);
    await world.settled();
    await readDue();
    expect(await statusOfBlocker()).toEqual(["waiting"]);
  });

  it("is not believed by its old mirror when the App comes back, until it has been read", async () => {
    await world.install(elsewhere);
    elsewhere.as("alice").close(blocker, "completed");
    await world.settled();
    expect((await api.item(item)).reasons).toEqual([]);
    world.github.removeFromInstallation(elsewhere);
    await world.settled();
    stories.later();
    // Nobody hears of it.
    elsewhere.as("alice").reopen(blocker);
    await polled();
    await expectRefused(api, item, "blocked");
    world.github.fault({ path: "/repos/acme/elsewhere/issues", kind: "status", status: 503, times: 1000 });
    world.github.install(elsewhere);
    await world.github.delivered();
    await waitFor("the App to be there", async () => {
      const row = await world.db
        .selectFrom("repository")
        .select(["installed", "backfill_error"])
        .where("id", "=", elsewhere.id)
        .executeTakeFirst();
      return row?.installed && row.backfill_error !== null ? null : JSON.stringify(row);
    });
    await expectRefused(api, item, "blocked");
    expect(await statusOfBlocker()).toEqual(["waiting"]);
    world.github.clearFaults();
    await stories.pass(600);
    await backfill(world.app.deps, elsewhere.id, new AbortController().signal);
    await world.settled();
    await expectRefused(api, item, "blocked");
    elsewhere.as("alice").close(blocker, "completed");
    await world.settled();
    expect((await api.item(item)).reasons).toEqual([]);
    await granted(api, item, "w/1");
  });
});

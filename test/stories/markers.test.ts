/** Which comments count as attempts (protocol 4): a passer-by parks nothing, and nobody forges an attempt. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  claimMarkers,
  defectsOf,
  down,
  expectReady,
  granted,
  intercept,
  lastDelivery,
  OWN_BOT,
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
  repo = await world.repository("acme/widgets", { carol: "write" });
});
afterAll(() => world.end());

async function readyItem(where = repo): Promise<number> {
  const number = where.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
}

const marker = (number: number, fence: number): string =>
  `<!-- backlog-worker: claim item=issue-${number} owner=worker/x region=local fence=${fence} at=2026-09-06T00:12:44Z -->`;

/** A token that nobody was granted. */
const NO_GRANT = 4;

async function expectMarkers(number: number, count: number): Promise<void> {
  await world.settled();
  expect((await api.item(number)).attempts).toMatchObject({ markers: count });
}

/** A claim whose marker the App cannot post for now: the worker may post its own. */
async function claimUnmarked(number: number): Promise<number> {
  down(world, `/repos/acme/widgets/issues/${number}/comments`);
  const { fencingToken } = await granted(api, number, "worker/x");
  await expectMarkers(number, 0);
  return fencingToken;
}

describe("written by the App itself", () => {
  const own = () => repo.as(OWN_BOT);

  it("counts, once for a token", async () => {
    const number = await readyItem();
    own().comment(number, marker(number, NO_GRANT));
    own().comment(number, marker(number, NO_GRANT));
    await expectMarkers(number, 1);
  });

  it("[38] counts with a browser's line ends", async () => {
    const number = await readyItem();
    own().comment(number, `${marker(number, NO_GRANT)}\r\nmore`);
    await expectMarkers(number, 1);
  });

  it.each([
    ["quoted", (text: string) => `> ${text}`],
    ["fenced", (text: string) => `\`\`\`\n${text}\n\`\`\``],
    ["indented as code", (text: string) => `    ${text}`],
    ["on the second line", (text: string) => `Hello\n${text}`],
    ["after an empty line", (text: string) => `\n${text}`],
  ])("[40] does not count %s", async (_, write) => {
    const number = await readyItem();
    own().comment(number, write(marker(number, NO_GRANT)));
    await expectMarkers(number, 0);
  });

  it.each([
    ["another item's", (text: string, number: number) => text.replace(`issue-${number}`, "issue-9999")],
    ["an unknown verb", (text: string) => text.replace("worker: claim", "worker: seize")],
    ["a missing field", (text: string) => text.replace(" region=local", "")],
    ["a token that is no number", (text: string) => text.replace(`fence=${NO_GRANT}`, "fence=four")],
  ])("[43] does not count: %s", async (_, spoil) => {
    const number = await readyItem();
    own().comment(number, spoil(marker(number, NO_GRANT), number));
    await expectMarkers(number, 0);
  });

  it("[12] does not count for an action that nobody knows", async () => {
    const number = await readyItem();
    const comment = intercept(world, () => own().comment(number, marker(number, NO_GRANT)));
    await world.github.deliver({
      event: "issue_comment",
      payload: { ...comment, action: "pinned" },
    });
    await expectMarkers(number, 0);
  });

  it("[47] does not count on a pull request", async () => {
    const pull = repo.as("alice").openPull({ head: "topic/commented" });
    own().comment(pull, marker(pull, NO_GRANT));
    await world.settled();
    const counted = await world.db
      .selectFrom("claim_marker")
      .select("fence")
      .where("issue_number", "=", pull)
      .execute();
    expect(counted).toEqual([]);
  });

  it("is reported where no grant of ours stands behind it", async () => {
    const number = await readyItem();
    own().comment(number, marker(number, NO_GRANT));
    await world.settled();
    expect(await defectsOf(api, number)).toEqual(["marker_without_grant"]);
  });
});

describe("written by somebody else", () => {
  it("[43] does not count from a stranger, even with the right token", async () => {
    const number = await readyItem();
    const fence = await claimUnmarked(number);
    repo.as("stranger").comment(number, marker(number, fence));
    await expectMarkers(number, 0);
  });

  it("does not park an item, however often strangers and members write it", async () => {
    const number = await readyItem();
    for (const fence of [11, 12, 13]) {
      repo.as("stranger").comment(number, marker(number, fence));
      repo.as("carol").comment(number, marker(number, fence));
    }
    await world.settled();
    expect(await world.sweep()).toBe(0);
    await expectReady(api, number);
    expect(await defectsOf(api, number)).toEqual([]);
  });

  it("counts from a collaborator whose token is a grant of ours, and then once with our own", async () => {
    const number = await readyItem();
    const fence = await claimUnmarked(number);
    repo.as("carol").comment(number, marker(number, fence));
    await expectMarkers(number, 1);
    world.github.clearFaults();
    await stories.pass(60);
    await expectMarkers(number, 1);
    expect(claimMarkers(repo, number)).toHaveLength(1);
    expect((await api.item(number)).attempts).toMatchObject({ grants: 1, reading: "consistent" });
  });

  it("does not count with a token granted on another item", async () => {
    const [number, other] = [await readyItem(), await readyItem()];
    const { fencingToken } = await granted(api, other, "worker/x");
    repo.as("carol").comment(number, marker(number, fencingToken));
    await expectMarkers(number, 0);
  });

  it("[43] counts from a listed agent, who is nobody in particular on GitHub", async () => {
    const other = await world.repository("acme/agents");
    const there = api.with({ repo: "acme/agents" });
    await world.db
      .updateTable("repository")
      .set({ settings: JSON.stringify({ agents: ["robo"] }) })
      .where("id", "=", other.id)
      .execute();
    const number = await readyItem(other);
    down(world, `/repos/acme/agents/issues/${number}/comments`);
    const { fencingToken } = await granted(there, number, "worker/x");
    other.as("robo").comment(number, marker(number, fencingToken));
    await world.settled();
    expect((await there.item(number)).attempts).toMatchObject({ markers: 1 });
  });

  it("does not count from another App's bot that is not listed", async () => {
    const number = await readyItem();
    const fence = await claimUnmarked(number);
    repo.as("other[bot]").comment(number, marker(number, fence));
    await expectMarkers(number, 0);
  });
});

describe("[41] edited", () => {
  it("after it counted, it stays counted once, whatever becomes of the text", async () => {
    const number = await readyItem();
    const id = repo.as(OWN_BOT).comment(number, marker(number, NO_GRANT));
    await expectMarkers(number, 1);
    stories.later();
    repo.as("alice").editComment(id, `${marker(number, NO_GRANT)}\nA typo less.`);
    await expectMarkers(number, 1);
    repo.as("alice").editComment(id, "Nothing to see here.");
    await expectMarkers(number, 1);
  });

  it("into an old comment, it adds nothing", async () => {
    const number = await readyItem();
    const id = repo.as(OWN_BOT).comment(number, "Hello");
    await world.settled();
    stories.later();
    repo.as("alice").editComment(id, marker(number, NO_GRANT));
    await expectMarkers(number, 0);
  });

  it("and heard of before its creation, it counts once", async () => {
    const number = await readyItem();
    world.github.hold();
    const id = repo.as(OWN_BOT).comment(number, marker(number, NO_GRANT));
    repo.as("alice").editComment(id, marker(number, NO_GRANT));
    world.github.release({ order: "reverse" });
    await expectMarkers(number, 1);
  });

  it("while nobody looked, it is no proof", async () => {
    const other = await world.repository("elsewhere/edited");
    const number = await readyItem(other);
    world.github.silently(() => {
      const id = other.as(OWN_BOT).comment(number, "Hello");
      stories.later();
      other.as("alice").editComment(id, marker(number, NO_GRANT));
    });
    await backfilledAgain("elsewhere");
    expect((await api.with({ repo: "elsewhere/edited" }).item(number)).attempts).toMatchObject({
      markers: 0,
    });
  });
});

/** The installation is suspended and comes back: everything is read once more. */
async function backfilledAgain(owner: string): Promise<void> {
  world.github.suspend(owner);
  world.github.unsuspend(owner);
  await world.settled();
}

describe("deleted", () => {
  it("[42] it stays counted, also when everything is read again", async () => {
    const other = await world.repository("elsewhere/deleted");
    const there = api.with({ repo: "elsewhere/deleted" });
    const number = await readyItem(other);
    await granted(there, number, "worker/x");
    await world.settled();
    other.as("alice").deleteComment(other.issue(number).comments[0]?.id ?? 0);
    await world.settled();
    await backfilledAgain("elsewhere");
    expect((await there.item(number)).attempts).toMatchObject({ grants: 1, markers: 1 });
  });

  it("[29] before its creation was heard of, the comment stays deleted", async () => {
    const number = await readyItem();
    world.github.hold();
    const id = repo.as("alice").comment(number, "Oops");
    repo.as("alice").deleteComment(id);
    world.github.release({ order: "reverse" });
    await world.settled();
    const row = await world.db.selectFrom("issue_comment").select("deleted").where("id", "=", id).execute();
    expect(row).toEqual([{ deleted: true }]);
  });
});

describe("news that comes more than once", () => {
  it("[1] [2] counts once, under the same delivery id or another", async () => {
    const number = await readyItem();
    repo.as(OWN_BOT).comment(number, marker(number, NO_GRANT));
    await world.settled();
    const created = lastDelivery(world, "created");
    await world.github.redeliver(created.guid);
    await world.github.deliver({ event: "issue_comment", payload: created.payload });
    await expectMarkers(number, 1);
  });
});

/**
 * Admission (protocol 3) when news is late, doubled, lost or out of order. Who admits, who does not and what withdraws it:
 * admission-table.test.ts, a story per row.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { World } from "../harness/world.ts";
import {
  defectsOf,
  down,
  expectNotReady,
  expectReady,
  expectRefused,
  GATE,
  intercept,
  labelWrites,
  lastDelivery,
  OWN_BOT,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  repo = await world.repository();
});
afterAll(() => world.end());

const later = (): void => stories.later();

/** An item that a bot proposed: out of the ready set, with the gate label on. */
async function proposal(where = repo): Promise<number> {
  const number = where.as("planner[bot]").openIssue({ title: "A bot's idea", labels: ["backlog"] });
  await world.settled();
  later();
  return number;
}

async function expectGated(number: number): Promise<void> {
  expect(repo.issue(number).labels).toContain(GATE);
  expect(await world.api.item(number)).toMatchObject({ admitted: false, admittedBy: null });
  await expectNotReady(world.api, number);
}

describe("at opening", () => {
  it("gates an issue that a bot opens, with one write", async () => {
    const number = await proposal();
    await expectGated(number);
    await expectRefused(world.api, number, "not_admitted");
    expect(labelWrites(world, repo, number)).toBe(1);
  });

  it("[13] gates an issue whose author is gone, whatever their rights were", async () => {
    repo.setRole("departed", "admin");
    world.github.deleteUser("departed");
    const number = repo.as("departed").openIssue({ title: "A ghost's", labels: ["backlog"] });
    await world.settled();
    await expectGated(number);
  });

  it("waits for admission, says the ready set", async () => {
    const other = await world.repository("acme/proposals");
    const number = await proposal(other);
    expect(await world.api.with({ repo: "acme/proposals" }).ready()).toMatchObject({
      verdict: "waiting",
      pending: 1,
      awaitingAdmission: [number],
    });
  });
});

describe("enrolling later", () => {
  it("does not admit a human's issue from which a bot took the label before", async () => {
    const number = repo.as("alice").openIssue({ title: "Unclear", labels: [GATE] });
    repo.as("janitor[bot]").unlabel(number, GATE);
    repo.as("alice").label(number, "backlog");
    await world.settled();
    await expectGated(number);
  });

  it("admits a stranger's issue from which a human took the label before", async () => {
    const number = repo.as("stranger").openIssue({ title: "Clear by now", labels: [GATE] });
    repo.as("tess").unlabel(number, GATE);
    repo.as("stranger").label(number, "backlog");
    await world.settled();
    expect(await world.api.item(number)).toMatchObject({ admitted: true, admittedBy: "tess" });
  });
});

describe("removing the label", () => {
  it("[20] is taken back when a bot does it, and the attempt is recorded", async () => {
    const number = await proposal();
    const before = labelWrites(world, repo, number);
    repo.as("github-actions[bot]").unlabel(number, GATE);
    await world.settled();
    await expectGated(number);
    expect(await defectsOf(world.api, number)).toContain("label_removed_by_agent");
    expect(labelWrites(world, repo, number)).toBe(before + 1);
  });

  it("is taken back when a listed agent with a person's account does it, however the list spells it", async () => {
    const other = await world.repository("acme/listed", { robo: "admin" });
    await world.db
      .updateTable("repository")
      .set({ settings: JSON.stringify({ agents: ["Robo[bot]"] }) })
      .where("id", "=", other.id)
      .execute();
    const number = other.as("robo").openIssue({ title: "Mine", labels: ["backlog"] });
    await world.settled();
    later();
    other.as("robo").unlabel(number, GATE);
    await world.settled();
    expect(other.issue(number).labels).toContain(GATE);
    await expectRefused(world.api.with({ repo: "acme/listed" }), number, "not_admitted");
  });

  it("is judged by the rights of the moment", async () => {
    const number = await proposal();
    repo.setRole("upstart", "triage");
    repo.as("upstart").unlabel(number, GATE);
    await world.settled();
    expect(await world.api.item(number)).toMatchObject({ admitted: true, admittedBy: "upstart" });
  });

  it("is put back each time that a bot does it, and a human's removal then ends the matter", async () => {
    const number = await proposal();
    for (let time = 0; time < 2; time += 1) {
      repo.as("janitor[bot]").unlabel(number, GATE);
      await world.settled();
      later();
      await expectGated(number);
    }
    repo.as("alice").unlabel(number, GATE);
    await world.settled();
    expect(await world.api.item(number)).toMatchObject({ admitted: true, admittedBy: "alice" });
    expect(await defectsOf(world.api, number)).not.toContain("label_removed_by_agent");
  });

  it("[1] counts once when its delivery is repeated, however late", async () => {
    const number = await proposal();
    repo.as("alice").unlabel(number, GATE);
    await world.settled();
    const { guid } = lastDelivery(world, "unlabeled");
    later();
    repo.as("alice").label(number, GATE);
    await world.settled();
    await world.github.redeliver(guid);
    await world.settled();
    await expectGated(number);
  });

  it("[5] counts although the snapshot still has the label", async () => {
    const number = await proposal();
    const removal = intercept(world, () => repo.as("alice").unlabel(number, GATE));
    removal.issue.labels.push({ id: 5, name: GATE });
    await world.github.deliver({ event: "issues", payload: removal });
    await world.settled();
    expect(await world.api.item(number)).toMatchObject({ admitted: true, admittedBy: "alice" });
    expect(repo.issue(number).labels).not.toContain(GATE);
  });

  it("admits nothing when the label was put back within the same second and the news comes in the wrong order", async () => {
    const number = await proposal();
    world.github.hold();
    repo.as("alice").unlabel(number, GATE);
    repo.as("planner[bot]").label(number, GATE);
    world.github.release({ order: "reverse" });
    await world.settled();
    await expectGated(number);
  });

  it("admits although the news of the label's coming arrives after that of its going", async () => {
    const number = repo.as("alice").openIssue({ title: "In order", labels: ["backlog"] });
    await world.settled();
    later();
    world.github.hold();
    repo.as("planner[bot]").label(number, GATE);
    later();
    repo.as("alice").unlabel(number, GATE);
    world.github.release({ order: "reverse" });
    await world.settled();
    await expectReady(world.api, number);
  });
});

describe("withdrawing", () => {
  it("cannot be undone by a bot whose removal is heard of first", async () => {
    const number = repo.as("alice").openIssue({ title: "Doubtful", labels: ["backlog"] });
    await world.settled();
    later();
    world.github.hold();
    repo.as("tess").label(number, GATE);
    repo.as("janitor[bot]").unlabel(number, GATE);
    world.github.release({ order: "reverse" });
    await world.settled();
    await expectGated(number);
  });
});

describe("the label's definition", () => {
  it("[17] is one label in any case", async () => {
    const other = world.github.repository("acme/shouting", {
      collaborators: { alice: "admin" },
      labels: ["BACKLOG", "Needs-Specification", "STALE"],
    });
    await world.install(other);
    expect(other.labels()).toEqual(["BACKLOG", "Needs-Specification", "STALE"]);

    const number = await proposal(other);
    expect(other.issue(number).labels).toEqual(["BACKLOG", "Needs-Specification"]);
    other.as("alice").unlabel(number, "Needs-Specification");
    await world.settled();
    await expectReady(world.api.with({ repo: "acme/shouting" }), number);
  });
});

describe("writing", () => {
  it("[23] the App's own label event causes no write", async () => {
    const number = await proposal();
    const before = world.github.requests.length;
    const own = lastDelivery(world, "labeled");
    expect(own.body).toMatchObject({ sender: { login: OWN_BOT }, issue: { number } });
    await world.github.deliver({ event: "issues", payload: own.payload });
    await world.settled();
    expect(world.github.requests.slice(before).filter(({ method }) => method !== "GET")).toEqual([]);
  });

  it("an issue that is no item any more keeps what people do to its labels", async () => {
    const number = await proposal();
    repo.as("alice").unlabel(number, "backlog");
    await world.settled();
    later();
    repo.as("planner[bot]").unlabel(number, GATE);
    await world.settled();
    expect(repo.issue(number).labels).toEqual([]);

    later();
    repo.as("alice").label(number, "backlog");
    await world.settled();
    await expectGated(number);
  });

  it("is tried again while GitHub is down, and the item is refused meanwhile", async () => {
    down(world, /\/labels$/);
    const number = await proposal();
    expect(repo.issue(number).labels).not.toContain(GATE);
    await expectRefused(world.api, number, "not_admitted");
    world.github.clearFaults();
    await stories.pass(60);
    await world.settled();
    await expectGated(number);
  });
});

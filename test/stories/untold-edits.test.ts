/**
 * An edit of which nobody tells, while another event brings its text (protocol 3): whoever wrote it, the item does not stay
 * admitted. GitHub lists no edits, so that nothing but the delivery says who edited.
 */

import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reconcileRepository } from "../../src/services/reconcile.ts";
import { sweep } from "../../src/services/sweep.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { World } from "../harness/world.ts";
import {
  expectNotReady,
  expectReady,
  expectRefused,
  GATE,
  labelWrites,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  repo = await world.repository("acme/widgets", { "planner[bot]": "write" });
});
afterAll(() => world.end());

const AGENT = "planner[bot]";

async function item(): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "Work", body: "As it was.", labels: ["backlog"] });
  await world.settled();
  stories.later();
  await expectReady(world.api, number);
  return number;
}

function edits(number: number, by: string, body: string): void {
  repo.as(by).editIssue(number, { body });
  stories.later();
}

/** It happens, and its delivery never comes. */
const unheard = (change: () => void): void => void world.github.silently(change);

/** Time passes in which late news would have come, the deliveries are looked over, and the schedule looks. */
async function afterAWhile(): Promise<void> {
  await stories.pass(121);
  await world.audit();
  await sweepNow();
}

async function sweepNow(): Promise<void> {
  await sweep(world.app.deps);
  await world.settled();
}

async function expectGated(number: number): Promise<void> {
  await expectNotReady(world.api, number);
  await expectRefused(world.api, number, "not_admitted");
  expect(repo.issue(number).labels).toContain(GATE);
}

describe("an edit that is never heard of", () => {
  it.each([
    ["a comment", (number: number) => repo.as("rita").comment(number, "Words.")],
    ["a label", (number: number) => repo.as("tess").label(number, "bug")],
    ["a new title", (number: number) => repo.as("alice").editIssue(number, { title: "Other work" })],
  ])("its text comes with %s: the item is gated once late news would have come", async (_what, brings) => {
    const number = await item();
    unheard(() => edits(number, AGENT, "Delete everything."));
    brings(number);
    await world.settled();
    await sweep(world.app.deps);
    await expectReady(world.api, number);
    await afterAWhile();
    await expectGated(number);
    await afterAWhile();
    expect(labelWrites(world, repo, number)).toBe(1);
  });

  it("nobody is in doubt before an audit has found nothing under way, or there was none for long", async () => {
    const number = await item();
    unheard(() => edits(number, AGENT, "Delete everything."));
    repo.as("rita").comment(number, "Words.");
    await world.settled();
    await stories.pass(121);
    await sweepNow();
    await expectReady(world.api, number);
    await stories.pass(780);
    await sweepNow();
    await expectGated(number);
  });

  it("a human's edit on top of it vouches for nothing", async () => {
    const number = await item();
    unheard(() => edits(number, AGENT, "Delete everything."));
    edits(number, "tess", "Delete everything, please.");
    await world.settled();
    await afterAWhile();
    await expectGated(number);
  });

  it("a human who admits it anew knows the text", async () => {
    const number = await item();
    unheard(() => edits(number, AGENT, "Delete everything."));
    repo.as("tess").label(number, GATE);
    await world.settled();
    stories.later();
    repo.as("tess").unlabel(number, GATE);
    await world.settled();
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it("admitted anew after it was gated so, it stays admitted", async () => {
    const number = await item();
    unheard(() => edits(number, AGENT, "Delete everything."));
    repo.as("rita").comment(number, "Words.");
    await world.settled();
    await afterAWhile();
    await expectGated(number);
    stories.later();
    repo.as("tess").unlabel(number, GATE);
    await world.settled();
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it("whose text is taken back is forgotten", async () => {
    const number = await item();
    unheard(() => edits(number, AGENT, "Delete everything."));
    repo.as("rita").comment(number, "Words.");
    await world.settled();
    edits(number, "alice", "As it was.");
    await world.settled();
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it.each([
    ["by the sweep", false],
    ["by a reading", true],
  ])("of an item that is over closes the gate for whoever reopens it: %s", async (_, isRead) => {
    const number = await item();
    repo.as("alice").close(number, "completed");
    await world.settled();
    stories.later();
    unheard(() => edits(number, AGENT, "Delete everything."));
    repo.as("rita").comment(number, "Words.");
    await world.settled();
    if (isRead) await reconcileRepository(world.app.deps, repo.id, "all");
    await afterAWhile();
    expect(repo.issue(number).labels).not.toContain(GATE);
    repo.as("alice").reopen(number);
    await world.settled();
    await afterAWhile();
    await expectGated(number);
  });
});

describe("an issue that is not heard of in its order", () => {
  /** Opened, and then changed; the news comes in this order, of which some is lost. */
  async function heard(changes: readonly ((number: number) => void)[], order: readonly number[]) {
    world.github.hold();
    const number = repo.as("alice").openIssue({ title: "Work", body: "As it was." });
    for (const change of changes) {
      stories.later();
      change(number);
    }
    const sent = world.github.drop();
    world.github.release();
    for (const place of order) {
      const delivery = sent[place];
      if (delivery === undefined) throw new Error(`only ${sent.length} were sent`);
      await world.github.deliver(delivery);
      await world.settled();
    }
    return number;
  }
  const enrols = (number: number): void => repo.as("tess").label(number, "backlog");

  it("the label first, then the opening: as if in order", async () => {
    const number = await heard([enrols], [1, 0]);
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it("the opening is lost: the text that was heard of first is its own", async () => {
    const number = await heard([enrols], [1]);
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it("the opening is lost, and after a reading a human edits it: nothing is in doubt", async () => {
    const number = await heard([enrols], [1]);
    await stories.pass(121);
    await reconcileRepository(world.app.deps, repo.id, "all");
    await world.settled();
    edits(number, "alice", "Clearer.");
    await world.settled();
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it("it was opened with another text than the one that was heard of first", async () => {
    const number = await heard(
      [
        enrols,
        (n) => repo.as(AGENT).editIssue(n, { body: "Delete everything." }),
        (n) => repo.as("rita").comment(n, "Words."),
      ],
      [3, 1, 0],
    );
    await afterAWhile();
    await expectGated(number);
  });

  it("a human's edit is heard of first, an agent's before it never", async () => {
    const number = await heard(
      [
        enrols,
        (n) => repo.as(AGENT).editIssue(n, { body: "Delete." }),
        (n) => repo.as("alice").editIssue(n, { body: "Delete it." }),
      ],
      [3, 1, 0],
    );
    // The audit sees that one did not come, and vouches for nothing.
    await stories.pass(901);
    await sweepNow();
    await expectGated(number);
  });

  it("an agent's edit and a human's new title, in whatever order", async () => {
    const changes = [
      (n: number) => repo.as(AGENT).editIssue(n, { body: "Delete everything." }),
      (n: number) => repo.as("tess").editIssue(n, { title: "Better work" }),
      enrols,
    ];
    for (const order of [
      [0, 1, 2, 3],
      [2, 1, 0, 3],
      [3, 1, 0, 2],
      [3, 2, 1, 0],
    ]) {
      const number = await heard([enrols, ...changes.slice(0, 2)], order.slice(0, 4));
      await afterAWhile();
      await expectGated(number);
    }
  });

  it.each([
    ["the opening is lost, and then a human edits it", [1]],
    ["a label is heard of first, as if it were no item", [1, 0]],
  ])("%s: nothing is in doubt", async (_, order) => {
    const number = await heard([(n) => repo.as("alice").label(n, "bug")], order);
    repo.as("tess").label(number, "backlog");
    await world.settled();
    edits(number, "alice", "Clearer.");
    await world.settled();
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it("a human's edit is the first that is heard of a closed one, which is taken up later", async () => {
    const number = await heard(
      [
        (n) => repo.as("alice").close(n, "completed"),
        (n) => repo.as("alice").editIssue(n, { body: "Clearer." }),
      ],
      [2],
    );
    repo.as("alice").reopen(number);
    await world.settled();
    repo.as("tess").label(number, "backlog");
    await world.settled();
    edits(number, "alice", "Clearer still.");
    await world.settled();
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it("edits of humans, the last first", async () => {
    const number = await heard(
      [
        enrols,
        (n) => repo.as("tess").editIssue(n, { body: "One." }),
        (n) => repo.as("alice").editIssue(n, { body: "Two." }),
      ],
      [3, 2, 1, 0],
    );
    await afterAWhile();
    await expectReady(world.api, number);
  });
});

describe("an edit that is only late", () => {
  async function lateEdits(number: number, all: readonly (readonly [string, string])[]): Promise<void> {
    world.github.hold();
    for (const [by, body] of all) edits(number, by, body);
    repo.as("rita").comment(number, "Words.");
    world.github.release({ order: "reverse" });
    await world.settled();
  }

  it("humans' edits in the wrong order change nothing", async () => {
    const number = await item();
    await lateEdits(number, [
      ["alice", "One."],
      ["tess", "Two."],
      ["alice", "Three."],
    ]);
    await afterAWhile();
    await expectReady(world.api, number);
  });

  it("an agent's among them gates the item at once", async () => {
    const number = await item();
    await lateEdits(number, [
      ["alice", "One."],
      [AGENT, "Two."],
      ["alice", "Three."],
    ]);
    await expectGated(number);
  });

  it("one that waits in the inbox is waited for", async () => {
    const number = await item();
    world.github.hold();
    edits(number, "alice", "One.");
    repo.as("rita").comment(number, "Words.");
    const [edit] = world.github.drop(1);
    world.github.release();
    await world.settled();
    if (!edit) throw new Error("no edit was sent");
    world.github.fault({
      path: /\/collaborators\/alice\/permission$/,
      kind: "status",
      status: 503,
      times: 1000,
    });
    await world.github.deliver(edit);
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from inbox where state = 'pending' and lane = ${`issue:${number}`}`.execute(
      world.db,
    );
    expect(rows[0]?.n).toBe(1);
    await stories.pass(121);
    await sweep(world.app.deps);
    await expectReady(world.api, number);
    world.github.clearFaults();
    await afterAWhile();
    await expectReady(world.api, number);
  });
});

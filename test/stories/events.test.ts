/** Each type of event is heard when its thing happens, from the real program, on the right item. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { EVENT_TYPES } from "../../src/domain/events.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { EventReader } from "../harness/event-reader.ts";
import { ADMIN_TOKEN, type World } from "../harness/world.ts";
import { GATE, granted, STALE, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
const readers: EventReader[] = [];

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  repo = await world.repository();
});
afterEach(() => {
  for (const reader of readers.splice(0)) {
    for (const type of reader.types) provoked.add(type);
    reader.leave();
  }
});
afterAll(() => world.end());

async function follow(query = "repo=acme/widgets"): Promise<EventReader> {
  const reader = await EventReader.open(world.app.address, { token: ADMIN_TOKEN, query });
  readers.push(reader);
  return reader;
}

async function item(title: string): Promise<number> {
  const number = repo.as("alice").openIssue({ title, labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
}

/** Something that a person does on GitHub, a second after what was before. */
async function done(act: () => void): Promise<void> {
  act();
  await world.settled();
  stories.later();
}

const about = (number: number) => (data: { number: number }) => data.number === number;

/** Every type that there is, provoked by one of the stories below. */
const provoked = new Set<string>();
afterAll(() => {
  expect([...provoked].filter((type) => type !== "sync.lost").sort()).toEqual([...EVENT_TYPES].sort());
});

describe("an item", () => {
  it("is enrolled and admitted when a human brings it in", async () => {
    const reader = await follow();
    const number = await item("New");
    expect(await reader.heard("item.enrolled", about(number))).toMatchObject({
      type: "item.enrolled",
      repo: "acme/widgets",
      number,
      admitted: true,
      id: expect.any(Number),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    await reader.heard("item.admitted", about(number));
    await done(() => repo.as("alice").unlabel(number, "backlog"));
    await reader.heard("item.updated", (data) => data.number === number && data.changed.includes("enrolled"));
  });

  it("is unadmitted and admitted with its gate", async () => {
    const number = await item("Gated");
    const reader = await follow();
    await done(() => repo.as("alice").label(number, GATE));
    await reader.heard("item.unadmitted", about(number));
    await done(() => repo.as("alice").unlabel(number, GATE));
    await reader.heard("item.admitted", about(number));
    expect(reader.types.filter((type) => /admitted/.test(type))).toEqual([
      "item.unadmitted",
      "item.admitted",
    ]);
  });

  it("is claimed and released, with the holder that anybody who reads the claim sees", async () => {
    const number = await item("Work");
    const reader = await follow();
    const { fencingToken } = await granted(world.api, number, "worker/1");
    expect(await reader.heard("item.claimed", about(number))).toMatchObject({
      owner: "worker/1",
      fencingToken,
      scope: "item",
      region: "local",
      custodyChanged: true,
    });
    await world.api.release(number, fencingToken);
    expect(await reader.heard("item.released", about(number))).toMatchObject({
      owner: "worker/1",
      fencingToken,
      how: "released",
    });
    expect(reader.types.filter((type) => /claimed|released/.test(type))).toEqual([
      "item.claimed",
      "item.released",
    ]);
  });

  it("that lapsed is released when the next one takes it", async () => {
    const number = await item("Lapses");
    const first = await granted(world.api, number, "worker/1");
    await stories.pass(100);
    const reader = await follow("types=item.claimed,item.released");
    const second = await granted(world.api, number, "worker/2");
    await reader.heard("item.claimed", about(number));
    expect(reader.events.map(({ event, data }) => [event, data.fencingToken, data.how])).toEqual([
      ["item.released", first.fencingToken, "superseded"],
      ["item.claimed", second.fencingToken, undefined],
    ]);
    await world.api.release(number, second.fencingToken);
  });

  it("is parked and unparked", async () => {
    const number = await item("Stuck");
    const reader = await follow();
    await done(() => repo.as("alice").label(number, STALE));
    expect(await reader.heard("item.parked", about(number))).toMatchObject({ reason: expect.any(String) });
    await reader.heard("item.role_changed", (data) => data.number === number && data.to === "blocked");
    await done(() => repo.as("alice").unlabel(number, STALE));
    await reader.heard("item.unparked", about(number));
    expect(
      await reader.heard("item.role_changed", (data) => data.number === number && data.to === "queue"),
    ).toMatchObject({ trigger: "unpark", from: "blocked" });
  });

  it("is completed, reopened and cancelled", async () => {
    const number = await item("Done");
    const reader = await follow();
    await done(() => repo.as("alice").close(number, "completed"));
    await reader.heard("item.completed", about(number));
    await done(() => repo.as("alice").reopen(number));
    await reader.heard("item.reopened", about(number));
    await done(() => repo.as("alice").close(number, "not_planned"));
    await reader.heard("item.cancelled", about(number));
    const states = /completed|reopened|cancelled|parked/;
    expect(reader.types.filter((type) => states.test(type))).toEqual([
      "item.completed",
      "item.reopened",
      "item.cancelled",
    ]);
  });

  it("is updated, and says what of it changed", async () => {
    const number = await item("Old title");
    const reader = await follow();
    const changed = (what: string) =>
      reader.heard("item.updated", (data) => data.number === number && data.changed.includes(what));
    await done(() => repo.as("alice").editIssue(number, { title: "New title" }));
    await changed("title");
    await done(() => repo.as("alice").label(number, "help wanted"));
    await changed("labels");
    await world.api.repo("PATCH", `/memory/backlog/issue-${number}`, {
      body: { tags: { add: ["team:red"] } },
    });
    await changed("tags");
    await world.api.repo("PATCH", `/memory/backlog/issue-${number}`, { body: { body: "what I found" } });
    await changed("record");
    await world.api.repo("PATCH", `/memory/backlog/issue-${number}`, {
      body: { links: { add: { informs: ["mem/decisions/x"] } } },
    });
    await changed("links");
    const { fencingToken } = await granted(world.api, number, "worker/1");
    await world.api.repo("PATCH", `/items/${number}`, {
      fence: fencingToken,
      body: { resume: { resumeNote: "half done" } },
    });
    await changed("resume");
    await world.api.release(number, fencingToken);
    await done(() => repo.as("alice").close(number, "completed"));
    await changed("issueState");
  });

  it("goes to review and back with its pull request", async () => {
    const number = await item("Reviewed");
    const reader = await follow();
    let pull = 0;
    await done(() => {
      repo.as("alice").push(`feat/issue-${number}`, { files: ["a.txt"] });
      pull = repo
        .as("alice")
        .openPull({ head: `feat/issue-${number}`, title: "Work", body: `Fixes #${number}` });
    });
    expect(await reader.heard("item.role_changed", about(number))).toMatchObject({
      from: "queue",
      to: "review",
    });
    await reader.heard("item.updated", (data) => data.number === number && data.changed.includes("review"));
    await done(() => repo.as("alice").closePull(pull));
    await reader.heard("item.role_changed", (data) => data.number === number && data.to === "queue");
  });
});

describe("what is around items", () => {
  it("dependencies are added and removed, with the item at the other end", async () => {
    const [number, blocker] = [await item("Waits"), await item("Blocks")];
    const reader = await follow();
    await world.api.block(number, blocker);
    const on = `repo/acme/widgets/mem/backlog/issue-${blocker}`;
    expect(await reader.heard("dependency.added", about(number))).toMatchObject({
      relation: "blockedBy",
      on,
    });
    await world.api.repo("PATCH", `/memory/backlog/issue-${number}`, {
      body: { links: { remove: { blockedBy: [`mem/backlog/issue-${blocker}`] } } },
    });
    expect(await reader.heard("dependency.removed", about(number))).toMatchObject({
      relation: "blockedBy",
      on,
    });
  });

  it("resources are acquired and released by the item that holds them, and the holder is not told", async () => {
    const number = await item("Needs staging");
    await world.api.repo("PATCH", `/memory/backlog/issue-${number}`, {
      body: { tags: { add: ["resource:staging"] } },
    });
    const reader = await follow("types=resource.acquired,resource.released");
    const { fencingToken } = await granted(world.api, number, "worker/secret");
    const acquired = await reader.heard("resource.acquired", about(number));
    expect(acquired).toMatchObject({ key: "staging", expiresAt: expect.stringMatching(/^\d{4}-.*Z$/) });
    await world.api.release(number, fencingToken);
    const released = await reader.heard("resource.released", about(number));
    expect(released).toMatchObject({ key: "staging", how: "released" });
    expect(JSON.stringify([acquired, released])).not.toContain("worker/secret");
  });

  it("memory is written and forgotten", async () => {
    const reader = await follow();
    await world.api.repo("PUT", "/memory/decisions/leases", {
      body: { title: "Use leases", kind: "Decision" },
    });
    expect(await reader.heard("memory.written")).toMatchObject({
      number: null,
      topic: "decisions",
      recordId: "leases",
      kind: "Decision",
    });
    await world.api.repo("DELETE", "/memory/decisions/leases");
    expect(await reader.heard("memory.forgotten")).toMatchObject({
      topic: "decisions",
      recordId: "leases",
      actor: "admin",
    });
    expect(reader.types).toEqual(["memory.written", "memory.forgotten"]);
  });

  it("defects are opened and closed as facts change", async () => {
    const number = await item("Doubled");
    await done(() => repo.as("alice").label(number, "P1"));
    const reader = await follow();
    await done(() => repo.as("alice").label(number, "P2"));
    const opened = await reader.heard("defect.opened", about(number));
    expect(opened).toMatchObject({
      code: expect.any(String),
      value: expect.any(String),
      detail: expect.any(String),
    });
    await done(() => repo.as("alice").unlabel(number, "P2"));
    expect(await reader.heard("defect.closed", about(number))).toMatchObject({ code: opened.code });
  });
});

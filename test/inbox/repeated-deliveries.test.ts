/** Rows 1 and 2: a delivery that comes again does nothing again; what identifies it is its hook and its GUID. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { World } from "../harness/world.ts";
import { inbox, keepBackOne, type Payload } from "./support/deliveries.ts";

let world: World;
let repo: FakeRepository;
let number: number;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());
beforeEach(async () => {
  number = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  await world.settled();
});

const attempts = async () => (await world.api.item(number)).attempts;
const comments = () =>
  world.db.selectFrom("issue_comment").select("id").where("issue_number", "=", number).execute();

/** The delivery of the marker that the App posted for a claim. */
async function markerDelivery(): Promise<{ guid: string; payload: Payload }> {
  await world.api.claim(number, "w");
  await world.settled();
  const found = world.github.deliveries.findLast(({ event }) => event === "issue_comment");
  if (!found) throw new Error("no comment was announced");
  return { guid: found.guid, payload: JSON.parse(found.payload) };
}

describe("row 1: the same delivery again", () => {
  it("is answered 202 and counted once", async () => {
    const { guid } = await markerDelivery();
    const before = await inbox(world, guid);
    expect(await attempts()).toMatchObject({ markers: 1, grants: 1, reading: "consistent" });
    for (let times = 0; times < 3; times += 1) {
      const again = await world.github.redeliver(guid);
      expect(again).toMatchObject({ status: 202, answer: { body: expect.stringContaining("repeated") } });
    }
    await world.settled();
    expect(await attempts()).toMatchObject({ markers: 1, grants: 1 });
    expect(await inbox(world, guid)).toEqual(before);
  });

  it("asks GitHub nothing again, and writes nothing again", async () => {
    const opened = world.github.deliveries.findLast(({ action }) => action === "opened");
    const before = world.github.requests.length;
    await world.github.redeliver(opened?.guid ?? "");
    await world.settled();
    expect(world.github.requests.slice(before)).toEqual([]);
  });

  it("many times at once is stored and handled once", async () => {
    const { event, payload } = keepBackOne(world.github, "issue_comment.created", () =>
      repo.as("alice").comment(number, "Hello"),
    );
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => world.github.deliver({ event, payload, guid: "crowd" })),
    );
    await world.settled();
    for (const { status } of answers) expect(status).toBe(202);
    expect(answers.filter(({ body }) => body.includes("stored"))).toHaveLength(1);
    expect(await inbox(world, "crowd")).toEqual([expect.objectContaining({ state: "done", attempts: 1 })]);
    expect(await comments()).toEqual([{ id: payload.comment.id }]);
  });

  it("is processed when the first try was rolled back half way", async () => {
    const pool = world.app.deps.database.pool;
    await pool.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the ledger is closed'; end $$;
      create trigger refuse before insert on claim_marker for each row execute function refuse()`);
    const { guid, payload } = await markerDelivery();
    expect(await inbox(world, guid)).toEqual([
      expect.objectContaining({ state: "pending", error: expect.stringContaining("the ledger is closed") }),
    ]);
    // The comment was saved in the same transaction, and went with it.
    expect(await comments()).toEqual([]);

    await pool.query("drop trigger refuse on claim_marker");
    expect((await world.github.redeliver(guid)).status).toBe(202);
    await world.pass(60);
    await world.settled();
    expect(await attempts()).toMatchObject({ markers: 1, grants: 1, reading: "consistent" });
    expect(await comments()).toEqual([{ id: payload.comment.id }]);
    expect(await inbox(world, guid)).toEqual([expect.objectContaining({ state: "done", error: null })]);
  });

  it("is known by its string, whatever it looks like", async () => {
    const { event, payload } = keepBackOne(world.github, "issues.edited", () =>
      repo.as("alice").editIssue(number, { title: "Edited" }),
    );
    // As numbers these two would be one.
    for (const guid of ["9007199254740993", "9007199254740992"]) {
      expect((await world.github.deliver({ event, payload, guid })).body).toContain("stored");
    }
    await world.settled();
    expect(await inbox(world, "9007199254740993")).toHaveLength(1);
  });
});

describe("row 2: a GUID is not the change's identity", () => {
  it("the same GUID from two hooks is two deliveries", async () => {
    const { event, payload } = keepBackOne(world.github, "issues.edited", () =>
      repo.as("alice").editIssue(number, { title: "Edited" }),
    );
    for (const hookId of [41, 42]) {
      const { status, body } = await world.github.deliver({ event, payload, guid: "shared", hookId });
      expect({ status, body }).toEqual({ status: 202, body: expect.stringContaining("stored") });
    }
    await world.settled();
    expect((await inbox(world, "shared")).map(({ hook_id, state }) => ({ hook_id, state }))).toEqual([
      { hook_id: "41", state: "done" },
      { hook_id: "42", state: "done" },
    ]);
  });

  it("the same comment under two GUIDs counts once", async () => {
    const { payload } = await markerDelivery();
    for (const guid of [`g1-${number}`, `g2-${number}`]) {
      expect((await world.github.deliver({ event: "issue_comment", payload, guid })).body).toContain(
        "stored",
      );
    }
    await world.settled();
    expect(await attempts()).toMatchObject({ markers: 1, grants: 1, reading: "consistent" });
    expect(await comments()).toEqual([{ id: payload.comment.id }]);
  });

  it("the same fence in two comments counts once", async () => {
    const { payload } = await markerDelivery();
    repo.as("alice").comment(number, payload.comment.body);
    await world.settled();
    expect(await attempts()).toMatchObject({ markers: 1, grants: 1, reading: "consistent" });
    expect(await comments()).toHaveLength(2);
  });

  it("an issue announced twice is one item, gated once", async () => {
    const kept = keepBackOne(world.github, "issues.opened", () =>
      repo.as("rita").openIssue({ title: "Proposed twice", labels: ["backlog"] }),
    );
    const proposed = kept.payload.issue.number;
    const payload = structuredClone(kept.payload);
    payload.issue.labels = [{ id: 1, name: "backlog" }];
    await Promise.all(
      ["twice-1", "twice-2"].map((guid) => world.github.deliver({ event: "issues", payload, guid })),
    );
    await world.settled();
    expect(await world.api.item(proposed)).toMatchObject({ admitted: false });
    const path = new RegExp(`/issues/${proposed}/labels$`);
    expect(world.github.requestsTo("POST", path)).toHaveLength(1);
    expect(repo.issue(proposed).labels.filter((label) => label === "needs-specification")).toHaveLength(1);
  });
});

/** Signed, but not what GitHub documents: it is kept, seen, and holds nothing else up. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { ERROR } from "../harness/recorded-log.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";
import { inbox, keepBackOne, type Payload, post, stream, withValues } from "./support/deliveries.ts";

let world: World;
let repo: FakeRepository;
let number: number;
let labeled: Payload;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
  world.expectError(/not the documented form|not of the form/);
  number = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  await world.settled();
  labeled = keepBackOne(world.github, "issues.labeled", () => repo.as("alice").label(number, "red")).payload;
});
afterAll(() => world.end());
afterEach(async () => {
  await world.db.deleteFrom("inbox").execute();
});

const health = async () => (await world.api.send("GET", "/health")).body;
let guids = 0;
/** Sends a payload and waits until it was dealt with. */
async function deliver(event: string, payload: unknown): Promise<string> {
  const guid = `bad-${++guids}`;
  const { status } = await world.github.deliver({ event, payload, guid });
  expect(status).toBe(202);
  await world.settled();
  return guid;
}

describe("a delivery with wrong types", () => {
  it.each([
    ["issues", { "issue.number": "abc" }, "issue.number"],
    ["issues", { "issue.number": -1 }, "issue.number"],
    ["issues", { "issue.number": 1.5 }, "issue.number"],
    ["issues", { "issue.number": 1e300 }, "issue.number"],
    ["issues", { "issue.number": 3_387_467_460 }, "issue.number"],
    ["issues", { "issue.id": "3387467460" }, "issue.id"],
    ["issues", { "issue.id": 2 ** 60 }, "issue.id"],
    ["issues", { "issue.title": null }, "issue.title"],
    ["issues", { "issue.labels": null }, "issue.labels"],
    ["issues", { "issue.labels": undefined }, "issue.labels"],
    ["issues", { "issue.labels": "backlog" }, "issue.labels"],
    ["issues", { "issue.labels": [{ name: 7 }] }, "issue.labels"],
    ["issues", { "issue.state": "ajar" }, "issue.state"],
    ["issues", { "issue.updated_at": "yesterday" }, "issue.updated_at"],
    ["issues", { "issue.updated_at": null }, "issue.updated_at"],
    ["issues", { issue: null }, "issue"],
    ["issues", { issue: [] }, "issue"],
    ["issues", { action: 7 }, "action"],
    ["issues", { sender: "alice" }, "sender"],
    ["issues", { repository: "acme/widgets" }, "repository"],
    ["issues", { "repository.id": "10" }, "repository.id"],
    ["issues", { "installation.id": "1" }, "installation.id"],
    ["issue_comment", { comment: null }, "comment"],
    ["issue_comment", { comment: { id: 1, body: 7 } }, "comment.body"],
    ["pull_request", { pull_request: { number: "12" } }, "pull_request.number"],
    ["push", { ref: 7 }, "ref"],
    ["label", { label: "red" }, "label"],
    ["installation", { installation: null }, "installation"],
    ["check_suite", {}, "check_suite"],
    ["repository", { repository: null }, "repository"],
  ] as [string, Record<string, unknown>, string][])(
    "%s with %j fails at once, is kept, and is seen in health",
    async (event, values, field) => {
      const guid = await deliver(event, withValues(labeled, values));
      expect(await inbox(world, guid)).toEqual([
        expect.objectContaining({ state: "failed", attempts: 1, error: expect.stringContaining(field) }),
      ]);
      expect(await health()).toMatchObject({
        status: "degraded",
        inbox: {
          pending: 0,
          failed: 1,
          failures: [{ deliveryId: guid, event, error: expect.stringContaining(field) }],
        },
      });
    },
  );

  it("holds up neither its own issue nor another", async () => {
    const other = repo.as("alice").openIssue({ title: "Another", labels: ["backlog"] });
    await world.settled();
    await world.github.deliver({ event: "issues", payload: withValues(labeled, { "issue.number": "abc" }) });
    await world.github.deliver({ event: "issues", payload: withValues(labeled, { "issue.title": 7 }) });
    repo.as("alice").editIssue(number, { title: "It rattles no more" });
    repo.as("alice").editIssue(other, { title: "Another one" });
    await world.settled();
    expect((await world.api.item(number)).title).toBe("It rattles no more");
    expect((await world.api.item(other)).title).toBe("Another one");
    expect((await inbox(world)).filter(({ state }) => state === "failed")).toHaveLength(2);
  });

  it("is told in the log by its id, not by what is in it", async () => {
    const from = world.logged.lines.length;
    const payload = withValues(labeled, { "issue.title": 7, "issue.body": "the-canary-in-the-body" });
    const guid = await deliver("issues", payload);
    const told = world.logged.lines.slice(from);
    expect(told.filter(({ level }) => level >= ERROR)).toEqual([
      expect.objectContaining({ delivery: guid, event: "issues", attempts: 1 }),
    ]);
    expect(JSON.stringify(told)).not.toContain("the-canary-in-the-body");
  });

  it("is well again once it is redelivered in a form that can be read", async () => {
    // The program learnt to read it meanwhile; here the stored text is mended instead.
    const guid = await deliver("issues", withValues(labeled, { "issue.title": 7 }));
    const mended = JSON.stringify(withValues(labeled, { "issue.title": "Mended" }));
    await world.db.updateTable("inbox").set({ payload: mended }).where("delivery_id", "=", guid).execute();
    await world.github.deliver({ event: "issues", payload: withValues(labeled, { "issue.title": 7 }), guid });
    await world.settled();
    expect(await inbox(world, guid)).toEqual([
      expect.objectContaining({ state: "done", attempts: 1, error: null }),
    ]);
    expect(await health()).toMatchObject({ status: "ok", inbox: { failed: 0 } });
  });
});

describe("what PostgreSQL cannot hold", () => {
  const BAD = "a\u0000b \ud800 c \udc00\ud83d 😊";
  const CLEAN = "a\ufffdb \ufffd c \ufffd\ufffd 😊";

  it("in titles, bodies, labels and comments is mirrored cleaned, and jams nothing", async () => {
    const kept = keepBackOne(world.github, "issues.opened", () =>
      repo.as("alice").openIssue({ title: "To be spoilt", body: "Body", labels: ["backlog"] }),
    );
    const spoilt = kept.payload.issue.number;
    const label = { ...labeled.label, id: 991, name: BAD, description: BAD };
    const opened = withValues(kept.payload, {
      "issue.title": BAD,
      "issue.body": BAD,
      "issue.labels": [...kept.payload.issue.labels, { ...label, name: "backlog" }, label],
      "issue.milestone": { title: BAD },
      [`surprise ${BAD}`]: { [BAD]: BAD },
    });
    const comment = keepBackOne(world.github, "issue_comment.created", () =>
      repo.as("alice").comment(spoilt, "Hello"),
    );
    await deliver("issues", opened);
    await deliver("issue_comment", withValues(comment.payload, { "comment.body": BAD }));
    await deliver("label", { ...labeled, action: "created", issue: undefined, label });

    const item = await world.api.item(spoilt);
    expect(item.title).toBe(CLEAN);
    expect(item.labels).toContain(CLEAN);
    const issue = await world.db
      .selectFrom("issue")
      .select(["body", "milestone"])
      .where("number", "=", spoilt)
      .executeTakeFirstOrThrow();
    expect(issue).toEqual({ body: CLEAN, milestone: CLEAN });
    const stored = await world.db
      .selectFrom("issue_comment")
      .select("body")
      .where("id", "=", comment.payload.comment.id)
      .executeTakeFirstOrThrow();
    expect(stored.body).toBe(CLEAN);
    const mirrored = await world.db
      .selectFrom("label")
      .select(["name", "description"])
      .where("id", "=", 991)
      .executeTakeFirstOrThrow();
    expect(mirrored).toEqual({ name: CLEAN, description: CLEAN });
    expect(await health()).toMatchObject({ status: "ok", inbox: { pending: 0, failed: 0 } });
    await world.settled();
  });

  it("in the action is no reason to lose the delivery", async () => {
    const guid = await deliver("issues", { ...labeled, action: "la\u0000beled \ud800" });
    expect(await inbox(world, guid)).toEqual([
      expect.objectContaining({ state: "done", action: "la\ufffdbeled \ufffd" }),
    ]);
  });
});

describe("row 12: what nobody knows is harmless", () => {
  it.each([
    ["issue_comment", { action: "pinned", comment: undefined }],
    ["issues", { action: "field_added" }],
    ["issues", { action: "constructor" }],
    ["star", { action: "created" }],
    ["brand_new_event", { action: "happened" }],
    ["brand_new_event", { action: undefined }],
    ["error", {}],
    ["*", {}],
    ["constructor", {}],
    ["toString", {}],
    ["ping", { action: undefined, zen: "Keep it logically awesome." }],
  ] as [string, Record<string, unknown>][])("%s %j", async (event, values) => {
    const before = await world.api.item(number);
    const from = world.logged.lines.length;
    const payload = event === "issue_comment" ? pinnedComment() : withValues(labeled, values);
    const guid = await deliver(event, payload);
    expect(await inbox(world, guid)).toEqual([expect.objectContaining({ state: "done", error: null })]);
    expect(await world.api.item(number)).toEqual({ ...before, updatedAt: expect.any(String) });
    expect(world.logged.lines.slice(from).filter(({ level }) => level >= ERROR)).toEqual([]);
  });

  it("an unknown action with a marker in its comment counts nothing", async () => {
    const { fencingToken } = await world.api.claim(number, "w");
    await world.settled();
    const before = (await world.api.item(number)).attempts;
    expect(before).toMatchObject({ markers: 1, grants: 1 });
    const marker = `<!-- backlog-worker: claim item=issue-${number} owner=w region=local fence=${fencingToken + 1} at=2026-01-01T00:00:00Z -->`;
    await deliver("issue_comment", withValues(pinnedComment(), { "comment.body": marker }));
    expect((await world.api.item(number)).attempts).toEqual(before);
    await world.api.release(number, fencingToken);
    await world.settled();
  });
});

function pinnedComment(): Payload {
  const { payload } = keepBackOne(world.github, "issue_comment.created", () =>
    repo.as("alice").comment(number, "Remember this"),
  );
  return withValues(payload, { action: "pinned" });
}

describe("a large delivery", () => {
  const MIB = 1024 * 1024;

  it("over 25 MiB is refused with 413 before it has all arrived", async () => {
    const { status, body, sent } = await stream(world, 200 * MIB);
    expect(status).toBe(413);
    expect(JSON.parse(body)).toMatchObject({ status: 413, code: "payload_too_large" });
    expect(sent).toBeLessThan(100 * MIB);
    expect(await inbox(world, "stream")).toEqual([]);
  });

  /** Without the payload, which is large. */
  const stateOf = (guid: string) =>
    world.db.selectFrom("inbox").select("state").where("delivery_id", "=", guid).execute();
  const done = (guid: string) =>
    waitFor(
      "the delivery",
      async () => ((await stateOf(guid))[0]?.state === "done" ? null : "is not done"),
      60_000,
    );

  it("of nearly 25 MiB is taken", async () => {
    const body = JSON.stringify({ zen: "x".repeat(25 * MIB - 100) });
    const answer = await post(world, { body, guid: "large" });
    expect(answer.status).toBe(202);
    await done("large");
  }, 90_000);

  it("that nests deeper than any stack is taken, and the program lives", async () => {
    const depth = 50_000;
    const nested = `${'{"a":['.repeat(depth)}${"]}".repeat(depth)}`;
    const body = `${JSON.stringify(labeled).slice(0, -1)},"surprise":${nested}}`;
    const answer = await post(world, { body, event: "issues", guid: "deep" });
    expect(answer.status).toBe(202);
    await done("deep");
  }, 90_000);
});

/** Items are proposed by the API: opened on GitHub first, once, and waiting there for a human (protocol 3). */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient, Sent } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { expectReady, expectRefused, GATE, OWN_BOT, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
let api: ApiClient;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  repo = await world.repository();
  api = world.api;
});
afterAll(() => world.end());

const ISSUES = "/repos/acme/widgets/issues";
const propose = (body: object, sent: Sent = {}) => api.tryRepo("POST", "/items", { body, ...sent });
const keyed = (key = randomUUID()): Sent => ({ headers: { "idempotency-key": key } });
const titled = (title: string): number[] =>
  [...repo.record.issues.values()].flatMap((issue) => (issue.title === title ? [issue.number] : []));
const opened = (title: string) => {
  const [first, ...more] = titled(title);
  expect(more).toEqual([]);
  if (first === undefined) throw new Error(`${title} was not opened`);
  return first;
};

async function itemOf(labels: string[] = ["backlog"], title = "a part"): Promise<number> {
  const number = repo.as("alice").openIssue({ title, labels });
  await world.settled();
  return number;
}

describe("a proposal", () => {
  it("opens the issue with both labels, and is offered to nobody until a human admits it", async () => {
    const answer = await propose({
      title: " Teach the pump to prime ",
      body: "It runs dry.",
      tags: ["team:red"],
    });
    expect(answer.status).toBe(201);
    const { number } = answer.body;
    expect(answer.body).toMatchObject({
      title: "Teach the pump to prime",
      admitted: false,
      author: OWN_BOT,
      phase: "implementation",
      baseBranch: "main",
      similar: [],
    });
    expect(answer.body.tags).toContain("team:red");
    const issue = repo.issue(number);
    expect(issue.labels).toEqual(["backlog", GATE]);
    expect(issue.body).toMatch(/^It runs dry\.\n\n<!-- leasehold: opened for request [0-9a-f-]{36} -->$/);
    await world.settled();
    await expectRefused(api, number, "not_admitted");
    repo.as("alice").unlabel(number, GATE);
    await world.settled();
    await expectReady(api, number);
    expect((await api.item(number)).tags).toContain("team:red");
  });

  it("has the links, and the phase, region and base that it asks for", async () => {
    const [blocker, parent] = [await itemOf(), await itemOf()];
    const { body, status } = await propose({
      title: "Everything at once",
      tags: ["phase:research", "homeRegion:west", "baseBranch:dev"],
      links: { anchoredTo: ["file/src/pump.ts"], related: ["mem/notes/pumps"] },
      parent,
      blockedBy: [blocker, `repo/acme/widgets/mem/backlog/issue-${blocker}`],
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ phase: "research", homeRegion: "west", baseBranch: "dev", epic: parent });
    expect(body.links).toEqual({
      anchoredTo: ["repo/acme/widgets/file/src/pump.ts"],
      blockedBy: [`repo/acme/widgets/mem/backlog/issue-${blocker}`],
      partOf: [`repo/acme/widgets/mem/backlog/issue-${parent}`],
      related: ["repo/acme/widgets/mem/notes/pumps"],
    });
    await world.settled();
    expect(repo.issue(parent).subIssues).toEqual([body.number]);
    expect(repo.issue(body.number).blockedBy).toEqual([blocker]);
    expect((await api.item(body.number)).tags.filter((tag: string) => tag.startsWith("phase:"))).toEqual([
      "phase:research",
    ]);
  });

  it("is told of open issues with nearly the same title", async () => {
    const there = await itemOf([], "The valve leaks when it's cold");
    const { body } = await propose({ title: "Valve leaks when it is cold!" });
    expect(body.similar).toEqual([
      {
        number: there,
        title: "The valve leaks when it's cold",
        url: expect.stringContaining(`/issues/${there}`),
      },
    ]);
  });

  it.each([
    ["an empty title", { title: "  " }, 400, "validation_failed"],
    ["a title of 257 characters", { title: "x".repeat(257) }, 400, "validation_failed"],
    ["a body of 65,537 characters", { title: "long", body: "x".repeat(65_537) }, 400, "validation_failed"],
    ["a tag with another way in", { title: "urgent", tags: ["priority:P0"] }, 400, "reserved"],
    ["a status for a phase", { title: "done", tags: ["phase:done"] }, 400, "validation_failed"],
    ["two phases", { title: "two", tags: ["phase:research", "phase:integration"] }, 400, "validation_failed"],
    ["a parent that is none", { title: "orphan", parent: 9999 }, 409, "edge_refused"],
    ["a blocker that is none", { title: "dangling", blockedBy: [9999] }, 409, "edge_refused"],
    ["a key that is none", { title: "what", links: { related: ["nonsense"] } }, 400, "validation_failed"],
  ])("is refused with %s, and opens nothing", async (_, body, status, code) => {
    const before = world.github.requestsTo("POST", ISSUES).length;
    const answer = await propose(body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(world.github.requestsTo("POST", ISSUES)).toHaveLength(before);
  });

  it("does not wait for what waits for it", async () => {
    const parent = await itemOf();
    const answer = await propose({ title: "round and round", parent, blockedBy: [parent] });
    expect([answer.status, answer.body.code]).toEqual([409, "cycle"]);
  });

  it("keeps a body that has no room for the mark", async () => {
    const title = "As long as GitHub takes";
    const body = "y".repeat(65_536);
    world.github.fault({ method: "POST", path: ISSUES, kind: "effect-then-status", status: 502 });
    const answer = await propose({ title, body });
    expect(answer.status).toBe(201);
    expect(repo.issue(opened(title)).body).toBe(body);
  });
});

describe("one issue, whatever happens on the way", () => {
  it("502 although it was opened: it is found at once", async () => {
    world.github.fault({ method: "POST", path: ISSUES, kind: "effect-then-status", status: 502 });
    const answer = await propose({ title: "Lost answer" });
    expect(answer.status).toBe(201);
    expect(answer.body.number).toBe(opened("Lost answer"));
  });

  it("lost, and GitHub does not list it either: sent again it is found, with a key and without", async () => {
    for (const [title, sent] of [
      ["Lost, with a key", keyed()],
      ["Lost, without a key", {}],
    ] as const) {
      world.github.fault({ method: "POST", path: ISSUES, kind: "effect-then-drop" });
      world.github.hold();
      world.github.fault({ method: "GET", path: ISSUES, kind: "status", status: 503 });
      const first = await propose({ title }, sent);
      expect([first.status, first.body.code]).toEqual([502, "github_unavailable"]);
      expect(first.body.retryAfterMs).toBeGreaterThan(0);
      const second = await propose({ title }, sent);
      expect([second.status, second.body.number]).toEqual([201, opened(title)]);
      world.github.release();
      await world.settled();
      expect(await api.item(second.body.number)).toMatchObject({ admitted: false });
    }
  });

  it("lost, not listed yet, and refused when sent again: sent once more it is still looked for", async () => {
    const title = "Lost, then refused";
    const sent = keyed();
    const list = (status: number) =>
      world.github.fault({ method: "GET", path: ISSUES, kind: "status", status, body: [] });
    world.github.hold();
    world.github.fault({ method: "POST", path: ISSUES, kind: "effect-then-drop" });
    list(503);
    expect((await propose({ title }, sent)).status).toBe(502);
    list(200);
    const body = { message: "Validation Failed" };
    world.github.fault({ method: "POST", path: ISSUES, kind: "status", status: 422, body });
    expect((await propose({ title }, sent)).status).toBe(400);
    const third = await propose({ title }, sent);
    expect([third.status, third.body.number]).toEqual([201, opened(title)]);
    world.github.release();
    await world.settled();
  });

  it("its webhook comes while the answer is lost: it is known from the mirror", async () => {
    world.github.fault({ method: "POST", path: ISSUES, kind: "effect-then-status", status: 502 });
    world.github.fault({ method: "GET", path: ISSUES, kind: "status", status: 503, times: 2 });
    const title = "Heard of before";
    world.github.hold();
    expect((await propose({ title, tags: ["team:blue"] })).status).toBe(502);
    world.github.release();
    await world.settled();
    const number = opened(title);
    expect(await api.item(number)).toMatchObject({ admitted: false });
    const again = await propose({ title, tags: ["team:blue"] });
    expect([again.status, again.body.number]).toEqual([201, number]);
    expect(again.body.tags).toContain("team:blue");
    world.github.clearFaults();
  });

  it("the process dies in the middle: whoever sends it again gets that issue", async () => {
    const sent = keyed();
    const title = "Left behind";
    world.github.fault({ method: "POST", path: ISSUES, kind: "hang" });
    const dying = propose({ title }, sent).catch(() => null);
    await expect.poll(() => world.github.requestsTo("POST", ISSUES).at(-1)?.status ?? null).not.toBe(200);
    await world.restart();
    world.github.clearFaults();
    await dying;
    // Until then the dead process has the turn to write.
    await stories.pass(91);
    const again = await propose({ title }, sent);
    expect([again.status, again.body.number]).toEqual([201, opened(title)]);
  });

  it("answers the same to the byte under its key, and refuses another request under it", async () => {
    const sent = keyed();
    const first = await propose({ title: "Once" }, sent);
    const second = await propose({ title: "Once" }, sent);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    opened("Once");
    const other = await propose({ title: "Another" }, sent);
    expect([other.status, other.body.code]).toEqual([422, "idempotency_mismatch"]);
    expect(titled("Another")).toEqual([]);
  });

  it("two at a time under one key open one", async () => {
    const sent = keyed();
    const answers = await Promise.all([1, 2, 3].map(() => propose({ title: "At once" }, sent)));
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 409)).toEqual(
      [],
    );
    expect(answers.some(({ status }) => status === 201)).toBe(true);
    opened("At once");
  });

  it("webhooks that come late, without labels, leave it gated", async () => {
    world.github.hold();
    const { body } = await propose({ title: "Late news" });
    world.github.release({ order: "reverse" });
    await world.settled();
    expect(await api.item(body.number)).toMatchObject({ admitted: false, tags: body.tags });
    expect(repo.issue(body.number).labels).toContain(GATE);
  });
});

describe("GitHub says no", () => {
  const fault = (status: number, message: string) =>
    world.github.fault({ method: "POST", path: ISSUES, kind: "status", status, body: { message } });

  it.each([
    [410, "Issues are disabled for this repo", 409, "conflict", /turned off/],
    [403, "Resource not accessible by integration", 502, "github_unavailable", /Issues: write/],
    [422, "Validation Failed", 400, "validation_failed", /Validation Failed/],
    [503, "Service Unavailable", 502, "github_unavailable", /send the same request again/],
  ])("%s %s", async (status, message, answered, code, detail) => {
    fault(status, message);
    const answer = await propose({ title: `Refused with ${status}` });
    expect([answer.status, answer.body.code]).toEqual([answered, code]);
    expect(answer.body.detail).toMatch(detail);
    expect(titled(`Refused with ${status}`)).toEqual([]);
  });

  it("a limit is waited for by all that write", async () => {
    world.github.fault({
      method: "POST",
      path: ISSUES,
      kind: "status",
      status: 429,
      headers: { "retry-after": "90" },
      body: { message: "You have exceeded a secondary rate limit" },
    });
    const answer = await propose({ title: "Too fast" });
    expect(answer.body).toMatchObject({ code: "github_unavailable", retryAfterMs: 90_000 });
    const requests = world.github.requests.length;
    expect((await propose({ title: "Too fast" })).body.retryAfterMs).toBeGreaterThan(80_000);
    expect(world.github.requests.length).toBe(requests);
    await stories.pass(91);
    expect((await propose({ title: "Too fast" })).status).toBe(201);
  });
});

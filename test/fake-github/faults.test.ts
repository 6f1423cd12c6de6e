import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeGitHub } from "./fake-github.ts";
import type { FakeRepository } from "./fake-repository.ts";
import { appOctokit, statusOf } from "./octokit-for-tests.ts";

const widgets = { owner: "acme", repo: "widgets" };

let clock: Date;
let github: FakeGitHub;
let repo: FakeRepository;
let octokit: ReturnType<typeof appOctokit>;
let number: number;

beforeEach(async () => {
  clock = new Date();
  github = await FakeGitHub.start({ now: () => clock });
  repo = github.repository("acme/widgets", { collaborators: { alice: "admin" } });
  octokit = appOctokit(github, github.install(repo));
  number = repo.as("alice").openIssue({ title: "It rattles" });
});

afterEach(async () => {
  await github.stop();
});

function comment(signal?: AbortSignal) {
  const request = signal ? { signal } : {};
  return octokit.rest.issues.createComment({ ...widgets, issue_number: number, body: "Hello", request });
}

function comments(): number {
  return repo.issue(number).comments.length;
}

const path = /\/issues\/\d+\/comments$/;

test("an answer is replaced before anything happens", async () => {
  github.fault({ method: "POST", path, kind: "status", status: 500, body: { message: "no" } });
  expect(await statusOf(comment())).toBe(500);
  expect(comments()).toBe(0);
  await comment();
  expect(comments()).toBe(1);
});

test("502 although it happened", async () => {
  github.fault({ method: "POST", path: "/repos/acme/widgets/issues/1/comments", kind: "effect-then-status" });
  expect(await statusOf(comment())).toBe(502);
  expect(comments()).toBe(1);
  expect(github.requestsTo("POST", path)).toMatchObject([
    { status: 502, fault: "effect-then-status", actor: "leasehold[bot]", body: { body: "Hello" } },
  ]);
});

test("the connection breaks, before or after it happened", async () => {
  github.fault({ path, kind: "drop" });
  await expect(comment()).rejects.toThrow();
  expect(comments()).toBe(0);
  github.fault({ path, kind: "effect-then-drop" });
  await expect(comment()).rejects.toThrow();
  expect(comments()).toBe(1);
});

test("no answer ever comes", async () => {
  github.fault({ path, kind: "hang" });
  await expect(comment(AbortSignal.timeout(50))).rejects.toThrow();
  expect(comments()).toBe(0);
});

test("an answer comes late", async () => {
  github.fault({ path, kind: "delay", delayMs: 60 });
  const began = performance.now();
  await comment();
  expect(performance.now() - began).toBeGreaterThan(55);
});

test("a fault strikes as often as it is told to, and can be called off", async () => {
  github.fault({ path, kind: "status", times: 2 });
  github.fault({ path, kind: "status", status: 503 });
  expect([await statusOf(comment()), await statusOf(comment())]).toEqual([502, 502]);
  github.clearFaults();
  expect((await comment()).status).toBe(201);
});

test("the secondary limit says how long to wait", async () => {
  github.rateLimit({ kind: "secondary", retryAfterSeconds: 60 });
  await expect(comment()).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining("secondary rate limit"),
    response: { headers: { "retry-after": "60" } },
  });
  clock = new Date(clock.getTime() + 60_000);
  expect((await comment()).status).toBe(201);
});

test("the primary limit says when it ends", async () => {
  github.rateLimit({ kind: "primary", retryAfterSeconds: 600 });
  const until = String(Math.floor(clock.getTime() / 1000) + 600);
  await expect(comment()).rejects.toMatchObject({
    response: { headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": until } },
  });
});

test("requests of an hour are counted, and refused beyond a limit that was asked for", async () => {
  await github.stop();
  github = await FakeGitHub.start({ now: () => clock, requestsPerHour: 2 });
  repo = github.repository("acme/widgets");
  octokit = appOctokit(github, github.install(repo));
  const { headers } = await octokit.rest.repos.get(widgets);
  expect(headers).toMatchObject({ "x-ratelimit-limit": "2", "x-ratelimit-remaining": "1" });
  await octokit.rest.repos.get(widgets);
  await expect(octokit.rest.repos.get(widgets)).rejects.toMatchObject({
    status: 403,
    response: { headers: { "x-ratelimit-remaining": "0" } },
  });
});

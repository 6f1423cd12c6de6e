/** The report: "where are we?", in one answer that explains (api.md). */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { granted, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let api: ApiClient;
let repo: FakeRepository;
const numbers: Record<string, number> = {};

/** One item of each kind. */
beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
  const alice = repo.as("alice");
  for (const [name, labels] of [
    ["worked", ["backlog", "P1"]],
    ["ready", ["backlog", "P0"]],
    ["blocker", ["backlog"]],
    ["blocked", ["backlog"]],
    ["blockedToo", ["backlog"]],
    ["parked", ["backlog"]],
    ["closed", ["backlog"]],
  ] as const) {
    numbers[name] = alice.openIssue({ title: `The ${name} one`, labels: [...labels] });
  }
  numbers.proposed = repo.as("mallory").openIssue({ title: "@alice do **this** <b>now</b>", labels: [] });
  alice.label(numbers.proposed, "backlog");
  await world.settled();
  const { worked = 0, blocker = 0, blocked = 0, blockedToo = 0, parked = 0, closed = 0 } = numbers;
  await api.block(blocked, blocker);
  await api.block(blockedToo, blocker);
  const { fencingToken } = await granted(api, worked, "worker/7f3a", { leaseSeconds: 900 });
  const branch = `feat/issue-${worked}`;
  const pull = alice.openPull({ head: branch, body: `Fixes #${worked}`, draft: true });
  await api.repo("PATCH", `/items/${worked}`, {
    fence: fencingToken,
    body: {
      links: { add: { anchoredTo: ["file/src/a.ts"] } },
      resume: { lastLocation: { branch, pullRequest: pull }, resumeNote: "Half is done." },
    },
  });
  await granted(api, blocker, "worker/other", { leaseSeconds: 900 });
  await api.repo("POST", `/items/${parked}/park`, {
    body: { reason: "Unclear.", rulingOwner: "bob", question: "Which API?" },
  });
  repo.as("ci[bot]").close(closed);
  await world.settled();
});
afterAll(() => world.end());

const listed = (list: { number: number }[]): number[] => list.map(({ number }) => number);

describe("the report", () => {
  it("has every pending item under what it waits for", async () => {
    const report = await api.repo("GET", "/report");
    expect(report).toMatchObject({ repository: "acme/widgets", verdict: "ready" });
    expect(listed(report.inFlight).toSorted()).toEqual([numbers.worked, numbers.blocker]);
    expect(listed(report.ready)).toEqual([numbers.ready]);
    expect(listed(report.blocked)).toEqual([numbers.blocked, numbers.blockedToo, numbers.closed]);
    expect(listed(report.parked)).toEqual([numbers.parked]);
    expect(listed(report.awaitingAdmission)).toEqual([numbers.proposed]);
    expect(report.totals).toMatchObject({
      pending: 7,
      ready: 1,
      inFlight: 2,
      waiting: 3,
      parked: 1,
      awaitingAdmission: 1,
    });
    expect(report.anchors).toEqual({ anchored: 1, pending: 7, percent: 14 });
  });

  it("says who works where, and what they left", async () => {
    const { inFlight } = await api.repo("GET", "/report");
    expect(inFlight.find(({ number }: { number: number }) => number === numbers.worked)).toMatchObject({
      owner: "worker/7f3a",
      attempt: 1,
      isHeld: true,
      branch: `feat/issue-${numbers.worked}`,
      resumeNote: "Half is done.",
      pullRequest: { checks: "none" },
    });
  });

  it("names the question that has to be ruled on, and both sides of a divergence", async () => {
    const { parked, divergences } = await api.repo("GET", "/report");
    expect(parked[0]).toMatchObject({ reason: "Unclear.", rulingOwner: "bob", question: "Which API?" });
    expect(divergences).toEqual([
      {
        number: numbers.closed,
        github: "closed",
        leasehold: "live",
        detail: expect.stringContaining("reopen"),
      },
    ]);
  });

  it("begins with sentences: what is ready, what needs a human, what holds up the rest", async () => {
    const { summary } = await api.repo("GET", "/report");
    expect(summary[0]).toBe(`1 item is ready to be claimed, of 7 pending; #${numbers.ready} is next.`);
    const text = summary.join("\n");
    expect(text).toContain(
      `1 item is parked and needs a human: #${numbers.parked}; 1 has a question to be ruled on`,
    );
    expect(text).toContain(`#${numbers.blocker} holds up 2 items`);
    expect(text).toContain(`waits for a human's admission: #${numbers.proposed}`);
  });

  it("is the same to read: markdown, in which a title can do nothing", async () => {
    const { body, headers } = await api.tryRepo("GET", "/report", { headers: { accept: "text/markdown" } });
    expect(headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(body).toContain("# acme/widgets: where are we?");
    expect(body).toContain(`- #${numbers.worked} The worked one: \`worker/7f3a\`, attempt 1, lease until`);
    expect(body).toContain(`- #${numbers.blocked} The blocked one: waits for #${numbers.blocker}`);
    expect(body).toContain("**bob must decide: Which API?**");
    expect(body).not.toContain("@alice");
    expect(body).not.toContain("<b>");
  });

  it("of an empty backlog says so, and as of when", async () => {
    await world.repository("acme/empty");
    const before = Date.now() - 60_000;
    const report = await api.with({ repo: "acme/empty" }).repo("GET", "/report");
    expect(report).toMatchObject({ verdict: "idle", summary: ["Nothing is pending: the backlog is empty."] });
    expect(new Date(report.at).getTime()).toBeGreaterThan(before);
  });

  it("caps each list, and says how many more there are", async () => {
    const report = await api.repo("GET", "/report?limit=1");
    expect(report.blocked).toHaveLength(1);
    expect(report.totals.waiting).toBe(3);
    const { body } = await api.tryRepo("GET", "/report?limit=1", { headers: { accept: "text/markdown" } });
    expect(body).toContain("- … and 2 more");
  });
});

/** Completing and parking by the holder, and the triggers of `advance` (protocol 5, 8 and 9). */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { expectProblem } from "../http/support/expect-problem.ts";
import {
  expectNotReady,
  expectReady,
  expectRefused,
  granted,
  outcomes,
  ownComments,
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
  repo = await world.repository();
  repo.as("alice").createBranch("elsewhere");
});
afterAll(() => world.end());

async function readyItem(title = "Work"): Promise<number> {
  const number = repo.as("alice").openIssue({ title, labels: ["backlog"] });
  await world.settled();
  return number;
}

const post = (path: string, body: object, fence?: number, headers: Record<string, string> = {}) =>
  api.tryRepo("POST", path, { body, headers, ...(fence === undefined ? {} : { fence }) });
const complete = (number: number, body: object, fence?: number, headers = {}) =>
  post(`/items/${number}/complete`, body, fence, headers);
const advance = (number: number, trigger: string, body: object = {}, fence?: number) =>
  post(`/items/${number}/advance`, { trigger, ...body }, fence);
const transitions = async (number: number): Promise<string[]> =>
  (await api.repo("GET", `/items/${number}/transitions`)).transitions.map(
    ({ trigger, from, to }: { trigger: string; from: string; to: string }) => `${trigger}: ${from} -> ${to}`,
  );

/** A merged pull request that names nothing: only the holder says what it is for. */
async function merged(base = "main"): Promise<number> {
  const alice = repo.as("alice");
  stories.later();
  const pull = alice.openPull({ head: `work-${randomUUID().slice(0, 8)}`, base });
  alice.merge(pull);
  await world.settled();
  return pull;
}

describe("the holder completes", () => {
  it("with a merged pull request: tag, outcome, issue closed, claim ended, dependents freed", async () => {
    const [number, dependent] = [await readyItem(), await readyItem()];
    await api.block(dependent, number);
    const { fencingToken } = await granted(api, number, "worker/7f3a");
    const pull = await merged();
    const answer = await complete(
      number,
      { pullRequest: pull, resume: { resumeNote: "All done." } },
      fencingToken,
    );
    expect(answer).toMatchObject({
      status: 200,
      body: {
        number,
        state: "complete",
        role: "terminal",
        isClaimed: false,
        resume: { resumeNote: "All done." },
      },
    });
    expect(answer.body.tags).toEqual(expect.arrayContaining(["state:complete", `pr:${pull}`]));
    await world.settled();
    expect(repo.issue(number)).toMatchObject({ state: "closed", stateReason: "completed" });
    expect(outcomes(repo, number, "complete")).toHaveLength(1);
    await expectReady(api, dependent);
    expect(
      (
        await api.tryRepo("PATCH", `/memory/backlog/issue-${number}`, {
          fence: fencingToken,
          body: { body: "x" },
        })
      ).body.code,
    ).toBe("claim_released");
  });

  it("twice: the second time changes nothing", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "w");
    const pull = await merged();
    const key = { "idempotency-key": randomUUID() };
    const first = await complete(number, { pullRequest: pull }, fencingToken, key);
    const again = await complete(number, { pullRequest: pull }, fencingToken, key);
    expect(again.body).toEqual(first.body);
    expect((await complete(number, { pullRequest: pull })).status).toBe(200);
    await world.settled();
    expect(outcomes(repo, number, "complete")).toHaveLength(1);
  });

  it.each<[string, () => Promise<object>, RegExp]>([
    ["nothing", async () => ({}), /pullRequest/],
    [
      "a pull request that is not merged",
      async () => ({ pullRequest: repo.as("alice").openPull({ head: "not-yet" }) }),
      /not merged/,
    ],
    ["an issue's number", async () => ({ pullRequest: await readyItem() }), /no pull request/],
    ["a number that nothing has", async () => ({ pullRequest: 99_999 }), /no pull request/],
    ["a merge into another branch", async () => ({ pullRequest: await merged("elsewhere") }), /elsewhere/],
    ["durable places, for what is no research", async () => ({ durable: ["mem/decisions/x"] }), /research/],
  ])("not with %s", async (_, show, why) => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "w");
    const answer = await complete(number, await show(), fencingToken);
    expectProblem(answer, { status: 422, code: "evidence_missing" });
    expect(answer.body.detail).toMatch(why);
    expect((await api.item(number)).state).toBeNull();
    expect((await api.renew(number, fencingToken)).granted).toBe(true);
  });

  it("research, with a comment on the issue and a record that stays", async () => {
    const number = await readyItem("Find out");
    await api.repo("PATCH", `/items/${number}`, {
      body: { tags: { add: ["phase:research"], remove: ["phase:implementation"] } },
    });
    const { fencingToken } = await granted(api, number, "w");
    const comment = repo.as("alice").comment(number, "It is the cache.");
    await api.repo("PUT", `/memory/decisions/cache-${number}`, { body: { body: "We keep it." } });
    await api.repo("PUT", `/memory/decisions/short-${number}`, {
      body: { body: "x", expiresAt: "2099-01-01T00:00:00Z" },
    });
    const bad = await complete(
      number,
      {
        durable: [
          `issue-comment:${comment}`,
          `mem/decisions/short-${number}`,
          `mem/backlog/issue-${number}`,
          "issue-comment:1",
        ],
      },
      fencingToken,
    );
    expectProblem(bad, { status: 422, code: "evidence_missing" });
    expect(bad.body.detail).not.toContain(`issue-comment:${comment}`);
    for (const why of ["expires", "own record", "issue-comment:1 is not there"])
      expect(bad.body.detail).toContain(why);

    const durable = [`issue-comment:${comment}`, `mem/decisions/cache-${number}`];
    expect((await complete(number, { durable }, fencingToken)).body).toMatchObject({ state: "complete" });
    await world.settled();
    expect(outcomes(repo, number, "complete")[0]).toContain(`mem/decisions/cache-${number}`);
  });

  it("not without the token of the live claim, and not with one that was superseded", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "slow");
    const pull = await merged();
    expectProblem(await complete(number, { pullRequest: pull }), { status: 409, code: "claim_required" });
    await stories.pass(31);
    await granted(api, number, "quick");
    const late = await complete(
      number,
      { pullRequest: pull, resume: { resumeNote: "It works." } },
      fencingToken,
    );
    expectProblem(late, { status: 409, code: "stale_token" });
    expect(late.body.lateResult).toContain("/mem/late-results/");
  });

  it("not what is parked, cancelled or a grouping", async () => {
    const pull = await merged();
    const [parked, cancelled, epic, part] = [
      await readyItem(),
      await readyItem(),
      await readyItem(),
      await readyItem(),
    ];
    await post(`/items/${parked}/park`, { reason: "unclear", rulingOwner: "@alice", question: "Which?" });
    await advance(cancelled, "cancel");
    await api.repo("PATCH", `/items/${part}`, {
      body: { links: { add: { partOf: [`mem/backlog/issue-${epic}`] } } },
    });
    for (const [number, why] of [
      [parked, /parked/],
      [cancelled, /cancelled/],
      [epic, /grouping/],
    ] as const) {
      const answer = await complete(number, { pullRequest: pull });
      expectProblem(answer, { status: 409, code: "conflict" });
      expect(answer.body.detail).toMatch(why);
    }
  });

  it("and GitHub is away: 502, nothing changed, and it goes through later", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "w");
    const pull = await merged();
    world.github.fault({ path: /\/pulls\/\d+$/, kind: "status", status: 503, times: 1 });
    expectProblem(await complete(number, { pullRequest: pull }, fencingToken), {
      status: 502,
      code: "github_unavailable",
    });
    expect((await complete(number, { pullRequest: pull }, fencingToken)).status).toBe(200);
  });

  it("an integration item: its epic completes with it, and both issues are closed", async () => {
    const [epic, part, integration] = [
      await readyItem("Epic"),
      await readyItem("Part"),
      await readyItem("Join"),
    ];
    const key = (number: number) => `mem/backlog/issue-${number}`;
    for (const number of [part, integration]) {
      await api.repo("PATCH", `/items/${number}`, { body: { links: { add: { partOf: [key(epic)] } } } });
    }
    await api.repo("PATCH", `/items/${integration}`, {
      body: { links: { add: { integrates: [key(epic)] } } },
    });
    expect((await complete(part, { pullRequest: await merged() })).status).toBe(200);
    expect((await complete(integration, { pullRequest: await merged() })).status).toBe(200);
    await world.settled();
    expect(await api.item(epic)).toMatchObject({ state: "complete" });
    expect(repo.issue(epic)).toMatchObject({ state: "closed", stateReason: "completed" });
    expect(outcomes(repo, epic, "complete")[0]).toContain(`#${integration}`);
  });
});

describe("the holder parks", () => {
  const park = {
    reason: "The API has no such call.",
    rulingOwner: "@alice",
    question: "Which API do we use?",
  };

  it("and says who has to rule on what: tag, label, comment, claim ended", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "w");
    const answer = await post(`/items/${number}/park`, park, fencingToken);
    expect(answer).toMatchObject({
      status: 200,
      body: { state: "parked", role: "blocked", isClaimed: false },
    });
    expect(answer.body.reasons).toEqual([
      {
        reason: "parked",
        rulingOwner: "@alice",
        question: park.question,
        detail: `is parked: @alice must rule: ${park.question}; a human unparks it by taking the label stale off`,
      },
    ]);
    await world.settled();
    expect(repo.issue(number).labels).toContain("stale");
    const [comment] = outcomes(repo, number, "parked");
    expect(comment).toContain(park.question);
    // Neutralised: nobody is mentioned by what a worker wrote.
    expect(comment).not.toContain("@alice");
  });

  it.each([{ ...park, rulingOwner: undefined }, { ...park, question: "  " }, { reason: "so" }])(
    "not with %j",
    async (body) => {
      const number = await readyItem();
      expectProblem(await post(`/items/${number}/park`, body), { status: 422, code: "ruling_required" });
      await expectReady(api, number);
    },
  );

  it("twice: nothing more is said", async () => {
    const number = await readyItem();
    await post(`/items/${number}/park`, park);
    expect((await post(`/items/${number}/park`, { ...park, question: "Another?" })).body.state).toBe(
      "parked",
    );
    await world.settled();
    expect(outcomes(repo, number, "parked")).toHaveLength(1);
  });

  it("not without the live token", async () => {
    const number = await readyItem();
    await granted(api, number, "w");
    expectProblem(await post(`/items/${number}/park`, park), { status: 409, code: "claim_required" });
  });
});

describe("advance", () => {
  it("start takes a claim for the caller, and answers its token", async () => {
    const number = await readyItem();
    const { body } = await advance(number, "start", { owner: "orchestrator", leaseSeconds: 60 });
    expect(body).toEqual({
      number,
      trigger: "start",
      applied: true,
      role: "work",
      fencingToken: expect.any(Number),
      leaseExpiresAt: expect.stringMatching(/Z$/),
    });
    expect(await api.status(number)).toMatchObject({ isHeld: true, owner: "orchestrator" });
    expect((await api.release(number, body.fencingToken)).released).toBe(true);
  });

  it("under an idempotency key start grants one claim, and answers it again until it has ended", async () => {
    const number = await readyItem();
    const headers = { "idempotency-key": randomUUID() };
    const start = (body: object) =>
      post(`/items/${number}/advance`, { trigger: "start", ...body }, undefined, headers);
    const first = await start({ owner: "o" });
    expect(first.body).toMatchObject({ applied: true });
    expect((await start({ owner: "o" })).body).toEqual(first.body);
    expect((await api.repo("GET", `/items/${number}/claims`)).claims).toHaveLength(1);
    expectProblem(await start({ owner: "p" }), { status: 422, code: "idempotency_mismatch" });
    await api.release(number, first.body.fencingToken);
    expect((await start({ owner: "o" })).body).toMatchObject({ applied: false, errorCode: "superseded" });
  });

  it("under an idempotency key an item is completed and held once", async () => {
    const number = await readyItem();
    repo.as("alice").close(number, "completed");
    await world.settled();
    const headers = { "idempotency-key": randomUUID() };
    const complete = () => post(`/items/${number}/advance`, { trigger: "complete" }, undefined, headers);
    const first = await complete();
    expect(first.body).toMatchObject({ applied: true, role: "terminal" });
    repo.as("alice").reopen(number);
    await world.settled();
    const again = await complete();
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");

    const other = await readyItem();
    const key = { "idempotency-key": randomUUID() };
    const hold = () => post(`/items/${other}/advance`, { trigger: "hold" }, undefined, key);
    const held = await hold();
    await advance(other, "resume", { owner: "o" });
    expect((await hold()).body).toEqual(held.body);
    expect(await api.status(other)).toMatchObject({ isHeld: true });
  });

  it("several under an idempotency key: what was done is answered again, and only the rest is tried", async () => {
    const [first, second] = [await readyItem(), await readyItem()];
    const { fencingToken } = await granted(api, second, "w");
    const headers = { "idempotency-key": randomUUID() };
    const transitions = [
      { number: first, trigger: "start", owner: "o" },
      { number: second, trigger: "start", owner: "o" },
    ];
    const many = (asked = transitions) => post("/advance", { transitions: asked }, undefined, headers);
    const before = (await many()).body;
    expect(before.summary).toEqual({ total: 2, succeeded: 1, failed: 1 });
    await api.release(second, fencingToken);
    const after = (await many()).body;
    expect(after.summary).toEqual({ total: 2, succeeded: 2, failed: 0 });
    expect(after.results[0]).toEqual(before.results[0]);
    expect((await api.repo("GET", `/items/${first}/claims`)).claims).toHaveLength(1);
    expectProblem(await many(transitions.slice(0, 1)), { status: 422, code: "idempotency_mismatch" });
    // Found before anything is done, wherever it stands.
    const third = await readyItem();
    const key = { "idempotency-key": randomUUID() };
    const both = (one: object, two: object) => post("/advance", { transitions: [one, two] }, undefined, key);
    await both({ number: first, trigger: "reopen" }, { number: second, trigger: "start", owner: "o" });
    await both({ number: first, trigger: "start", owner: "p" }, { number: third, trigger: "hold" });
    const held = await both(
      { number: third, trigger: "start", owner: "o" },
      { number: third, trigger: "hold" },
    );
    expectProblem(held, { status: 422, code: "idempotency_mismatch" });
    expect((await api.item(third)).role).toBe("blocked");
  });

  it("start of what another holds is refused as transient, and does not tell who", async () => {
    const number = await readyItem();
    await granted(api, number, "the-holder");
    const { status, body } = await advance(number, "start");
    expect({ status, ...body }).toMatchObject({
      status: 200,
      applied: false,
      role: "work",
      errorKind: "transient",
      errorCode: "contended",
      retryAfterMs: expect.any(Number),
    });
    expect(JSON.stringify(body)).not.toContain("the-holder");
  });

  it("hold takes the item out of the ready set and ends the claim, until resume", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "w");
    expect(
      (await advance(number, "hold", { summary: "waits for the design" }, fencingToken)).body,
    ).toMatchObject({
      applied: true,
      role: "blocked",
    });
    await expectNotReady(api, number);
    await expectRefused(api, number, "blocked");
    const [reason] = (await api.item(number)).reasons;
    expect(reason).toMatchObject({
      reason: "blocked",
      detail: expect.stringContaining("waits for the design"),
    });
    const { body } = await advance(number, "resume", { owner: "orchestrator" });
    expect(body).toMatchObject({ applied: true, role: "work", fencingToken: expect.any(Number) });
    expect(await transitions(number)).toEqual([
      "start: queue -> work",
      "resume: blocked -> queue",
      "hold: work -> blocked",
      "start: queue -> work",
    ]);
  });

  it.each([
    ["without a key", undefined],
    ["under a key", randomUUID()],
  ])("resume that cannot go on leaves the hold where it was, %s", async (_, key) => {
    const [number, blocker] = [await readyItem(), await readyItem()];
    await advance(number, "hold");
    await api.block(number, blocker);
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    expect(
      (await post(`/items/${number}/advance`, { trigger: "resume" }, undefined, headers)).body,
    ).toMatchObject({
      applied: false,
      role: "blocked",
      errorCode: "blocked",
      error: expect.stringContaining(`#${blocker}`),
    });
    expect((await api.item(number)).role).toBe("blocked");
    expect(await transitions(number)).toEqual(["hold: queue -> blocked"]);
  });

  it("cancel closes the issue as not planned, and reopen brings it back", async () => {
    const number = await readyItem();
    expect((await advance(number, "cancel", { summary: "superseded by another plan" })).body.role).toBe(
      "terminal",
    );
    await world.settled();
    expect(repo.issue(number)).toMatchObject({ state: "closed", stateReason: "not_planned" });
    expect(ownComments(repo, number).join()).toContain("superseded by another plan");
    expect((await advance(number, "reopen")).body.role).toBe("queue");
    await world.settled();
    expect(repo.issue(number).state).toBe("open");
    await expectReady(api, number);
  });

  it("resume and reopen never unpark", async () => {
    const number = await readyItem();
    await post(`/items/${number}/park`, { reason: "r", rulingOwner: "o", question: "q" });
    for (const trigger of ["resume", "reopen", "start", "hold"]) {
      const answer = await advance(number, trigger);
      if (trigger === "start") expect(answer.body).toMatchObject({ applied: false, errorCode: "parked" });
      else expectProblem(answer, { status: 409, code: "conflict" });
    }
    expect((await api.item(number)).state).toBe("parked");
  });

  it("below an epic's claim: start marks the part as worked on, and means nothing when the claim has ended", async () => {
    const [epic, part] = [await readyItem("Epic"), await readyItem("Part")];
    await api.repo("PATCH", `/items/${part}`, {
      body: { links: { add: { partOf: [`mem/backlog/issue-${epic}`] } } },
    });
    const { fencingToken } = await granted(api, epic, "orchestrator", { scope: "subtree" });
    expect((await advance(part, "start", {}, fencingToken)).body).toMatchObject({
      applied: true,
      role: "work",
    });
    expect((await advance(part, "start", {}, fencingToken)).body.role).toBe("work");
    expect((await api.item(part)).role).toBe("work");
    await stories.pass(31);
    expect((await api.item(part)).role).toBe("queue");
  });

  it("needs the token of a live claim", async () => {
    const number = await readyItem();
    await granted(api, number, "w");
    for (const trigger of ["hold", "cancel"]) {
      expectProblem(await advance(number, trigger), { status: 409, code: "claim_required" });
    }
  });

  it("several at once, each by itself", async () => {
    const [first, second] = [await readyItem(), await readyItem()];
    await granted(api, second, "w");
    const { body } = await post("/advance", {
      transitions: [
        { number: first, trigger: "start", owner: "o" },
        { number: second, trigger: "hold" },
        { number: 99_999, trigger: "start" },
        { number: second, trigger: "complete" },
      ],
    });
    expect(body.summary).toEqual({ total: 4, succeeded: 1, failed: 3 });
    expect(
      body.results.map(
        ({ applied, errorCode }: { applied: boolean; errorCode?: string }) => errorCode ?? applied,
      ),
    ).toEqual([true, "claim_required", "not_found", "claim_required"]);
  });

  it("keeps every transition with its actor, also those that GitHub brought about", async () => {
    const number = await readyItem();
    repo.as("alice").close(number, "completed");
    await world.settled();
    const answer = await api.repo("GET", `/items/${number}/transitions?limit=1`);
    expect(answer.transitions).toEqual([
      {
        at: expect.any(String),
        trigger: "complete",
        actor: "alice",
        from: "queue",
        to: "terminal",
        summary: null,
        fencingToken: null,
      },
    ]);
    expect(answer.nextCursor).toBeNull();
  });
});

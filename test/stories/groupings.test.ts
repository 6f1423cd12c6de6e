/** Groupings (protocol 7): authored as one, once, whatever happens on the way; their defects; how they end. */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultPermissions } from "../fake-github/app-under-test.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient, Sent } from "../harness/api-client.ts";
import { World } from "../harness/world.ts";
import {
  defectsOf,
  expectNotReady,
  expectRefused,
  GATE,
  granted,
  outcomes,
  ownComments,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
let api: ApiClient;

beforeAll(async () => {
  // What app.yml asks for.
  stories = await startStories({ github: { permissions: { ...defaultPermissions, contents: "read" } } });
  world = stories.world;
  repo = await world.repository();
  api = world.api;
});
afterAll(() => world.end());

const ISSUES = "/repos/acme/widgets/issues";
const create = (body: object, sent: Sent = {}) => api.tryRepo("POST", "/groupings", { body, ...sent });
const keyed = (): Sent => ({ headers: { "idempotency-key": randomUUID() } });
const key = (number: number) => `repo/acme/widgets/mem/backlog/issue-${number}`;

/** Seam first, a fan-out of two, the integration. */
const pipes = (slug: string, over: object = {}) => ({
  epic: { title: `Pipes ${slug}`, body: "All of them.", slug },
  items: [
    { ref: "seam", title: `Seam ${slug}`, body: "first", priority: "P1", anchoredTo: ["src/seam.ts"] },
    { ref: "left", title: `Left ${slug}`, blockedBy: ["seam"], resources: ["staging"] },
    { ref: "right", title: `Right ${slug}`, blockedBy: ["seam"] },
    { ref: "end", title: `End ${slug}`, phase: "integration" },
  ],
  ...over,
});

async function made(slug: string, over: object = {}) {
  const { status, body } = await create(pipes(slug, over));
  expect([status, body.code]).toEqual([201, undefined]);
  await world.settled();
  return body;
}

/** The issues that were opened for a grouping, by their titles. */
const openedFor = (slug: string): string[] =>
  [...repo.record.issues.values()].flatMap(({ title }) => (title.endsWith(` ${slug}`) ? [title] : []));
const ALL = (slug: string) => ["Pipes", "Seam", "Left", "Right", "End"].map((what) => `${what} ${slug}`);

function admit(...numbers: number[]): void {
  stories.later();
  for (const number of numbers) repo.as("alice").unlabel(number, GATE);
}

describe("a grouping", () => {
  it("is authored as one: issues, links, labels, records, diagram", async () => {
    const answer = await create(pipes("whole"));
    expect(answer.status).toBe(201);
    const { epic, items, criticalPath, width, mermaid, branch, branchCommand } = answer.body;
    const { seam, left, right, end } = items;
    expect([criticalPath, width, branch]).toEqual([3, 2, "feat/epic/whole"]);
    expect(branchCommand).toBe("git push origin origin/main:refs/heads/feat/epic/whole");
    expect(epic).toMatchObject({ title: "Pipes whole", baseBranch: branch, admitted: false, defects: [] });
    await world.settled();

    for (const number of [epic.number, seam, left, right, end])
      expect(repo.issue(number).labels).toEqual(expect.arrayContaining(["backlog", GATE]));
    expect(repo.issue(seam).labels).toContain("priority:P1");
    expect(repo.issue(epic.number).subIssues).toEqual([seam, left, right, end]);
    expect(repo.issue(left).blockedBy).toEqual([seam]);
    expect(repo.issue(end).blockedBy).toEqual([seam, left, right]);

    expect(await api.item(seam)).toMatchObject({
      priority: "P1",
      baseBranch: branch,
      epic: epic.number,
      defects: [],
    });
    expect((await api.item(seam)).links.anchoredTo).toEqual(["repo/acme/widgets/file/src/seam.ts"]);
    expect((await api.item(left)).tags).toContain("resource:staging");
    expect(await api.item(end)).toMatchObject({ phase: "integration", baseBranch: "main", defects: [] });
    expect((await api.item(end)).links).toEqual({
      blockedBy: [seam, left, right].map(key),
      integrates: [key(epic.number)],
      partOf: [key(epic.number)],
    });
    const [diagram = ""] = ownComments(repo, epic.number);
    expect(diagram).toContain(`\n\`\`\`mermaid\n${mermaid}\n\`\`\`\n`);
    expect(diagram).toContain("Critical path: 3");
    expect(await defectsOf(api, epic.number)).toEqual([]);
  });

  it("gives the integration item its epic's branch to work on, and the others their own", async () => {
    const { items, epic } = await made("worked");
    const { seam, left, right, end } = items;
    admit(epic.number, ...Object.values<number>(items));
    await world.settled();
    expect(await granted(api, seam, "w/1")).toMatchObject({
      baseBranch: "feat/epic/worked",
      workingBranch: `feat/epic/worked-issue-${seam}`,
    });
    stories.later();
    for (const number of [seam, left, right]) repo.as("alice").close(number, "completed");
    await world.settled();
    expect(await granted(api, end, "w/2")).toMatchObject({
      baseBranch: "main",
      workingBranch: "feat/epic/worked",
    });
  });

  it("completes with its integration item, whose work is the epic's branch; no other merge completes the epic", async () => {
    const { items, epic } = await made("ending");
    const { seam, left, right, end } = items;
    admit(epic.number, ...Object.values<number>(items));
    await world.settled();
    repo.as("alice").createBranch("feat/epic/ending");
    repo.as("alice").push("feat/stray", { message: "stray" });
    const stray = repo.as("alice").openPull({
      head: "feat/stray",
      base: "main",
      title: "stray",
      body: `Closes #${epic.number}`,
    });
    stories.later();
    repo.as("alice").merge(stray);
    await world.settled();
    expect(await api.item(epic.number)).toMatchObject({ state: null });
    expect(await defectsOf(api, epic.number)).toEqual(["issue_closed_item_live"]);
    repo.as("alice").reopen(epic.number);
    stories.later();
    for (const number of [seam, left, right]) repo.as("alice").close(number, "completed");
    await world.settled();
    repo.as("alice").push("feat/epic/ending", { message: "all of it" });
    const home = repo.as("alice").openPull({ head: "feat/epic/ending", base: "main", title: "home" });
    await world.settled();
    // Its own pull request waits for people.
    await expectRefused(api, end, "in_review");
    stories.later();
    repo.as("alice").merge(home);
    await world.settled();
    expect(await api.item(end)).toMatchObject({
      state: "complete",
      tags: expect.arrayContaining([`pr:${home}`]),
    });
    expect(await api.item(epic.number)).toMatchObject({ state: "complete" });
    expect(repo.issue(epic.number).state).toBe("closed");
    expect(outcomes(repo, epic.number, "complete")).toHaveLength(1);
  });

  it("a merge into its branch that names the epic completes nothing, and is no defect", async () => {
    const { epic } = await made("named");
    repo.as("alice").createBranch("feat/epic/named");
    repo.as("alice").push("feat/some", { message: "some" });
    const pull = repo.as("alice").openPull({
      head: "feat/some",
      base: "feat/epic/named",
      title: "some",
      body: `Closes #${epic.number}`,
    });
    stories.later();
    repo.as("alice").merge(pull);
    await world.settled();
    expect(await api.item(epic.number)).toMatchObject({ state: null, defects: [] });
    stories.later();
    repo.as("alice").close(epic.number, "completed");
    await world.settled();
    expect(await api.item(epic.number)).toMatchObject({ state: "complete" });
  });

  it("is part of another, whose integration item then waits for it", async () => {
    const outer = await made("outer");
    const inner = await made("inner", {
      epic: { title: "Pipes inner", slug: "inner", parent: outer.epic.number },
    });
    expect(inner.epic.epic).toBe(outer.epic.number);
    expect((await api.item(outer.items.end)).links.blockedBy).toContain(key(inner.epic.number));
    expect(await defectsOf(api, outer.items.end)).toEqual([]);
  });

  it.each<[string, (slug: string) => object, number, string, RegExp]>([
    [
      "a cycle",
      (slug) =>
        pipes(slug, {
          items: [
            { ref: "a", title: "a", blockedBy: ["b"] },
            { ref: "b", title: "b", blockedBy: ["a"] },
            { ref: "end", title: "end", phase: "integration" },
          ],
        }),
      409,
      "cycle",
      /a → b → a/,
    ],
    [
      "no integration item",
      (slug) => pipes(slug, { items: [{ ref: "a", title: "a" }] }),
      400,
      "validation_failed",
      /integration/,
    ],
    [
      "a status for a phase",
      (slug) => pipes(slug, { items: [{ ref: "a", title: "a", phase: "done" }] }),
      400,
      "validation_failed",
      /phase/,
    ],
    [
      "a blocker that is none",
      (slug) =>
        pipes(slug, {
          items: [
            { ref: "a", title: "a", blockedBy: ["#9999"] },
            { ref: "end", title: "end", phase: "integration" },
          ],
        }),
      409,
      "edge_refused",
      /#9999 does not exist/,
    ],
    [
      "a slug that is no branch",
      () => pipes("x", { epic: { title: "x", slug: "a b" } }),
      400,
      "validation_failed",
      /epic\.slug/,
    ],
  ])("is refused with %s, and opens nothing", async (_, asked, status, code, detail) => {
    const before = world.github.requestsTo("POST", ISSUES).length;
    const answer = await create(asked("refused"));
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body.detail).toMatch(detail);
    expect(world.github.requestsTo("POST", ISSUES)).toHaveLength(before);
  });

  it("does not take the branch of another", async () => {
    await made("taken");
    const answer = await create(pipes("taken", { epic: { title: "Another taken", slug: "taken" } }));
    expect([answer.status, answer.body.code]).toEqual([409, "conflict"]);
    expect(answer.body.detail).toMatch(/feat\/epic\/taken/);
    expect(openedFor("taken")).toEqual(ALL("taken"));
  });
});

describe("no issue twice, whatever happens on the way", () => {
  /** The first `good` issues are opened, then the fault strikes. */
  async function failing(
    slug: string,
    good: number,
    fault: { kind: "status" | "effect-then-status"; status: number },
    sent: Sent,
  ) {
    for (let at = 0; at < good; at++)
      world.github.fault({ method: "POST", path: ISSUES, kind: "delay", delayMs: 1 });
    world.github.fault({ method: "POST", path: ISSUES, ...fault });
    if (fault.kind === "effect-then-status")
      world.github.fault({ method: "GET", path: ISSUES, kind: "status", status: 503 });
    return create(pipes(slug), sent);
  }

  it.each([
    ["down after two", "status", 2, true],
    ["down after two, without a key", "status", 2, false],
    ["down at once", "status", 0, true],
    ["a lost answer at the third", "effect-then-status", 2, true],
    ["a lost answer at the epic, without a key", "effect-then-status", 0, false],
  ] as const)("%s: sent again it goes on", async (_, kind, good, isKeyed) => {
    const slug = `again-${kind}-${good}-${isKeyed}`;
    const sent = isKeyed ? keyed() : {};
    world.github.hold();
    const first = await failing(slug, good, { kind, status: 502 }, sent);
    expect([first.status, first.body.code]).toEqual([502, "github_unavailable"]);
    expect(openedFor(slug)).toHaveLength(kind === "status" ? good : good + 1);
    const second = await create(pipes(slug), sent);
    expect(second.status).toBe(201);
    world.github.release();
    await world.settled();
    expect(openedFor(slug)).toEqual(ALL(slug));
    expect(await defectsOf(api, second.body.epic.number)).toEqual([]);
    expect(repo.issue(second.body.epic.number).subIssues).toHaveLength(4);
  });

  it("the webhooks come before the rest is opened, and before the records are written", async () => {
    const sent = keyed();
    await failing("early", 3, { kind: "status", status: 503 }, sent);
    await world.settled();
    const [first] = [...repo.record.issues.values()].filter(({ title }) => title === "Seam early");
    expect(await api.item(first?.number ?? 0)).toMatchObject({ admitted: false, baseBranch: "main" });
    await world.restart();
    const { status, body } = await create(pipes("early"), sent);
    expect([status, body.items.seam]).toEqual([201, first?.number]);
    expect(openedFor("early")).toEqual(ALL("early"));
    expect(await api.item(body.items.seam)).toMatchObject({
      baseBranch: "feat/epic/early",
      epic: body.epic.number,
    });
    await world.settled();
  });

  it("another grouping of that branch waits until it is finished or given up", async () => {
    await failing("half", 2, { kind: "status", status: 503 }, {});
    await world.settled();
    const other = pipes("half", { epic: { title: "Otherwise half", slug: "half" } });
    const refused = await create(other);
    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);
    const [epic] = [...repo.record.issues.values()].filter(({ title }) => title === "Pipes half");
    expect(refused.body.detail).toContain(`#${epic?.number}`);
    stories.later();
    repo.as("alice").close(epic?.number ?? 0, "not_planned");
    await world.settled();
    expect((await create(other)).status).toBe(201);
    await world.settled();
  });

  it("answers the same under its key", async () => {
    const sent = keyed();
    const [first, second] = [await create(pipes("twice"), sent), await create(pipes("twice"), sent)];
    expect([first.status, second.body]).toEqual([201, first.body]);
    expect(openedFor("twice")).toEqual(ALL("twice"));
    await world.settled();
  });
});

describe("defects come and go with the facts", () => {
  const link = (number: number, how: "add" | "remove", relation: string, target: number) =>
    api.repo("PATCH", `/items/${number}`, {
      body: { links: { [how]: { [relation]: [`mem/backlog/issue-${target}`] } } },
    });
  const tag = (number: number, how: "add" | "remove", name: string) =>
    api.repo("PATCH", `/items/${number}`, { body: { tags: { [how]: [name] } } });

  /** What the ready set reports of an item, once it was looked at again. */
  const reported = async (number: number, codes: string[]) => {
    const found = async () => {
      const { defects } = await api.ready("?limit=100");
      return defects
        .filter((defect: { number: number }) => defect.number === number)
        .map(({ code }: { code: string }) => code);
    };
    await expect.poll(found, { timeout: 10_000 }).toEqual(codes);
  };

  it("of the integration: missing, doubled, not blocked by the fan-out", async () => {
    const { epic, items } = await made("integrated");
    await link(items.end, "remove", "integrates", epic.number);
    expect(await defectsOf(api, epic.number)).toEqual(["integration_missing"]);
    await reported(epic.number, ["integration_missing"]);
    await link(items.end, "add", "integrates", epic.number);
    expect(await defectsOf(api, epic.number)).toEqual([]);
    await link(items.left, "add", "integrates", epic.number);
    expect(await defectsOf(api, epic.number)).toEqual(["integration_duplicated"]);
    await link(items.left, "remove", "integrates", epic.number);

    const late = repo.as("alice").openIssue({ title: "Late", labels: ["backlog"] });
    await world.settled();
    await link(late, "add", "partOf", epic.number);
    expect(await defectsOf(api, late)).toEqual(["epic_targets_main"]);
    await expectNotReady(api, late);
    await tag(late, "remove", "baseBranch:main");
    await tag(late, "add", "baseBranch:feat/epic/integrated");
    expect(await defectsOf(api, late)).toEqual([]);
    expect(await defectsOf(api, items.end)).toEqual(["integration_not_blocked_by_fanout"]);
    await reported(items.end, ["integration_not_blocked_by_fanout"]);
    stories.later();
    repo.as("alice").close(late, "completed");
    await world.settled();
    expect(await defectsOf(api, items.end)).toEqual([]);
    await reported(items.end, []);
  });

  it("a proposal below an epic goes into its branch, and the integration waits for it", async () => {
    const { epic, items } = await made("grown");
    const { body } = await api.tryRepo("POST", "/items", {
      body: { title: "One more", parent: epic.number },
    });
    expect(body).toMatchObject({ epic: epic.number, baseBranch: "feat/epic/grown", defects: [] });
    expect((await api.item(items.end)).links.blockedBy).toContain(key(body.number));
    expect(await defectsOf(api, items.end)).toEqual([]);
    const again = await api.tryRepo("POST", "/items", {
      body: { title: "To main", parent: epic.number, tags: ["baseBranch:main"] },
    });
    expect([again.status, again.body.code]).toEqual([400, "validation_failed"]);
    await world.settled();
  });

  it("of the diagram; any in a comment will do", async () => {
    const { epic } = await made("drawn");
    const [diagram] = repo.issue(epic.number).comments;
    stories.later();
    repo.as("alice").deleteComment(diagram?.id ?? 0);
    await world.settled();
    expect(await defectsOf(api, epic.number)).toEqual(["grouping_without_dag"]);
    await reported(epic.number, ["grouping_without_dag"]);
    repo.as("alice").comment(epic.number, "By hand:\n```mermaid\nflowchart TD\n```");
    await world.settled();
    expect(await defectsOf(api, epic.number)).toEqual([]);
    await reported(epic.number, []);
  });

  it("of research within another grouping; and a person's own parent has none", async () => {
    const [outer = 0, inner = 0, leaf = 0] = ["outer", "inner", "leaf"].map((title) =>
      repo.as("alice").openIssue({ title, labels: ["backlog"] }),
    );
    await world.settled();
    await link(inner, "add", "partOf", outer);
    await link(leaf, "add", "partOf", inner);
    for (const number of [outer, inner, leaf]) expect(await defectsOf(api, number)).toEqual([]);
    await tag(inner, "remove", "phase:implementation");
    await tag(inner, "add", "phase:research");
    expect(await defectsOf(api, inner)).toEqual(["nested_research"]);
  });

  it("a design item is not complete before the grouping that came of it shows its diagram", async () => {
    const design = repo.as("alice").openIssue({ title: "Design", labels: ["backlog"] });
    await world.settled();
    await api.repo("PATCH", `/items/${design}`, { body: { tags: { remove: ["phase:implementation"] } } });
    await api.repo("PATCH", `/items/${design}`, { body: { tags: { add: ["phase:research"] } } });
    // The missing tag's defect goes when the item was looked at again.
    await world.settled();
    const { fencingToken } = await granted(api, design, "w/design", { leaseSeconds: 600 });
    const refused = await create(pipes("emitted", { emittedBy: design }));
    expect([refused.status, refused.body.code]).toEqual([409, "claim_required"]);
    expect(openedFor("emitted")).toEqual([]);
    const { body } = await create(pipes("emitted", { emittedBy: design }), { fence: fencingToken });
    expect((await api.item(design)).links.informs).toEqual([key(body.epic.number)]);
    await world.settled();
    const [diagram] = repo.issue(body.epic.number).comments;
    stories.later();
    repo.as("alice").deleteComment(diagram?.id ?? 0);
    const proof = repo.as("alice").comment(design, "What was found.");
    await world.settled();
    const complete = () =>
      api.tryRepo("POST", `/items/${design}/complete`, {
        fence: fencingToken,
        body: { durable: [`issue-comment:${proof}`] },
      });
    const early = await complete();
    expect([early.status, early.body.code]).toEqual([409, "conflict"]);
    expect(early.body.detail).toMatch(/lacks its diagram/);
    repo.as("alice").comment(body.epic.number, "```mermaid\nflowchart TD\n```");
    await world.settled();
    expect((await complete()).status).toBe(200);
    await expectRefused(api, design, "complete");
    await world.settled();
  });
});

describe("where the App may write contents", () => {
  it("makes the epic's branch", async () => {
    const writing = await World.start({
      github: { permissions: { ...defaultPermissions, contents: "write" } },
    });
    const place = await writing.repository();
    const { status, body } = await writing.api.tryRepo("POST", "/groupings", { body: pipes("branched") });
    expect([status, body.branchCommand]).toEqual([201, undefined]);
    expect(place.record.branches.get("feat/epic/branched")).toBe(place.record.branches.get("main"));
    await writing.settled();
    await writing.end();
  });
});

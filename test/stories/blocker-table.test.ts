/**
 * The table of protocol 5, "Parked and other blockers", a story per row: whether an edge to such a target may be authored,
 * and what the API shows of an item that waits for it, by an edge of ours that was there before, and by GitHub's own, which
 * cannot be refused. Beside it circles, and what the table says of issues that are no items. More on GitHub's links:
 * native-links.test.ts; on blockers where the App is not: foreign-blockers.test.ts; on circles: native-graph.test.ts and
 * test/http/links.test.ts.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { granted, readyNumbers, STALE, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
let api: ApiClient;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
});
afterAll(() => world.end());

const alice = () => repo.as("alice");
const keyOf = (number: number) => `repo/acme/widgets/mem/backlog/issue-${number}`;

async function happens(act: () => void): Promise<void> {
  stories.later();
  act();
  await world.settled();
}

async function item(title: string): Promise<number> {
  const number = alice().openIssue({ title, labels: ["backlog"] });
  await world.settled();
  return number;
}

async function issue(title: string): Promise<number> {
  const number = alice().openIssue({ title });
  await world.settled();
  return number;
}

/** No way through the API or GitHub leads to this: it is what a fault, or a hand in the database, leaves behind. */
const byHand = (statement: string, ...values: unknown[]) =>
  world.app.deps.database.pool.query(statement, [repo.id, ...values]);

const tagged = (number: number, ...states: string[]) =>
  byHand(
    "update record set tags = tags || $3::text[] where repository_id = $1 and topic = 'backlog' and id = $2",
    `issue-${number}`,
    states,
  );

const block = (number: number, target: string) =>
  api.tryRepo("PATCH", `/items/${number}`, { body: { links: { add: { blockedBy: [target] } } } });

type Authoring = "allow" | { readonly refused: RegExp };
type Status = "waiting" | "satisfied" | "stalled" | "invalid" | "missing" | "unknown";

interface Row {
  readonly target: string;
  /** Makes the target, as it is when the edges are made. */
  readonly make?: () => Promise<number>;
  /** What then becomes of it. */
  readonly becomes: (target: number) => Promise<unknown>;
  readonly authoring: Authoring;
  readonly readiness: Status;
  /** The dependent's defect; null: none. */
  readonly reported: null | { readonly code: string; readonly detail: RegExp };
  readonly ruling?: { readonly rulingOwner: string; readonly question: string | null };
  /** What is gone when GitHub's edge would come. */
  readonly gone?: true;
}

const DANGLING = "dangling_blocker";
const STALLED = "stalled_blocker";

const TABLE: readonly Row[] = [
  {
    target: "missing",
    becomes: async (target) => {
      await byHand("delete from item where repository_id = $1 and number = $2", target);
      await byHand("delete from issue where repository_id = $1 and number = $2", target);
    },
    authoring: { refused: /does not exist; file it first/ },
    readiness: "missing",
    reported: { code: DANGLING, detail: /does not exist; remove the edge/ },
    gone: true,
  },
  {
    target: "live",
    becomes: async () => {},
    authoring: "allow",
    readiness: "waiting",
    reported: null,
  },
  {
    target: "live and being worked on",
    becomes: (target) => granted(api, target, "w/1", { leaseSeconds: 900 }),
    authoring: "allow",
    readiness: "waiting",
    reported: null,
  },
  {
    target: "complete",
    becomes: (target) => happens(() => alice().close(target, "completed")),
    authoring: "allow",
    readiness: "satisfied",
    reported: null,
  },
  {
    target: "complete and reopened by a human",
    becomes: async (target) => {
      await happens(() => alice().close(target, "completed"));
      await happens(() => alice().reopen(target));
    },
    authoring: "allow",
    readiness: "waiting",
    reported: null,
  },
  {
    target: "parked by its holder",
    becomes: async (target) => {
      const { fencingToken } = await granted(api, target, "w/1");
      const body = { reason: "unclear", rulingOwner: "tess", question: "Which of the two?" };
      await api.repo("POST", `/items/${target}/park`, { fence: fencingToken, body });
      await world.settled();
    },
    authoring: { refused: /is parked/ },
    readiness: "stalled",
    reported: { code: STALLED, detail: /tess must rule: Which of the two\?/ },
    ruling: { rulingOwner: "tess", question: "Which of the two?" },
  },
  {
    target: "parked by a human's label",
    becomes: (target) => happens(() => alice().label(target, STALE)),
    authoring: { refused: /is parked/ },
    readiness: "stalled",
    reported: { code: STALLED, detail: /is parked: alice must unpark it/ },
    ruling: { rulingOwner: "alice", question: null },
  },
  ...(["not_planned", "duplicate"] as const).map(
    (reason): Row => ({
      target: `cancelled: closed as ${reason}`,
      becomes: (target) => happens(() => alice().close(target, reason)),
      authoring: { refused: /is cancelled/ },
      readiness: "stalled",
      reported: { code: STALLED, detail: /is cancelled: reopen it, or remove the edge/ },
    }),
  ),
  {
    target: "cancelled: deleted on GitHub",
    becomes: (target) => happens(() => alice().deleteIssue(target)),
    authoring: { refused: /is gone from GitHub/ },
    readiness: "stalled",
    reported: { code: STALLED, detail: /is gone from GitHub: remove the edge/ },
    gone: true,
  },
  {
    target: "of an unknown state:",
    becomes: (target) => tagged(target, "state:done"),
    authoring: { refused: /unknown or doubled state: tag; mend that first/ },
    readiness: "invalid",
    reported: { code: DANGLING, detail: /unknown or doubled state:/ },
  },
  {
    target: "of a doubled state:",
    becomes: (target) => tagged(target, "state:complete", "state:parked"),
    authoring: { refused: /unknown or doubled state: tag; mend that first/ },
    readiness: "invalid",
    reported: { code: DANGLING, detail: /unknown or doubled state:/ },
  },
  {
    target: "an open issue that is no item",
    make: () => issue("No item"),
    becomes: async () => {},
    authoring: "allow",
    readiness: "waiting",
    reported: null,
  },
  {
    target: "[63] an issue that is no item, closed as completed",
    make: () => issue("No item"),
    becomes: (target) => happens(() => alice().close(target, "completed")),
    authoring: "allow",
    readiness: "satisfied",
    reported: null,
  },
  {
    target: "[63] an issue that is no item, closed as not planned",
    make: () => issue("No item"),
    becomes: (target) => happens(() => alice().close(target, "not_planned")),
    authoring: { refused: /is cancelled/ },
    readiness: "stalled",
    reported: { code: STALLED, detail: /is cancelled: reopen it, or remove the edge/ },
  },
];

/** What the API shows of an item that hangs on `target`; everything that it says has to agree. */
async function expectShown(dependent: number, target: number, row: Row, kind: "own" | "native") {
  const { readiness, reported, ruling } = row;
  const { reasons, defects } = await api.item(dependent);
  const { dependencies } = await api.repo("GET", `/items/${dependent}/dependencies`);
  const satisfied = readiness === "satisfied";
  expect(dependencies).toMatchObject([
    {
      direction: "blockedBy",
      key: keyOf(target),
      status: readiness,
      satisfied,
      own: kind === "own",
      native: kind === "native",
      ...(ruling ?? {}),
    },
  ]);
  const { waiting } = await api.ready("?limit=100");
  const waits = waiting.find(({ number }: { number: number }) => number === dependent);
  expect((await readyNumbers(api)).includes(dependent)).toBe(satisfied);
  expect(waits?.reasons ?? []).toEqual(reasons);
  const claim = await api.claim(dependent, "w/asks");
  if (satisfied) {
    expect({ reasons, defects, claim: claim.granted }).toEqual({ reasons: [], defects: [], claim: true });
    return;
  }
  expect(reasons[0]).toMatchObject({ reason: "blocked", on: [target], ...(ruling ?? {}) });
  expect(claim).toMatchObject({ granted: false, reason: "blocked", blockers: [target] });
  expect(defects).toEqual(
    reported === null
      ? []
      : [
          expect.objectContaining({
            code: reported.code,
            value: `#${target}`,
            detail: expect.stringMatching(reported.detail),
          }),
        ],
  );
}

describe("the target of a blockedBy edge", () => {
  it.each(TABLE.map((row): [string, Row] => [row.target, row]))("%s", async (_, row) => {
    const target = await (row.make ?? (() => item("Blocker")))();
    const [ours, natively, late] = [await item("Ours"), await item("Natively"), await item("Late")];
    expect(await block(ours, keyOf(target))).toMatchObject({ status: 200 });
    if (row.gone) await happens(() => alice().blockBy(natively, target));
    await row.becomes(target);
    if (!row.gone) await happens(() => alice().blockBy(natively, target));

    await expectShown(ours, target, row, "own");
    await expectShown(natively, target, row, "native");

    const edge = { from: late, relation: "blockedBy", to: target };
    const [verdict] = (await api.repo("POST", "/validate-edges", { body: { edges: [edge] } })).edges;
    const answer = await block(late, keyOf(target));
    if (row.authoring === "allow") {
      expect(verdict).toEqual({ ok: true });
      expect(answer.status).toBe(200);
      return;
    }
    const refusal = { code: "edge_refused", detail: expect.stringMatching(row.authoring.refused) };
    expect(verdict).toEqual({ ok: false, ...refusal });
    expect(answer).toMatchObject({ status: 409, body: refusal });
    expect(answer.body.detail).toContain(`#${target}`);
    expect((await api.item(late)).links).toEqual({});
  });

  it("[63] in a repository where the App is not: may be authored, blocks, and the reason says so", async () => {
    const elsewhere = world.github.repository("acme/unheard", { collaborators: { alice: "admin" } });
    const far = elsewhere.as("alice").openIssue({ title: "Unheard of" });
    const key = `repo/acme/unheard/mem/backlog/issue-${far}`;
    const [ours, natively] = [await item("Ours"), await item("Natively")];
    expect(await block(ours, key)).toMatchObject({ status: 200 });
    await happens(() => alice().blockBy(natively, { repository: elsewhere, number: far }));
    for (const dependent of [ours, natively]) {
      const { reasons, defects } = await api.item(dependent);
      expect(reasons).toEqual([
        {
          reason: "blocked",
          on: [],
          detail: expect.stringContaining(`${key} blocks: Leasehold is not installed there`),
        },
      ]);
      expect(defects).toEqual([]);
      expect(await api.claim(dependent, "w/asks")).toMatchObject({
        granted: false,
        reason: "blocked",
        blockers: [],
        detail: expect.stringContaining("its reasons say more"),
      });
      const { dependencies } = await api.repo("GET", `/items/${dependent}/dependencies`);
      expect(dependencies).toMatchObject([{ key, status: "unknown", satisfied: false }]);
    }
  });

  it.each(["mem/notes/a", "file/docs/a.md"])("that is no item, %s: is refused", async (key) => {
    const answer = await block(await item("Dependent"), key);
    expect(answer).toMatchObject({ status: 409, body: { code: "edge_refused" } });
  });
});

describe("a cycle", () => {
  it("of ours is refused with its path, and nothing of it is kept", async () => {
    const [a, b, c] = [await item("A"), await item("B"), await item("C")];
    expect(await block(a, keyOf(b))).toMatchObject({ status: 200 });
    expect(await block(b, keyOf(c))).toMatchObject({ status: 200 });
    expect(await block(c, keyOf(a))).toMatchObject({
      status: 409,
      body: { code: "cycle", detail: expect.stringContaining(`#${c} → #${a} → #${b} → #${c}`) },
    });
    expect((await api.item(c)).links).toEqual({});
  });

  it("that arrives from GitHub is a defect of each member that names them all, and nobody is offered", async () => {
    const [a, b, c] = [await item("A"), await item("B"), await item("C")];
    await happens(() => {
      alice().blockBy(a, b);
      alice().blockBy(b, c);
      alice().blockBy(c, a);
    });
    for (const [first, second, third] of [
      [a, b, c],
      [b, c, a],
      [c, a, b],
    ]) {
      const { defects, reasons } = await api.item(first ?? 0);
      const value = `#${first} → #${second} → #${third} → #${first}`;
      expect(defects).toMatchObject([
        { code: "dependency_cycle", value, detail: expect.stringContaining("remove one of the edges") },
      ]);
      expect(reasons[0]).toMatchObject({ reason: "blocked", on: [second] });
    }
    const offered = await readyNumbers(api);
    expect([a, b, c].filter((number) => offered.includes(number))).toEqual([]);
  });
});

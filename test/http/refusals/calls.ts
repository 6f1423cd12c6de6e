/**
 * A well-formed call of each operation, by its operationId, and how those of its refusals come about that no general way
 * provokes (`recipes.ts`). A new route needs a line here, and nothing more where the general ways do.
 */

import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Sent } from "../../harness/api-client.ts";
import type { Scene, ServerName, Target } from "./scene.ts";

/** A call, as it is sent. What is left out is as in the operation's own call. */
export interface Asked extends Sent {
  readonly on?: Target;
  readonly query?: string;
  readonly server?: ServerName;
}

export type Provoke = (scene: Scene) => Asked | Promise<Asked>;

export interface Call {
  /** What it is about, where the path does not say it: a fresh one each time. */
  readonly on?: (scene: Scene) => Target | Promise<Target>;
  readonly query?: string;
  readonly body?: (scene: Scene, on: Target) => object;
  readonly refusals?: Readonly<Record<string, Provoke>>;
}

const NOWHERE = { owner: "acme", repo: "nowhere" };
/** A repository without the App. */
const BARE = { owner: "local", repo: "bare" };
const recordOf = (number: number): Target => ({ topic: "backlog", id: `issue-${number}` });
const keyOf = (number: number): string => `mem/backlog/issue-${number}`;
const TTL = "2999-01-01T00:00:00Z";

/** Refusals of writes to an item's tags and links. `wrap` puts additions where the call takes them. */
const itemWrites = (
  wrap: (more: { tags?: string[]; links?: object }) => object,
  at: (number: number) => Target,
): Record<string, Provoke> => ({
  reserved: (scene) => ({ on: at(scene.item()), body: wrap({ tags: ["state:complete"] }) }),
  edge_refused: (scene) => ({ on: at(scene.item()), body: wrap({ links: { blockedBy: [keyOf(99_999)] } }) }),
  cycle: async (scene) => {
    const [first, second] = [scene.item(), scene.item()];
    await scene.api.block(first, second);
    return { on: at(second), body: wrap({ links: { blockedBy: [keyOf(first)] } }) };
  },
});
const adding = ({ tags, links }: { tags?: string[]; links?: object }) => ({
  ...(tags && { tags: { add: tags } }),
  ...(links && { links: { add: links } }),
});
const recordRefusals = {
  field_not_settable: () => ({ body: { createdAt: "now" } }),
  ttl_forbidden: () => ({ body: { kind: "Report", expiresAt: TTL } }),
};

/** GitHub does not answer when it is asked for the repository. */
const failingOnce = ({ world }: Scene): Asked => {
  world.github.fault({ path: /^\/repositories\//, kind: "status", status: 503 });
  return {};
};

let slugs = 0;
const grouping = (over: object = {}) => {
  slugs += 1;
  return {
    epic: { title: `Epic ${slugs}`, slug: `slug-${slugs}` },
    items: [
      { ref: "a", title: `A ${slugs}` },
      { ref: "end", title: `End ${slugs}`, phase: "integration" },
    ],
    ...over,
  };
};

export const CALLS: Readonly<Record<string, Call>> = {
  getMetrics: {
    refusals: {
      // It tells of the outage; only who calls cannot be known then.
      unavailable: async (scene) => ({ server: "away", token: (await scene.token()).token }),
    },
  },
  health: { refusals: { unauthenticated: () => ({ token: "nobody's" }) } },

  recallRecord: {},
  rememberRecord: {
    body: () => ({ title: "New" }),
    refusals: { ...recordRefusals, ...itemWrites((more) => more, recordOf) },
  },
  updateRecord: {
    body: () => ({ title: "New" }),
    refusals: { ...recordRefusals, ...itemWrites(adding, recordOf) },
  },
  forgetRecord: {
    refusals: {
      reserved: (scene) => ({ on: recordOf(scene.item()) }),
      ttl_forbidden: async (scene) => {
        const on = await scene.record();
        await scene.api.repo("PATCH", `/memory/notes/${on.id}`, { body: { kind: "Report" } });
        return { on, query: "lapseSeconds=60" };
      },
    },
  },
  listTopics: {},
  scanTopic: {},
  addRecord: {
    body: () => ({ title: `New ${randomUUID()}` }),
    refusals: {
      ...recordRefusals,
      reserved: () => ({ body: { tags: ["pr:7"] } }),
      not_claimable: () => ({ fence: 7 }),
    },
  },
  listRecordBacklinks: {},
  searchMemory: { query: "q=axle" },
  listNeighbors: { query: "key=mem/notes/x" },

  readyItems: {},
  listItems: {},
  listRootItems: {},
  listAttempts: {},
  getItem: {},
  updateItem: {
    body: () => ({ tags: { add: ["team:red"] } }),
    refusals: itemWrites(adding, (number) => ({ number })),
  },
  getReport: {},
  listTransitions: {},
  listChildren: {},
  listBreadcrumbs: {},
  listDependencies: {},
  listBacklinks: {},
  validateEdges: {
    body: () => ({ edges: [{ from: 1, relation: "related", to: 2 }] }),
    refusals: {
      insufficient_capability: async (scene) => ({
        token: (await scene.token({ capabilities: ["advance"] })).token,
      }),
    },
  },
  doctor: {
    query: "repo=acme/widgets",
    refusals: {
      not_found: () => ({ query: "repo=acme/nowhere" }),
      conflict: () => ({ query: "repo=local/bare" }),
      github_unavailable: failingOnce,
    },
  },
  repair: {
    body: () => ({ repo: "acme/widgets" }),
    refusals: {
      not_found: () => ({ body: { repo: "acme/nowhere" } }),
      conflict: () => ({ body: { repo: "local/bare" } }),
      github_unavailable: failingOnce,
    },
  },
  listRepositories: { refusals: { validation_failed: () => ({ query: "limit=0" }) } },

  proposeItem: {
    body: () => ({ title: `Proposed ${randomUUID()}` }),
    refusals: {
      conflict: async (scene) => {
        const name = `acme/archived-${randomUUID().slice(0, 8)}`;
        const archived = await scene.world.repository(name);
        await sql`update repository set archived = true where id = ${archived.id}`.execute(scene.world.db);
        return { on: { owner: "acme", repo: name.slice("acme/".length) } };
      },
      cycle: (scene) => {
        const parent = scene.item();
        return { body: { title: "Below itself", parent, blockedBy: [parent] } };
      },
      edge_refused: () => ({ body: { title: "After nothing", blockedBy: [99_999] } }),
      github_unavailable: () => ({ on: BARE }),
    },
  },
  createGrouping: {
    // Under the token of the item whose result it is.
    body: (_, { number }) => grouping(number === undefined ? {} : { emittedBy: number }),
    refusals: {
      conflict: async (scene) => {
        const epic = { title: "Taken", slug: "taken" };
        await scene.api.repo("POST", "/groupings", { body: grouping({ epic }) });
        return { body: grouping({ epic }) };
      },
      cycle: () => ({
        body: grouping({
          items: [
            { ref: "a", title: "A", blockedBy: ["b"] },
            { ref: "b", title: "B", blockedBy: ["a"] },
            { ref: "end", title: "End", phase: "integration" },
          ],
        }),
      }),
      edge_refused: () => ({
        body: grouping({
          items: [
            { ref: "a", title: "A", blockedBy: ["#99999"] },
            { ref: "end", title: "End", phase: "integration" },
          ],
        }),
      }),
      github_unavailable: () => ({ on: BARE }),
    },
  },

  claimNext: { body: () => ({ owner: randomUUID() }) },
  ...claimCalls(""),
  ...claimCalls("OnRecord"),

  completeItem: {
    body: () => ({}),
    refusals: {
      idempotency_mismatch: async (scene) => completedTwice(scene),
      evidence_missing: (scene) => ({ on: { number: scene.item() } }),
      github_unavailable: () => ({ on: { ...BARE, number: 1 }, body: { pullRequest: 1 } }),
    },
  },
  parkItem: {
    body: () => ({ reason: "odd", rulingOwner: "alice", question: "why?" }),
    refusals: { ruling_required: () => ({ body: { reason: "odd" } }) },
  },
  advanceItem: {
    body: () => ({ trigger: "hold" }),
    refusals: {
      evidence_missing: (scene) => ({ on: { number: scene.item() }, body: { trigger: "complete" } }),
      github_unavailable: () => ({
        on: { ...BARE, number: 1 },
        body: { trigger: "complete", pullRequest: 1 },
      }),
    },
  },
  advanceItems: { body: (scene) => ({ transitions: [{ number: scene.item(), trigger: "hold" }] }) },

  createToken: { body: () => ({ name: randomUUID(), capabilities: ["read"] }) },
  listTokens: {},
  revokeToken: {
    on: async (scene) => ({ id: (await scene.token()).id }),
    refusals: {
      validation_failed: () => ({ on: { id: "nonsense" } }),
      not_found: () => ({ on: { id: randomUUID() } }),
    },
  },
  followEvents: {
    query: "repo=acme/widgets",
    refusals: {
      validation_failed: () => ({ query: "types=nonsense" }),
      not_found: () => ({ query: "repo=acme/nowhere" }),
    },
  },

  listResourceLeases: {},
  listResourceHistory: {},
  forceReleaseResource: {
    on: () => ({ key: "nobody-holds-it" }),
    refusals: {
      validation_failed: () => ({ query: "colour=red" }),
      not_found: () => ({}),
      conflict: async (scene) => {
        const there = await scene.world.repository("umbrella/tools");
        const other = there.as("alice").openIssue({ title: "Elsewhere", labels: ["backlog"] });
        await scene.world.settled();
        for (const [api, number] of [
          [scene.api, scene.item()],
          [scene.api.with({ repo: "umbrella/tools" }), other],
        ] as const) {
          await api.repo("PATCH", `/items/${number}`, { body: { tags: { add: ["resource:shared"] } } });
          await api.claim(number, "w", { leaseSeconds: 900 });
        }
        return { on: { key: "shared" } };
      },
    },
  },

  listOutbox: { refusals: { not_found: () => ({ query: "repo=acme/nowhere" }) } },
  retryOutbox: {
    on: () => ({ repositoryId: 1, id: 999_999_999 }),
    refusals: {
      validation_failed: () => ({ on: { repositoryId: "x", id: "y" } }),
      not_found: () => ({}),
      conflict: async (scene) => ({ on: await settledPromise(scene) }),
    },
  },
  listInbox: { refusals: { not_found: () => ({ query: "repo=acme/nowhere" }) } },
  retryInbox: {
    on: () => ({ id: 999_999_999 }),
    refusals: {
      validation_failed: () => ({ on: { id: "x" } }),
      not_found: () => ({}),
      conflict: async (scene) => {
        const { rows } = await sql<{
          id: number;
        }>`select seq as id from inbox where state = 'done' limit 1`.execute(scene.world.db);
        return { on: { id: rows[0]?.id ?? 0 } };
      },
    },
  },
};

function claimCalls(suffix: "" | "OnRecord"): Record<string, Call> {
  /** The same key for two calls under a claim, of which the first succeeds. */
  const twice =
    (call: "renew" | "release", other: object): Provoke =>
    async (scene) => {
      const on: Target = suffix === "" ? { number: scene.item() } : { ...(await scene.record()) };
      const at = suffix === "" ? `/items/${on.number}/claim` : `/memory/${on.topic}/${on.id}/claim`;
      const { fencingToken } = await scene.api.repo("POST", at, { body: { owner: "w" } });
      const headers = { "idempotency-key": randomUUID() };
      await scene.api.repo("POST", `${at}/${call}`, { body: { fencingToken }, headers });
      return { on, headers, body: { fencingToken, ...other } };
    };
  return {
    [`takeClaim${suffix}`]: { body: () => ({ owner: randomUUID() }) },
    [`renewClaim${suffix}`]: {
      body: () => ({ fencingToken: 41 }),
      refusals: { idempotency_mismatch: twice("renew", { leaseSeconds: 7 }) },
    },
    [`releaseClaim${suffix}`]: {
      body: () => ({ fencingToken: 41 }),
      refusals: { idempotency_mismatch: twice("release", { note: "other" }) },
    },
    [`listGrants${suffix}`]: {},
    [`claimStatus${suffix}`]: {},
  };
}

/** The same key for two completions: the first must succeed, with what proves it. */
async function completedTwice(scene: Scene): Promise<Asked> {
  const headers = { "idempotency-key": randomUUID() };
  const number = scene.item();
  scene.repo.as("alice").close(number, "completed");
  await scene.world.settled();
  // Completing what is complete succeeds.
  await scene.api.repo("POST", `/items/${number}/complete`, { body: {}, headers });
  return { headers };
}

async function settledPromise(scene: Scene): Promise<Target> {
  await scene.api.claim(scene.item(), "w");
  await scene.world.pass(60);
  await scene.world.settled();
  const { rows } = await sql<{ repositoryId: number; id: number }>`
    select repository_id as "repositoryId", id from outbox where state = 'done' limit 1`.execute(
    scene.world.db,
  );
  return { repositoryId: rows[0]?.repositoryId ?? 0, id: rows[0]?.id ?? 0 };
}

export { NOWHERE };

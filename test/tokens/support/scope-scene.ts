/**
 * A backlog of which a token reaches a part. Under the epic `root`: `inside`, `blocked` (by `inside` and by `outside`)
 * and as many `spare` ones as are asked for. Beyond: `top`, of which the root is part, `outside`, which waits for `inside`,
 * and one that stands alone. Of records: `notes/inside` is part of `inside`, `notes/outside` of nothing.
 */

import { expect } from "vitest";
import type { FakeRepository } from "../../fake-github/fake-repository.ts";
import type { Answer, ApiClient, Sent } from "../../harness/api-client.ts";
import { makeToken } from "../../harness/tokens.ts";
import { World } from "../../harness/world.ts";
import { expectProblem } from "../../http/support/expect-problem.ts";

const SPARES = 34;

export interface Scene {
  readonly world: World;
  readonly repo: FakeRepository;
  readonly admin: ApiClient;
  /** Reaches what is at and below `root`. */
  readonly scoped: ApiClient;
  /** May do everything, there. */
  readonly scopedAdmin: ApiClient;
  /** Reaches what has the tag `team:red`: `inside` and `outside`. */
  readonly red: ApiClient;
  readonly top: number;
  readonly root: number;
  readonly inside: number;
  readonly blocked: number;
  readonly outside: number;
  readonly alone: number;
  /** Somebody holds a resource for an item beyond. */
  holdBeyond(key: string): Promise<void>;
  /** An item below the root that no case has used. */
  spare(): number;
}

export const keyOf = (number: number): string => `repo/acme/widgets/mem/backlog/issue-${number}`;

export async function scopeScene(): Promise<Scene> {
  const world = await World.start();
  const repo = await world.repository();
  const admin = world.api;
  const open = (title: string): number => repo.as("alice").openIssue({ title, labels: ["backlog"] });
  const [top, root, inside, blocked, outside] = [
    open("Top"),
    open("Root"),
    open("Inside"),
    open("Blocked"),
    open("Outside"),
  ] as [number, number, number, number, number];
  const spares = Array.from({ length: SPARES }, (_, index) => open(`Spare ${index}`));
  const alone = open("Alone");
  await world.settled();

  const link = (number: number, add: Record<string, readonly number[]>, tags: readonly string[] = []) =>
    admin.repo("PATCH", `/items/${number}`, {
      body: {
        links: {
          add: Object.fromEntries(Object.entries(add).map(([relation, to]) => [relation, to.map(keyOf)])),
        },
        ...(tags.length > 0 ? { tags: { add: tags } } : {}),
      },
    });
  await link(root, { partOf: [top] });
  await link(inside, { partOf: [root] }, ["team:red"]);
  await link(blocked, { partOf: [root], blockedBy: [inside, outside], related: [outside, inside] });
  await link(outside, { blockedBy: [inside] }, ["team:red"]);
  for (const spare of spares) await link(spare, { partOf: [root] });
  await admin.repo("PUT", "/memory/notes/inside", {
    body: { title: "Inside", links: { partOf: [keyOf(inside)], related: [keyOf(outside)] } },
  });
  await admin.repo("PUT", "/memory/notes/outside", {
    body: { title: "Outside", links: { related: [keyOf(inside)] } },
  });
  await world.settled();
  const scope = { rootIds: [keyOf(root)] };
  const all = ["read", "claim", "write", "advance", "author", "admin"];
  return {
    world,
    repo,
    admin,
    scoped: (await makeToken(admin, { scope })).api,
    scopedAdmin: (await makeToken(admin, { scope, capabilities: all })).api,
    red: (await makeToken(admin, { scope: { tagsInclude: ["team:red"] } })).api,
    top,
    root,
    inside,
    blocked,
    outside,
    alone,
    holdBeyond: async (key) => {
      await admin.repo("PATCH", `/items/${alone}`, { body: { tags: { add: [`resource:${key}`] } } });
      await admin.claim(alone, "w/beyond");
    },
    spare: () => {
      const spare = spares.pop();
      if (spare === undefined) throw new Error("the scene has too few spare items");
      return spare;
    },
  };
}

/** What a route must do for a token with a scope; it fails when the route does not. */
export type ScopeCase = (scene: Scene) => Promise<void>;

export const expectForbidden = (answer: Answer): void =>
  expectProblem(answer, { status: 403, code: "scope_forbidden" });

const expectReached = (answer: Answer, what: string): void => {
  expect([what, answer.status, answer.body?.code]).not.toEqual([what, 403, expect.anything()]);
  expect([what, answer.status]).not.toEqual([what, 404]);
};

/** A call about one item: refused for one out of scope and for one that is not there, not for one within. */
export const item =
  (method: string, path = "", sent: Sent = {}): ScopeCase =>
  async ({ scoped, outside, spare }) => {
    const ask = (number: number) => scoped.tryRepo(method, `/items/${number}${path}`, sent);
    expectForbidden(await ask(outside));
    expectForbidden(await ask(999_999));
    const number = spare();
    expectReached(await ask(number), `${method} ${number}${path}`);
  };

/** A call about one record: refused for one out of scope, also where that is an item; not for one within. */
export const record =
  (method: string, path = "", sent: Sent = {}): ScopeCase =>
  async ({ scoped, admin, outside, inside }) => {
    const ask = (address: string) => scoped.tryRepo(method, `/memory/${address}${path}`, sent);
    expectForbidden(await ask("notes/outside"));
    expectForbidden(await ask(`backlog/issue-${outside}`));
    // One of its own, for the call may end it.
    const mine = `notes/mine-${method}-${path.replaceAll("/", "-")}`;
    await admin.repo("PUT", `/memory/${mine}`, { body: { title: "x", links: { partOf: [keyOf(inside)] } } });
    expectReached(await ask(mine), `${method} ${mine}${path}`);
  };

/** A call over all repositories: not for a token with a scope, whatever it may do. */
export const unscoped =
  (method: string, path: string, sent: Sent = {}): ScopeCase =>
  async ({ scopedAdmin }) =>
    expectForbidden(await scopedAdmin.send(method, path, sent));

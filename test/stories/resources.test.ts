/** Resources outside the code (protocol 9): one item at a time has them, from its claim to its end. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { granted, readyNumbers, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let api: ApiClient;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
});
afterAll(() => world.end());

let keys = 0;
const newKey = (): string => {
  keys += 1;
  return `slot-${keys}`;
};

/** An item that needs these resources. */
async function needing(...wanted: string[]): Promise<number> {
  const number = repo.as("alice").openIssue({ title: `Needs ${wanted.join(" and ")}`, labels: ["backlog"] });
  await world.settled();
  stories.later();
  const tags = { add: wanted.map((key) => `resource:${key}`) };
  await api.repo("PATCH", `/items/${number}`, { body: { tags } });
  return number;
}

const advance = (number: number, trigger: string, body: object = {}, fence?: number) =>
  api.tryRepo("POST", `/items/${number}/advance`, {
    body: { trigger, ...body },
    ...(fence === undefined ? {} : { fence }),
  });

const intervals = async (key: string, more = "") => {
  const { body } = await api.send("GET", `/api/v1/resources/leases/history?key=${key}${more}`);
  return body.intervals as { holderItem: string; ended: string | null; endedBy: string | null }[];
};
const keyOf = (number: number) => `repo/${repo.fullName}/mem/backlog/issue-${number}`;

describe("an item that needs what another holds", () => {
  it("is refused, told to wait, and not told by whom", async () => {
    const key = newKey();
    const [holder, other] = [await needing(key), await needing(key)];
    const grant = await api.claim(holder, "worker/secret");
    expect(grant.resources).toEqual([{ key, mode: "exclusive", expiresAt: expect.any(String) }]);
    const refused = await api.claim(other, "worker/b");
    expect(refused).toEqual({
      granted: false,
      key: keyOf(other),
      reason: "resource_unavailable",
      blockers: [],
      errorKind: "transient",
      errorCode: "resource_unavailable",
      contendedResources: [key],
      retryAfterMs: expect.any(Number),
    });
    const { body } = await advance(other, "start");
    expect(body).toMatchObject({
      applied: false,
      role: "queue",
      errorKind: "transient",
      errorCode: "resource_unavailable",
      contendedResources: [key],
      retryAfterMs: expect.any(Number),
    });
    const said = JSON.stringify([refused, body]);
    expect(said).not.toContain("secret");
    expect(said).not.toContain(`issue-${holder}"`);
  });

  it("waits in the ready set and is stepped over; alone there, it is a candidate all the same", async () => {
    const key = newKey();
    const [holder, other] = [await needing(key), await needing(key)];
    const free = await needing(newKey());
    const { fencingToken } = await granted(api, holder, "worker/a");
    expect(await readyNumbers(api)).not.toContain(other);
    const { waiting } = await api.ready("?limit=100");
    expect(waiting.find((each: { number: number }) => each.number === other).reasons).toEqual([
      { reason: "resource_unavailable", resources: [key], detail: `another item holds ${key}` },
    ]);
    const next = await api.repo("POST", "/claim-next", { body: { owner: "worker/b" } });
    expect(next.number).toBe(free);
    await api.release(holder, fencingToken);
    expect(await readyNumbers(api)).toContain(other);
    const alone = await api.ready(`?limit=100&epic=${await epicOf(await needing(key), key)}`);
    expect(alone).toMatchObject({ verdict: "overlapping", ready: [] });
  });

  /** An epic whose only part needs what is held now. */
  async function epicOf(part: number, key: string): Promise<number> {
    const epic = repo.as("alice").openIssue({ title: "Epic", labels: ["backlog"] });
    await world.settled();
    const links = { add: { partOf: [`mem/backlog/issue-${epic}`] } };
    await api.repo("PATCH", `/items/${part}`, { body: { links } });
    await granted(api, await needing(key), "worker/c");
    return epic;
  }

  it("shows what it needs, and the holder that it holds", async () => {
    const key = newKey();
    const [holder, other] = [await needing(key), await needing(key)];
    await granted(api, holder, "worker/a");
    expect((await api.item(holder)).resourceLeases).toEqual([
      { key, mode: "exclusive", held: true, holderItem: keyOf(holder), expiresAt: expect.any(String) },
    ]);
    expect((await api.item(other)).resourceLeases).toEqual([
      { key, mode: "exclusive", held: false, holderItem: keyOf(holder), expiresAt: expect.any(String) },
    ]);
    await api.repo("PATCH", `/memory/backlog/issue-${holder}`, {
      fence: (await api.status(holder)).fencingToken,
      body: { tags: { remove: [`resource:${key}`] } },
    });
    expect((await api.item(holder)).resourceLeases[0]).toMatchObject({ key, mode: "advisory", held: true });
  });
});

describe("a resource is given back", () => {
  const EXITS: [string, string, (number: number, fence: number) => Promise<unknown>][] = [
    ["when its claim is released", "released", (number, fence) => api.release(number, fence)],
    [
      "when its item is parked",
      "parked",
      (number, fence) =>
        api.repo("POST", `/items/${number}/park`, {
          fence,
          body: { reason: "unclear", rulingOwner: "alice", question: "which?" },
        }),
    ],
    ["when its item is put on hold", "on_hold", (number, fence) => advance(number, "hold", {}, fence)],
    ["when its item is cancelled", "cancelled", (number, fence) => advance(number, "cancel", {}, fence)],
    [
      "when a human closes its issue",
      "completed",
      async (number) => repo.as("alice").close(number, "completed"),
    ],
    ["when its issue is deleted", "cancelled", async (number) => repo.as("alice").deleteIssue(number)],
  ];
  it.each(EXITS)("%s", async (_, how, exit) => {
    const key = newKey();
    const [holder, other] = [await needing(key), await needing(key)];
    const { fencingToken } = await granted(api, holder, "worker/a");
    stories.later();
    await exit(holder, fencingToken);
    await world.settled();
    await granted(api, other, "worker/b");
    expect((await intervals(key)).map(({ holderItem, ended }) => [holderItem, ended])).toEqual([
      [keyOf(other), null],
      [keyOf(holder), how],
    ]);
  });

  it("and taken again with resume, or not at all: then the hold stays", async () => {
    const key = newKey();
    const [first, second] = [await needing(key), await needing(key)];
    const { fencingToken } = await granted(api, first, "worker/a");
    await advance(first, "hold", {}, fencingToken);
    const { fencingToken: others } = await granted(api, second, "worker/b");
    const { body } = await advance(first, "resume");
    expect(body).toMatchObject({ applied: false, role: "blocked", errorCode: "resource_unavailable" });
    await api.release(second, others);
    expect((await advance(first, "resume")).body).toMatchObject({ applied: true, role: "work" });
  });
});

describe("work below a claimed epic", () => {
  it("takes what it needs when it starts, under the epic's token, and gives it back with it", async () => {
    const key = newKey();
    const [part, other] = [await needing(key), await needing(key)];
    const epic = await needing(newKey());
    await api.repo("PATCH", `/items/${part}`, {
      body: { links: { add: { partOf: [`mem/backlog/issue-${epic}`] } } },
    });
    const { fencingToken } = await granted(api, epic, "worker/epic", {
      scope: "subtree",
      leaseSeconds: 1000,
    });
    const stranger = await granted(api, other, "worker/b");
    expect((await advance(part, "start", {}, fencingToken)).body).toMatchObject({
      applied: false,
      errorCode: "resource_unavailable",
      contendedResources: [key],
    });
    await api.release(other, stranger.fencingToken);
    expect((await advance(part, "start", {}, fencingToken)).body).toMatchObject({
      applied: true,
      role: "work",
    });
    expect(await api.claim(other, "worker/b")).toMatchObject({ reason: "resource_unavailable" });
    await api.renew(epic, fencingToken, { leaseSeconds: 1800 });
    await api.release(epic, fencingToken);
    await granted(api, other, "worker/b");
    expect((await intervals(key)).map(({ ended }) => ended)).toEqual([null, "released", "released"]);
  });
});

describe("an admin", () => {
  const force = (key: string, query = "") => api.send("DELETE", `/api/v1/resources/leases/${key}${query}`);

  it("sees what is held, what was held when, and takes it away by force", async () => {
    const key = newKey();
    const [holder, other] = [await needing(key), await needing(key)];
    await granted(api, holder, "worker/a");
    const { body } = await api.send("GET", "/api/v1/resources/leases");
    expect(body.leases).toContainEqual({
      key,
      account: "acme",
      holderItem: keyOf(holder),
      acquiredAt: expect.any(String),
      expiresAt: expect.any(String),
    });
    const now = new Date(Date.now() + 3600_000).toISOString();
    expect(await intervals(key, `&at=${now}`)).toEqual([]);
    const forced = await force(key);
    expect(forced.body).toMatchObject({ key, ended: "forced", endedBy: "admin", holderItem: keyOf(holder) });
    expect((await force(key)).status).toBe(404);
    expect((await force(key, "?account=nobody")).body.code).toBe("not_found");
    await granted(api, other, "worker/b");
    // Whoever lost it goes on, and takes nothing away from the next by ending.
    await api.release(holder, (await api.status(holder)).fencingToken);
    expect((await intervals(key)).map(({ ended }) => ended)).toEqual([null, "forced"]);
  });

  it("is asked which account, when several use the key", async () => {
    const key = newKey();
    const other = world.github.repository("globex/app", { collaborators: { alice: "admin" } });
    await world.install(other);
    const there = api.with({ repo: "globex/app" });
    const number = other.as("alice").openIssue({ title: "There", labels: ["backlog"] });
    await world.settled();
    await there.repo("PATCH", `/items/${number}`, { body: { tags: { add: [`resource:${key}`] } } });
    await granted(api, await needing(key), "worker/a");
    await granted(there, number, "worker/b");
    const asked = await force(key);
    expect(asked).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect(asked.body.detail).toMatch(/acme.*globex|globex.*acme/);
    expect((await force(key, "?account=Globex")).body).toMatchObject({ ended: "forced", account: "globex" });
    expect((await force(key)).body).toMatchObject({ ended: "forced", account: "acme" });
  });
});

describe("a tag that names a resource by what is no key", () => {
  it.each(["resource:Staging Slot", "resource:", "resource:/db"])(
    "%s is refused, and may be taken off",
    async (tag) => {
      const number = repo.as("alice").openIssue({ title: "Odd", labels: ["backlog"] });
      await world.settled();
      for (const path of [`/items/${number}`, `/memory/backlog/issue-${number}`]) {
        const { status, body } = await api.tryRepo("PATCH", path, { body: { tags: { add: [tag] } } });
        expect([status, body.code]).toEqual([400, "validation_failed"]);
        expect(body.detail).toContain(`"${tag}"`);
      }
      const removed = await api.tryRepo("PATCH", `/items/${number}`, { body: { tags: { remove: [tag] } } });
      expect(removed.status).toBe(200);
      const proposed = await api.tryRepo("POST", "/items", { body: { title: "Odd too", tags: [tag] } });
      expect([proposed.status, proposed.body.code]).toEqual([400, "validation_failed"]);
    },
  );

  it("is nobody's business on a record that is no item", async () => {
    const { status } = await api.tryRepo("PUT", "/memory/notes/odd", {
      body: { title: "x", tags: ["resource:Any"] },
    });
    expect(status).toBe(201);
  });
});

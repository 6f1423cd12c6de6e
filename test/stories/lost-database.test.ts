/** A lost or restored database: the App's own markers on GitHub bring attempts back, and prove which tokens were issued. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { granted, OWN_BOT, type Stories, startStories } from "./support/stories.ts";

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

async function readyItem(where = repo): Promise<number> {
  const number = where.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  stories.later();
  return number;
}

const marker = (number: number, fence: number): string =>
  `<!-- backlog-worker: claim item=issue-${number} owner=worker/x region=local fence=${fence} at=2026-09-06T00:12:44Z -->`;

/** The installation is suspended and comes back: everything is read once more. */
async function backfilledAgain(owner: string): Promise<void> {
  world.github.suspend(owner);
  world.github.unsuspend(owner);
  await world.settled();
}

describe("after the database was lost", () => {
  it("the App's own markers bring the attempts back, and the next token is above them all", async () => {
    const other = await world.repository("lost/database");
    const there = api.with({ repo: "lost/database" });
    const number = await readyItem(other);
    const tokens = [];
    for (const owner of ["worker/a", "worker/b"]) {
      const { fencingToken } = await granted(there, number, owner);
      await there.release(number, fencingToken);
      tokens.push(fencingToken);
    }
    await world.settled();
    // With the comments: a marker is counted in the transaction that mirrors its comment, so that both are lost together.
    for (const table of ["claim", "claim_grant", "claim_marker", "issue_comment", "outbox"] as const) {
      await world.db.deleteFrom(table).where("repository_id", "=", other.id).execute();
    }
    await world.app.deps.database.pool.query("select setval('fence', 1, false)");
    expect((await there.item(number)).attempts).toMatchObject({ grants: 0, markers: 0 });

    await backfilledAgain("lost");
    expect((await there.item(number)).attempts).toMatchObject({ grants: 0, markers: 2 });
    const next = await granted(there, number, "worker/c");
    expect(next.attempt).toBe(3);
    expect(next.fencingToken).toBeGreaterThan(Math.max(...tokens));
  });

  /** A token that the sequence has not reached. */
  async function ahead(): Promise<number> {
    const { rows } = await world.app.deps.database.pool.query("select issued_fence() + 1000000 as fence");
    return rows[0].fence;
  }

  /** The next token, and what the log says of raises since. */
  async function nextToken(): Promise<{ token: number; raises: unknown[] }> {
    const { fencingToken } = await granted(api, await readyItem(), "worker/x");
    return { token: fencingToken, raises: raises() };
  }
  const raises = () =>
    world.logged.lines.filter(({ msg }) => msg === "fencing tokens were raised").map(({ detail }) => detail);

  it("a marker of ours that is ahead raises the tokens as soon as it is heard of", async () => {
    const number = await readyItem();
    const fence = await ahead();
    const before = raises().length;
    repo.as(OWN_BOT).comment(number, marker(number, fence));
    const next = await nextToken();
    expect(next.token).toBeGreaterThan(Math.max(fence, Date.now()));
    const why = new RegExp(`^above ${next.token - 1}: the App's own marker on #${number} carries ${fence}$`);
    expect(next.raises.slice(before)).toEqual([expect.stringMatching(why)]);
  });

  it("so does an outcome of ours: its claim was granted", async () => {
    const number = await readyItem();
    const fence = await ahead();
    const outcome = `<!-- backlog-worker: outcome item=issue-${number} owner=worker/x fence=${fence} result=released -->`;
    repo.as(OWN_BOT).comment(number, outcome);
    expect((await nextToken()).token).toBeGreaterThan(fence);
  });

  it("so does one that is found on a closed issue while everything is read again", async () => {
    const other = await world.repository("lost/closed");
    const number = await readyItem(other);
    const fence = await ahead();
    world.github.silently(() => {
      other.as(OWN_BOT).comment(number, marker(number, fence));
      stories.later();
      other.as("alice").close(number);
    });
    await world.db.deleteFrom("issue").where("repository_id", "=", other.id).execute();
    await backfilledAgain("lost");
    expect((await nextToken()).token).toBeGreaterThan(fence);
  });

  it("a marker of ours that was edited into a comment raises nothing", async () => {
    const other = await world.repository("lost/edited");
    const number = await readyItem(other);
    const fence = await ahead();
    const before = raises().length;
    world.github.silently(() => {
      const id = other.as(OWN_BOT).comment(number, "Hello");
      stories.later();
      other.as("alice").editComment(id, marker(number, fence));
    });
    await backfilledAgain("lost");
    const next = await nextToken();
    expect(next.token).toBeLessThan(fence);
    expect(next.raises).toHaveLength(before);
  });

  it("a marker of anybody else's raises nothing", async () => {
    const [number, other] = [await readyItem(), await readyItem()];
    const before = (await granted(api, number, "worker/x")).fencingToken;
    repo.as("alice").comment(number, marker(number, before + 1_000_000));
    await world.settled();
    expect((await granted(api, other, "worker/x")).fencingToken).toBeLessThan(before + 1000);
  });
});

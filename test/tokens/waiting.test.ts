/** A token that ends cuts what waits for it: its caller leaves the line, and those behind move up. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { Answer } from "../harness/api-client.ts";
import { type MadeToken, makeToken } from "../harness/tokens.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "../http/support/expect-problem.ts";

let world: World;
let repo: FakeRepository;
beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

/** An item that the admin holds. */
async function held(): Promise<{ number: number; fence: number }> {
  const number = repo.as("alice").openIssue({ title: "work", labels: ["backlog"] });
  await world.settled();
  const { fencingToken } = await world.api.claim(number, "w/first", { leaseSeconds: 1800 });
  return { number, fence: fencingToken };
}

const depthOf = async (number: number): Promise<number> => (await world.api.status(number)).queueDepth;

/** Gets in line, and answers what comes. */
async function waiting({ api }: MadeToken, number: number): Promise<{ answered: Promise<Answer> }> {
  const before = await depthOf(number);
  const body = { owner: "w/waits", maxWaitSeconds: 60 };
  const answered = api.tryRepo("POST", `/items/${number}/claim`, { body });
  await waitFor("the caller to be in line", async () =>
    (await depthOf(number)) === before + 1 ? null : `depth ${await depthOf(number)}`,
  );
  return { answered };
}

describe("a caller that waits in line", () => {
  it("is cut off when its token is revoked; who waits behind it is served", async () => {
    const { number, fence } = await held();
    const [ends, stays] = [await makeToken(world.api), await makeToken(world.api)];
    const first = await waiting(ends, number);
    const second = await waiting(stays, number);
    await world.api.send("DELETE", `/api/v1/tokens/${ends.id}`);
    expectProblem(await first.answered, { status: 401, code: "unauthenticated" });
    expect(await depthOf(number)).toBe(1);
    await world.api.release(number, fence);
    expect((await second.answered).body).toMatchObject({ granted: true, owner: "w/waits" });
  });

  it("is cut off when its token expires, by the database's clock", async () => {
    const { number } = await held();
    const { rows } = await world.app.deps.database.pool.query(
      "select db_now() + interval '100 seconds' as at",
    );
    const { answered } = await waiting(
      await makeToken(world.api, { expiresAt: rows[0].at.toISOString() }),
      number,
    );
    await world.pass(101);
    expectProblem(await answered, { status: 401, code: "unauthenticated" });
    expect(await depthOf(number)).toBe(0);
  });

  it("is cut off on the other replica too, also when the notification is lost", async () => {
    const replica = await world.secondReplica();
    try {
      const { number } = await held();
      const token = await makeToken(world.api);
      const there = { ...token, api: replica.api.with({ token: token.token }) };
      const { answered } = await waiting(there, number);
      // As if the database's word had not come: nothing but the row changes.
      await world.app.deps.database.pool.query(
        `begin; set local session_replication_role = replica;
         update api_token set revoked_at = db_now() where id = '${token.id}'; commit`,
      );
      expectProblem(await answered, { status: 401, code: "unauthenticated" });
    } finally {
      await replica.stop();
    }
  });
});

describe("what is open for a token", () => {
  it("is told once, whoever asks; the bootstrap token never ends", async () => {
    const { watch, callers } = world.app.deps;
    const token = await makeToken(world.api);
    const caller = { ...ADMIN_LIKE, actor: token.actor };
    const signal = watch.onEnd(caller);
    expect(watch.onEnd(caller)).toBe(signal);
    await world.api.send("DELETE", `/api/v1/tokens/${token.id}`);
    await waitFor("the end to be told", async () => (signal.aborted ? null : "not yet"));
    const after = watch.onEnd(caller);
    await watch.look();
    expect(after.aborted).toBe(true);
    const never = watch.onEnd(ADMIN_LIKE);
    await watch.look();
    expect(never.aborted).toBe(false);
    callers.forget();
  });
});

const ADMIN_LIKE = {
  actor: "admin",
  capabilities: new Set<never>(),
  repositories: null,
  scope: null,
  expiresAt: null,
};

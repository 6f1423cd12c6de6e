/** Group commit: who shares one, who is answered when, and that one that fails takes nobody along. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deliveryReceiver, type IncomingDelivery } from "../../src/services/receive-delivery.ts";
import { SharedCommit } from "../../src/services/shared-commit.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

/** Commits that end when the test says so. */
function byHand(most = { count: 3, weight: 100 }) {
  const begun: { all: readonly string[]; end(): void; fail(error: Error): void }[] = [];
  const commits = new SharedCommit<string, string>({
    run: (all) =>
      new Promise((resolve, reject) => {
        begun.push({ all, end: () => resolve(all.map((one) => `${one} done`)), fail: reject });
      }),
    weigh: (one) => one.length,
    isOfOne: (error) => error instanceof RangeError,
    most,
  });
  return { commits, begun };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a shared commit", () => {
  it("is of all that came while the one before was under way, in order, and nobody is answered before it ends", async () => {
    const { commits, begun } = byHand();
    const answered: string[] = [];
    const add = (one: string) => void commits.add(one).then((out) => answered.push(out));
    add("a");
    await turn();
    add("b");
    add("c");
    await turn();
    expect(begun.map(({ all }) => all)).toEqual([["a"]]);
    expect(answered).toEqual([]);
    begun[0]?.end();
    await turn();
    expect(answered).toEqual(["a done"]);
    expect(begun.map(({ all }) => all)).toEqual([["a"], ["b", "c"]]);
    begun[1]?.end();
    await turn();
    expect(answered).toEqual(["a done", "b done", "c done"]);
  });

  it("is of no more than so many, and of no more than so much, but of one at least", async () => {
    const { commits, begun } = byHand({ count: 3, weight: 10 });
    for (const one of ["a", "b", "c", "d", "x".repeat(8), "y".repeat(8), "z".repeat(50)])
      void commits.add(one);
    for (let place = 0; place < 5; place += 1) {
      await turn();
      begun[place]?.end();
    }
    expect(begun.map(({ all }) => all.map(([letter]) => letter).join(""))).toEqual(["abc", "dx", "y", "z"]);
  });

  it("that fails for one of them is made again, of each alone", async () => {
    const { commits, begun } = byHand();
    const answers = Promise.allSettled(["a", "bad", "c"].map((one) => commits.add(one)));
    await turn();
    begun[0]?.fail(new RangeError("bad"));
    for (const [place, one] of ["a", "bad", "c"].entries()) {
      await turn();
      expect(begun[place + 1]?.all).toEqual([one]);
      if (one === "bad") begun[place + 1]?.fail(new RangeError("bad"));
      else begun[place + 1]?.end();
    }
    expect((await answers).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("that fails for another reason fails for all, and the next is made all the same", async () => {
    const { commits, begun } = byHand();
    const answers = Promise.allSettled(["a", "b"].map((one) => commits.add(one)));
    await turn();
    begun[0]?.fail(new Error("PostgreSQL is away"));
    expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    const next = commits.add("c");
    await turn();
    begun[1]?.end();
    expect(await next).toBe("c done");
  });
});

describe("deliveries that come at once", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  const incoming = (deliveryId: string, body: object): IncomingDelivery => ({
    hookId: "1",
    deliveryId,
    event: "issues",
    body: JSON.stringify(body),
  });

  /** All at once; answers what became of each, and in how many transactions the inbox has them. */
  async function receiveAll(deliveries: readonly IncomingDelivery[]) {
    const wake = { inbox: () => {}, outbox: () => {}, checks: () => {}, pulls: () => {}, anchors: () => {} };
    const receive = deliveryReceiver({ db: database.db, wake: { ...wake, backfill: () => {} } });
    const answers = await Promise.all(deliveries.map(receive));
    const { rows } = await database.pool.query<{ delivery_id: string; xmin: string }>(
      "select delivery_id, xmin::text from inbox order by seq",
    );
    return { answers, rows };
  }

  it("share a commit, in their order; under one id the first is stored and the others are repeated", async () => {
    const ids = ["a", "b", "a", "c", "b"];
    const { answers, rows } = await receiveAll(ids.map((id) => incoming(id, { action: "opened" })));
    expect(answers).toEqual(["stored", "stored", "repeated", "stored", "repeated"]);
    expect(rows.map(({ delivery_id }) => delivery_id)).toEqual(["a", "b", "c"]);
    expect(new Set(rows.map(({ xmin }) => xmin)).size).toBe(1);
  });

  it("are tried anew where their processing had failed, each once", async () => {
    await database.pool.query(
      "update inbox set state = 'failed', attempts = 14 where delivery_id in ('a', 'c')",
    );
    const { answers } = await receiveAll(
      ["a", "b", "a", "d"].map((id) => incoming(id, { action: "opened" })),
    );
    expect(answers).toEqual(["retried", "repeated", "repeated", "stored"]);
  });

  it("do not wait for one of them that is being worked on", async () => {
    const busy = await database.pool.connect();
    await busy.query("begin");
    await busy.query("select 1 from inbox where delivery_id = 'a' for update");
    const { answers } = await receiveAll(["a", "e"].map((id) => incoming(id, { action: "opened" })));
    expect(answers).toEqual(["repeated", "stored"]);
    await busy.query("rollback");
    busy.release();
  });
});

/** Waiting in line for a claim (issue on claims): first in, first out over all replicas. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";

let world: World;
let api: ApiClient;
let count = 0;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
  api = world.api;
});
afterAll(() => world.end());

const claim = (path: string, owner: string, more: object = {}, client = api) =>
  client.repo("POST", `${path}/claim`, { body: { owner, ...more } });
const release = (path: string, fencingToken: number, client = api) =>
  client.repo("POST", `${path}/claim/release`, { body: { fencingToken } });

async function record(): Promise<string> {
  count += 1;
  const path = `/memory/notes/n${count}`;
  await api.repo("PUT", path, { body: { title: `note ${count}` } });
  return path;
}

const depth = (path: string, wanted: number) =>
  waitFor(`${wanted} in line`, async () => {
    const { queueDepth } = await api.repo("GET", `${path}/claim`);
    return queueDepth === wanted ? null : `there are ${queueDepth}`;
  });

describe("the line", () => {
  it("serves those who wait in the order in which they came, over two replicas", async () => {
    const other = await world.secondReplica();
    const path = await record();
    let { fencingToken } = await claim(path, "w/0", { leaseSeconds: 600 });
    const order: string[] = [];
    const waiting = [];
    for (const [index, client] of [api, other.api, api, other.api].entries()) {
      const owner = `w/${index + 1}`;
      waiting.push(
        claim(path, owner, { leaseSeconds: 600, maxWaitSeconds: 30 }, client).then((answer) => {
          order.push(owner);
          return answer;
        }),
      );
      await depth(path, index + 1);
    }
    for (const promised of waiting) {
      await release(path, fencingToken);
      const answer = await promised;
      expect(answer.granted).toBe(true);
      expect(answer.fencingToken).toBeGreaterThan(fencingToken);
      fencingToken = answer.fencingToken;
    }
    expect(order).toEqual(["w/1", "w/2", "w/3", "w/4"]);
    await other.stop();
  });

  it("does not let a caller who does not wait overtake one who does", async () => {
    const path = await record();
    const first = await claim(path, "w/a", { leaseSeconds: 600 });
    const waiting = claim(path, "w/b", { leaseSeconds: 600, maxWaitSeconds: 30 });
    await depth(path, 1);
    const [, hasty] = await Promise.all([release(path, first.fencingToken), claim(path, "w/c")]);
    expect(hasty).toMatchObject({ granted: false, reason: "contended" });
    expect((await waiting).granted).toBe(true);
  });

  it("answers timeout after waiting in vain, and leaves the line", async () => {
    const path = await record();
    await claim(path, "w/a", { leaseSeconds: 600 });
    expect(await claim(path, "w/b", { maxWaitSeconds: 1 })).toMatchObject({
      granted: false,
      reason: "timeout",
    });
    await depth(path, 0);
  });

  it("serves the next when the lease runs out", async () => {
    const path = await record();
    await claim(path, "w/a", { leaseSeconds: 1 });
    const answer = await claim(path, "w/b", { maxWaitSeconds: 10 });
    expect(answer).toMatchObject({ granted: true, previous: { owner: "w/a", lapsed: true } });
  });

  it("lets a waiter whose connection is gone leave the line", async () => {
    const path = await record();
    const first = await claim(path, "w/a", { leaseSeconds: 600 });
    const hungUp = new AbortController();
    const gone = fetch(`${world.app.address}/api/v1/repos/acme/widgets${path}/claim`, {
      method: "POST",
      headers: { authorization: `Bearer lh_test_admin_token_0123456789`, "content-type": "application/json" },
      body: JSON.stringify({ owner: "w/b", maxWaitSeconds: 30 }),
      signal: hungUp.signal,
    }).catch(() => null);
    await depth(path, 1);
    const patient = claim(path, "w/c", { maxWaitSeconds: 30 });
    await depth(path, 2);
    hungUp.abort();
    await gone;
    await depth(path, 1);
    await release(path, first.fencingToken);
    expect(await patient).toMatchObject({ granted: true, attempt: 2 });
  });

  it("gives up a place that nobody waits for any more, because leaving it was cut off", async () => {
    const path = await record();
    const { deps } = world.app;
    await deps.database.pool.query(
      `insert into claim_waiter (repository_id, topic, id, replica, scope, queued_at)
       select repository_id, topic, id, $1, 'item', now() - interval '10 seconds' from record where 'memory/' || topic || '/' || id = $2`,
      [deps.replica, path.slice(1)],
    );
    expect(await claim(path, "w/a")).toMatchObject({ granted: false, reason: "contended" });
    await depth(path, 0);
    expect((await claim(path, "w/a")).granted).toBe(true);
  });
});

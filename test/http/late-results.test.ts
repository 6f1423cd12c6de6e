/** A result that comes too late is refused, and kept aside: nothing that was finished is lost. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
});
afterAll(() => world.end());

let records = 0;
/** A record whose first holder was superseded: its path, and the old and the new token. */
async function superseded(): Promise<{ path: string; key: string; stale: number; current: number }> {
  const path = `/memory/work/late-${++records}`;
  await world.api.repo("PUT", path, { body: { title: "Work", body: "as it was" } });
  const { fencingToken: stale } = await world.api.repo("POST", `${path}/claim`, { body: { owner: "slow" } });
  await world.pass(31);
  const { fencingToken: current } = await world.api.repo("POST", `${path}/claim`, {
    body: { owner: "quick" },
  });
  return { path, key: `repo/acme/widgets/mem/work/late-${records}`, stale, current };
}

const recall = (key: string) => world.api.repo("GET", `/memory/${key.split("/mem/")[1]}`);

describe("a write that comes too late", () => {
  it.each(["PUT", "PATCH"])(
    "by %s is refused, and what it brings is kept where the refusal says",
    async (method) => {
      const { path, key, stale } = await superseded();
      const answer = await world.api.tryRepo(method, path, {
        fence: stale,
        body: { body: "The whole result" },
      });
      expectProblem(answer, { status: 409, code: "stale_token" });
      expect(answer.body.detail).toContain(answer.body.lateResult);
      const kept = await recall(answer.body.lateResult);
      expect(kept).toMatchObject({
        exists: true,
        topic: "late-results",
        kind: "Report",
        author: "slow",
        expiresAt: null,
        links: { related: [key] },
      });
      expect(kept.body).toContain("The whole result");
      expect(kept.body).toContain(`fencing token ${stale}`);
    },
  );

  it("is not applied", async () => {
    const { path, stale } = await superseded();
    await world.api.tryRepo("PATCH", path, { fence: stale, body: { body: "The whole result" } });
    expect((await world.api.repo("GET", path)).body).toBe("as it was");
  });

  it("after a release is kept too", async () => {
    const { path, current } = await superseded();
    await world.api.repo("POST", `${path}/claim/release`, { body: { fencingToken: current } });
    const answer = await world.api.tryRepo("PATCH", path, {
      fence: current,
      body: { body: "One more thing" },
    });
    expectProblem(answer, { status: 409, code: "claim_released" });
    expect(await recall(answer.body.lateResult)).toMatchObject({ author: "quick" });
  });

  it("is kept with everything that it said, word for word", async () => {
    const { path, stale } = await superseded();
    const request = { title: "Done", body: "```\ncode\n```", tags: { add: ["x"] } };
    const answer = await world.api.tryRepo("PATCH", path, { fence: stale, body: request });
    const kept = await recall(answer.body.lateResult);
    const json = /\n```json\n([\s\S]*)\n```$/.exec(kept.body)?.[1] ?? "";
    expect(JSON.parse(json)).toEqual(request);
  });

  it("and is sent again is kept once; another result under the same token beside it", async () => {
    const { path, stale } = await superseded();
    const late = async (body: string) =>
      (await world.api.tryRepo("PATCH", path, { fence: stale, body: { body } })).body.lateResult;
    const first = await late("one");
    expect(await late("one")).toBe(first);
    expect(await late("two")).not.toBe(first);
  });

  it("but brings no result is only refused", async () => {
    const { path, stale } = await superseded();
    for (const body of [{ title: "T" }, { body: "" }, { body: null }]) {
      const answer = await world.api.tryRepo("PATCH", path, { fence: stale, body });
      expectProblem(answer, { status: 409, code: "stale_token" });
      expect(answer.body).not.toHaveProperty("lateResult");
    }
  });

  it("under a token that was never granted is not kept: it is no late result", async () => {
    const { path, current } = await superseded();
    const answer = await world.api.tryRepo("PATCH", path, {
      fence: current + 1000,
      body: { body: "forged" },
    });
    expectProblem(answer, { status: 409, code: "unissued_token" });
    expect(answer.body).not.toHaveProperty("lateResult");
  });

  it("under an idempotency key is kept once, and refused again", async () => {
    const { path, stale } = await superseded();
    const headers = { "idempotency-key": "7f8a3c1e-0000-4000-8000-000000000001" };
    const send = () => world.api.tryRepo("PATCH", path, { fence: stale, body: { body: "late" }, headers });
    const first = await send();
    expect(first.body).toHaveProperty("lateResult");
    expect((await send()).body).toEqual(first.body);
  });
});

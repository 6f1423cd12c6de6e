/** Health: two words for anybody, the whole picture with a token, and what is wrong in words. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;

beforeAll(async () => {
  world = await World.start();
  await world.repository();
});
afterAll(() => world.end());

const short = (headers: Record<string, string> = {}) =>
  world.api.send("GET", "/health", { token: null, headers });
const long = async () => (await world.api.send("GET", "/health")).body;

describe("health", () => {
  it("without a token says only whether all is well, and the version", async () => {
    const answer = await short();
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: "ok", version: "test" });
  });

  it("with a token says all there is", async () => {
    expect(await long()).toEqual({
      status: "ok",
      version: "test",
      database: "ok",
      migrations: { applied: expect.stringMatching(/^\d{4}_/), pending: 0 },
      inbox: { pending: 0, oldestSeconds: null, failed: 0, failures: [] },
      outbox: { pending: 0, held: 0, oldestSeconds: null, failed: 0 },
      github: "connected",
      repos: [{ repo: "acme/widgets", mirrorAgeSeconds: expect.any(Number), config: [] }],
      problems: [],
    });
  });

  it("with a wrong token says nothing", async () => {
    const answer = await world.api.send("GET", "/health", { token: "lh_wrong" });
    expectProblem(answer, { status: 401, code: "unauthenticated" });
  });

  it("does not ask GitHub for every stranger who asks", async () => {
    await short();
    const before = world.github.requestsTo("GET", "/app").length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => short()));
    for (const { body } of answers) expect(body).toEqual({ status: "ok", version: "test" });
    expect(world.github.requestsTo("GET", "/app").length).toBe(before);
  });

  it("is degraded while a delivery has failed, and tells strangers nothing of it", async () => {
    world.expectError(/not the documented form|not of the form/);
    const payload = { action: "opened", issue: { number: 1, title: ["not", "a", "title"] } };
    await world.github.deliver({ event: "issues", payload, guid: "broken-1" });
    await world.settled();
    expect(await long()).toMatchObject({
      status: "degraded",
      inbox: {
        pending: 0,
        failed: 1,
        failures: [
          {
            deliveryId: "broken-1",
            event: "issues",
            error: expect.stringContaining("issue.title"),
            failedAt: expect.stringMatching(/^\d{4}-.*Z$/),
          },
        ],
      },
      problems: [expect.stringContaining("1 deliveries failed")],
    });
    const { body } = await short();
    expect(Object.keys(body).sort()).toEqual(["status", "version"]);
  });

  it("is degraded when a delivery waits for too long", async () => {
    await world.db.deleteFrom("inbox").where("state", "=", "failed").execute();
    const lane = { repository_id: 0, hook_id: "1", event: "push", lane: "elsewhere", payload: "{}" };
    await world.db
      .insertInto("inbox")
      .values({ ...lane, delivery_id: "stuck", locked_until: new Date("2999-01-01") })
      .execute();
    expect(await long()).toMatchObject({ status: "ok", inbox: { pending: 1 } });
    await world.pass(301);
    const { status, inbox, problems } = await long();
    expect(status).toBe("degraded");
    expect(inbox.oldestSeconds).toBeGreaterThanOrEqual(301);
    expect(problems).toEqual([expect.stringMatching(/a delivery waits for \d+ s/)]);
    expect((await short()).body).toEqual({ status: "degraded", version: "test" });
    await world.db.deleteFrom("inbox").where("delivery_id", "=", "stuck").execute();
  });
});

describe("when GitHub does not answer the App", () => {
  it.each([
    ["refuses", { kind: "status", status: 500 }, /GitHub does not answer the App: .*500/],
    ["hangs", { kind: "hang" }, /GitHub does not answer the App: no answer within 2000 ms/],
  ] as const)(
    "%s: health is degraded, says so, and does not hang itself",
    async (_, fault, problem) => {
      const away = await World.start();
      // Others ask it too, when the program starts.
      away.github.fault({ path: "/app", times: 100, ...fault });
      const { body } = await away.api.send("GET", "/health");
      expect(body).toMatchObject({
        status: "degraded",
        database: "ok",
        github: "unreachable",
        problems: expect.arrayContaining([expect.stringMatching(problem)]),
      });
      away.github.clearFaults();
      await away.end();
    },
    // GitHub's own time limit is longer.
    10_000,
  );
});

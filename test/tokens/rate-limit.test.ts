/** A token that sends too much is told to wait; others are served, and so is the operator. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { makeToken } from "../harness/tokens.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "../http/support/expect-problem.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ unconfigured: true, config: { requestsPerSecond: 5 } });
});
afterAll(() => world.end());

it("the sixth request of a second is refused, with when to come back, and then it is served again", async () => {
  const { api } = await makeToken(world.api);
  const other = await makeToken(world.api);
  const answers = await Promise.all(Array.from({ length: 20 }, () => api.send("GET", "/api/v1/repos")));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(5);
  for (const answer of refused) {
    expectProblem(answer, { status: 429, code: "rate_limited" });
    expect(answer.body.retryAfterMs).toBeGreaterThan(0);
    expect(answer.body.retryAfterMs).toBeLessThanOrEqual(1000);
    expect(answer.headers.get("retry-after")).toBe("1");
  }
  expect((await other.api.send("GET", "/api/v1/repos")).status).toBe(200);
  expect((await world.api.send("GET", "/api/v1/repos")).status).toBe(200);
  const wait = Math.max(...refused.map(({ body }) => body.retryAfterMs));
  await new Promise((resolve) => setTimeout(resolve, wait + 50));
  expect((await api.send("GET", "/api/v1/repos")).status).toBe(200);
});

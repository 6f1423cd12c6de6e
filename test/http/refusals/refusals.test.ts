/**
 * Every refusal that the document promises comes about, once at least, and none comes that it does not promise. A route
 * with a refusal that nobody can provoke fails, and so does one without a line in `calls.ts`.
 */

import { afterAll, beforeAll, expect, it } from "vitest";
import { expectProblem } from "../support/expect-problem.ts";
import { CALLS, type Call } from "./calls.ts";
import { type Operation, operationsOf } from "./document.ts";
import { RECIPES, send } from "./recipes.ts";
import { Scene } from "./scene.ts";

let scene: Scene;
let operations: Operation[];

beforeAll(async () => {
  scene = await Scene.set();
  operations = operationsOf((await scene.api.send("GET", "/openapi.json", { token: null })).body);
}, 180_000);
afterAll(() => scene.end());

it("each operation has its call, and each call an operation", () => {
  expect(Object.keys(CALLS).sort()).toEqual(operations.map(({ id }) => id).sort());
});

it("what is promised comes, and nothing else", async () => {
  const faults: string[] = [];
  for (const operation of operations) {
    const call = CALLS[operation.id] ?? {};
    for (const { code, status } of operation.refusals) {
      const fault = await provoke(operation, call, code, status).catch((error: Error) => error.message);
      if (fault !== null) faults.push(`${operation.id} ${status} ${code}: ${fault}`);
    }
  }
  expect(faults).toEqual([]);
  const promised = operations.flatMap(({ refusals }) => refusals);
  expect(promised.length).toBeGreaterThan(200);
}, 600_000);

/** What is wrong; null: it was refused just so. */
async function provoke(
  operation: Operation,
  call: Call,
  code: string,
  status: number,
): Promise<string | null> {
  const own = call.refusals?.[code];
  const general = RECIPES[code];
  if (!own && !general) return "nobody knows how this comes about: add it to calls.ts or recipes.ts";
  const asked = own ? await own(scene) : await general?.(scene, operation, call);
  const answer = await send(scene, operation, call, asked ?? {});
  if (answer.status === status && answer.body?.code === code) {
    expectProblem(answer, { status, code });
    return null;
  }
  const known = operation.refusals.some(
    (refusal) => refusal.status === answer.status && refusal.code === answer.body?.code,
  );
  const what = `${answer.status} ${JSON.stringify(answer.body)?.slice(0, 300)}`;
  return known || answer.status < 400
    ? `answered ${what}`
    : `answered what the document does not promise: ${what}`;
}

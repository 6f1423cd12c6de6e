/** How refusals come about that many operations have. */

import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Sent } from "../../harness/api-client.ts";
import { type Asked, type Call, NOWHERE } from "./calls.ts";
import type { Operation } from "./document.ts";
import type { Scene, Target } from "./scene.ts";

/** What a call is about: a fresh item, a fresh record, or what its line says. */
export async function targetOf(scene: Scene, { path }: Operation, call: Call): Promise<Target> {
  if (call.on) return call.on(scene);
  if (path.includes("{number}")) return { number: scene.item() };
  if (path.includes("{id}")) return { ...(await scene.record()) };
  return path.includes("{topic}") ? { topic: "notes" } : {};
}

type Recipe = (scene: Scene, operation: Operation, call: Call) => Asked | Promise<Asked>;

export const RECIPES: Readonly<Record<string, Recipe>> = {
  unauthenticated: () => ({ token: null }),
  validation_failed: (_, { path }) =>
    path.includes("{owner}")
      ? { on: { owner: "no%20name" } }
      : { query: "colour=red", body: { colour: "red" } },
  not_found: (_, { path }) => (path.includes("{owner}") ? { on: NOWHERE } : {}),
  payload_too_large: () => ({ raw: JSON.stringify({ title: "x".repeat(9 * 1024 * 1024) }) }),
  unsupported_media_type: () => ({ raw: "x", headers: { "content-type": "text/plain" } }),
  unavailable: () => ({ server: "away" }),
  conflict: () => ({ server: "moved" }),
  idempotency_mismatch: async (scene, operation, call) => {
    const headers = { "idempotency-key": randomUUID() };
    const first = await send(scene, operation, call, { headers });
    if (first.status >= 300)
      throw new Error(`${operation.id}: the first call must succeed: ${JSON.stringify(first)}`);
    return { headers };
  },
  claim_required: async (scene, operation) => ({ on: (await claimed(scene, operation)).on }),
  unissued_token: async (scene, operation) => {
    const { on, token } = await claimed(scene, operation);
    return { on, fence: token + 1_000_000 };
  },
  claim_released: async (scene, operation) => {
    const { on, at, token } = await claimed(scene, operation);
    await scene.api.repo("POST", `${at}/claim/release`, { body: { fencingToken: token } });
    return { on, fence: token };
  },
  stale_token: async (scene, operation) => {
    const { on, at, token } = await claimed(scene, operation);
    await scene.api.repo("POST", `${at}/claim/release`, { body: { fencingToken: token } });
    await scene.api.repo("POST", `${at}/claim`, { body: { owner: "w/2" } });
    return { on, fence: token };
  },
  not_holder: async (scene, operation) => {
    const other = await scene.token();
    const { on, token } = await claimed(scene, operation, { token: other.token });
    return {
      on,
      fence: token,
      ...(/\/claim\//.test(operation.path) ? { body: { fencingToken: token } } : {}),
    };
  },
  foreign_region: async (scene, operation) => {
    const { on, token } = await claimed(scene, operation);
    await sql`update claim set region = 'elsewhere' where fence = ${token}`.execute(scene.world.db);
    return { on, fence: token };
  },
};

/** A fresh target that is claimed. Of a call that is about no record, the item that stands in its body. */
async function claimed(scene: Scene, { path }: Operation, sent: Sent = {}) {
  const on: Target =
    path.includes("{topic}") && path.includes("{id}")
      ? { ...(await scene.record()) }
      : { number: scene.item() };
  const at = "number" in on ? `/items/${on.number}` : `/memory/${on.topic}/${on.id}`;
  const grant = await scene.api.repo("POST", `${at}/claim`, {
    ...sent,
    body: { owner: "w", leaseSeconds: 900 },
  });
  if (!grant.granted) throw new Error(`${at} was not granted: ${JSON.stringify(grant)}`);
  return { on, at, token: grant.fencingToken as number };
}

/** Sends the operation's own call, with what is asked otherwise. */
export async function send(scene: Scene, operation: Operation, call: Call, asked: Asked) {
  const { on: other, query = call.query, server = "running", ...sent } = asked;
  const isWhole = other !== undefined && !("owner" in other);
  const on: Target = {
    owner: "acme",
    repo: "widgets",
    ...(isWhole ? {} : await targetOf(scene, operation, call)),
    ...other,
  };
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(on[name]));
  const body = sent.raw === undefined && call.body ? { body: call.body(scene, on) } : {};
  return scene.send(server, operation.method, query ? `${path}?${query}` : path, {
    ...(operation.hasBody ? body : {}),
    ...(operation.hasBody ? sent : without(sent, "body")),
  });
}

const without = ({ body: _, ...sent }: Sent, _name: "body"): Sent => sent;

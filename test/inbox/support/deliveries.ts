/** Deliveries in the making: what GitHub would send, kept back, changed, and sent by hand. */

import { createHmac } from "node:crypto";
import { request } from "node:http";
import type { FakeGitHub } from "../../fake-github/fake-github.ts";
import type { Answer } from "../../harness/api-client.ts";
import { waitFor } from "../../harness/wait-for.ts";
import type { World } from "../../harness/world.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests change payloads of every shape
export type Payload = any;

export interface Kept {
  readonly event: string;
  readonly action: string | null;
  readonly guid: string;
  readonly payload: Payload;
}

/** The deliveries that a change causes. They are not sent: the network ate them. */
export function keepBack(github: FakeGitHub, change: () => void): Kept[] {
  github.hold();
  change();
  const lost = github.drop();
  github.release();
  return lost.map(({ event, action, guid, payload }) => ({
    event,
    action,
    guid,
    payload: JSON.parse(payload) as Payload,
  }));
}

/** The one delivery of that name among those that a change causes. */
export function keepBackOne(github: FakeGitHub, name: string, change: () => void): Kept {
  const kept = keepBack(github, change);
  const found = kept.find(({ event, action }) => `${event}.${action}` === name);
  if (!found) throw new Error(`no ${name} among ${kept.map(({ event, action }) => `${event}.${action}`)}`);
  return found;
}

/** A payload with values changed by their path; `undefined` takes a field away. */
export function withValues(payload: Payload, values: Record<string, unknown>): Payload {
  const copy: Payload = structuredClone(payload);
  for (const [path, value] of Object.entries(values)) {
    const steps = path.split(".");
    const last = steps.pop() ?? "";
    let at = copy;
    for (const step of steps) at = at[step];
    if (value === undefined) delete at[last];
    else at[last] = value;
  }
  return copy;
}

export const sign = (body: string | Uint8Array, secret: string, algorithm = "sha256"): string =>
  `${algorithm}=${createHmac(algorithm, secret).update(body).digest("hex")}`;

export interface Post {
  readonly body: string | Uint8Array;
  readonly event?: string;
  readonly guid?: string;
  /** The signature's header. Null: none. Left out: the right one. */
  readonly signature?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

let posts = 0;

/** Posts bytes to the webhook's address, as they are. */
export async function post(world: World, { body, ...sent }: Post): Promise<Answer> {
  const signature =
    sent.signature === undefined ? sign(body, world.github.app.webhookSecret) : sent.signature;
  const response = await fetch(`${world.app.address}/api/github/webhooks`, {
    method: "POST",
    body: Buffer.from(body),
    headers: {
      "content-type": "application/json",
      "x-github-event": sent.event ?? "ping",
      "x-github-delivery": sent.guid ?? `post-${++posts}`,
      "x-github-hook-id": "1",
      ...(signature === null ? {} : { "x-hub-signature-256": signature }),
      ...sent.headers,
    },
  });
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** Streams a body of so many bytes, without saying how long it will be, until the server answers. */
export function stream(world: World, bytes: number): Promise<{ status: number; body: string; sent: number }> {
  const chunk = Buffer.alloc(64 * 1024, "x");
  let sent = 0;
  return new Promise((resolve, reject) => {
    const outgoing = request(`${world.app.address}/api/github/webhooks`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-github-event": "ping",
        "x-github-delivery": "stream",
        "x-hub-signature-256": "sha256=00",
      },
    });
    const pump = (): void => {
      while (sent < bytes && !outgoing.destroyed) {
        sent += chunk.length;
        if (!outgoing.write(chunk)) return void outgoing.once("drain", pump);
      }
      if (!outgoing.destroyed) outgoing.end();
    };
    outgoing.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString(), sent }),
      );
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    pump();
  });
}

export interface Stored {
  readonly hook_id: string;
  readonly delivery_id: string;
  readonly event: string;
  readonly action: string | null;
  readonly lane: string;
  readonly state: string;
  readonly attempts: number;
  readonly error: string | null;
  readonly payload: string;
  readonly seq: number;
}

/** What lies in the inbox, in order of arrival. */
export function inbox(world: World, guid?: string): Promise<Stored[]> {
  return world.db
    .selectFrom("inbox")
    .select([
      "hook_id",
      "delivery_id",
      "event",
      "action",
      "lane",
      "state",
      "attempts",
      "error",
      "payload",
      "seq",
    ])
    .$if(guid !== undefined, (query) => query.where("delivery_id", "=", guid ?? ""))
    .orderBy("seq")
    .execute();
}

/**
 * GitHub has delivered, and no lane's head is due or being worked on. As `world.settled()`, which also waits for
 * what stands behind a head that is to be tried again later.
 */
export async function headsSettled(world: World): Promise<void> {
  await waitFor("every lane's head to be dealt with", async () => {
    await world.github.delivered();
    const { rows } = await world.app.deps.database.pool.query<{ what: string }>(`
      select event || ' ' || lane as what from inbox i
      where state = 'pending' and next_try_at <= db_now() and not exists (
        select 1 from inbox earlier where earlier.repository_id = i.repository_id and earlier.lane = i.lane
          and earlier.state = 'pending' and earlier.seq < i.seq)
      union all select 'outbox ' || promise from outbox where state = 'pending' and next_try_at <= db_now()`);
    return rows.length === 0 ? null : `still due: ${rows.map(({ what }) => what).join(", ")}`;
  });
}

/** The idempotency key of a request (api.md, "Errors"), and what a request under it is. */

import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Deps } from "../../services/deps.ts";
import { Once, type Superseded } from "../../services/once.ts";

interface KeyedRequest extends Pick<FastifyRequest, "caller" | "method" | "url" | "body"> {
  readonly headers: { readonly "idempotency-key"?: string | undefined };
}

/** Null: the caller sent no key. `superseded`: where the answer to a grant is not that of a claim. */
export function onceOf(
  deps: Deps,
  request: KeyedRequest,
  reply: FastifyReply,
  superseded?: Superseded,
): Once | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([request.method, request.url, sorted(request.body)]))
    .digest("base64url");
  const print = (status: number, answer: unknown): string =>
    reply.serializeInput(answer as Record<string, unknown>, String(status)) as string;
  return new Once(
    deps,
    { actor: request.caller.actor, key: key.toLowerCase(), fingerprint },
    print,
    superseded,
  );
}

/**
 * Runs a write, and if the caller sent a key only once. `success` says with which status and body an answer is sent;
 * null: it is a refusal, which is not kept.
 */
export function keyed<T>(
  deps: Deps,
  request: KeyedRequest,
  reply: FastifyReply,
  write: (deps: Deps) => Promise<T>,
  success: (answer: T) => { status: number; answer: unknown } | null = (answer) => ({ status: 200, answer }),
): Promise<T> {
  const once = onceOf(deps, request, reply);
  if (once === null) return write(deps);
  return once.run(async (inside) => {
    const result = await write(inside);
    const sent = success(result);
    return { result, kept: sent && { ...sent, grant: null } };
  });
}

/** The same JSON, whatever order its names are in. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, inner]) => [name, sorted(inner)]);
}

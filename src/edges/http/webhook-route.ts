/**
 * GitHub's deliveries: verify the raw bytes, store, answer 202. What the delivery means is worked out later, so
 * no failure of ours reaches GitHub's answer (github-cases 7, 8, 10, 11).
 */

import type { FastifyInstance, FastifyRequest } from "fastify";
import { Problem } from "../../contract/problem.ts";
import type { Deps } from "../../services/deps.ts";
import { deliveryReceiver } from "../../services/receive-delivery.ts";
import { isSigned } from "./webhook-signature.ts";

/** GitHub sends at most 25 MB. */
const BODY_LIMIT = 25 * 1024 * 1024;

export function webhookRoute(scope: FastifyInstance, deps: Deps): void {
  // Only here the body stays as the bytes that were signed.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: BODY_LIMIT }, (_request, body, done) =>
    done(null, body),
  );
  const receive = deliveryReceiver(deps);
  scope.post(
    "/api/github/webhooks",
    { bodyLimit: BODY_LIMIT, schema: { hide: true } },
    async (request, reply) => {
      const body = verified(request, deps);
      const status = await receive({
        body,
        deliveryId: header(request, "x-github-delivery"),
        event: header(request, "x-github-event"),
        hookId: header(request, "x-github-hook-id", "0"),
      });
      return reply.status(202).send({ status });
    },
  );
}

/** The body as text, once its signature is known to be GitHub's: before, nothing of it is looked at. */
function verified(request: FastifyRequest, deps: Deps): string {
  const secrets = deps.github.app?.webhookSecrets ?? [];
  if (secrets.length === 0) {
    throw new Problem(
      "unauthenticated",
      "no GitHub App is configured here, so no delivery can be trusted: open /setup",
    );
  }
  const signature = optionalHeader(request, "x-hub-signature-256") ?? "";
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (!isSigned(bytes, signature, secrets)) {
    throw new Problem("unauthenticated", "the delivery is not signed with this App's webhook secret");
  }
  return decode(bytes);
}

/** Strictly UTF-8, byte order mark kept: the text encodes back to the very bytes that were signed. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Problem("validation_failed", "the body is not UTF-8");
  }
}

/** None that GitHub sends is longer. */
const MAX_HEADER = 200;

function header(request: FastifyRequest, name: string, otherwise: string | null = null): string {
  const value = optionalHeader(request, name) ?? otherwise;
  if (value !== null && value.length <= MAX_HEADER) return value;
  throw new Problem("validation_failed", `the header ${name} is missing or too long`);
}

function optionalHeader(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : null;
}

/** Who calls: the bearer token, checked in constant time. It fails closed. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Capability } from "../../contract/capability.ts";
import { Problem } from "../../contract/problem.ts";
import { ADMIN, type Caller } from "../../services/caller.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who calls; set before anything of the request is looked at. */
    caller: Caller;
  }
  interface FastifyContextConfig {
    /** What a token must be able to do to call the route; every route behind a token says it. */
    capability?: Capability;
  }
}

export const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Two secrets are the same, told in a time that does not depend on where they differ. */
export const sameSecret = (given: string, wanted: string): boolean =>
  timingSafeEqual(sha256(given), sha256(wanted));

/** The bearer token of a request, or null. */
export function bearerOf(request: FastifyRequest): string | null {
  const match = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "");
  return match?.[1] ?? null;
}

/** The caller that a request's token names. Throws `unauthenticated`. */
export function callerOf(request: FastifyRequest, adminToken: string): Caller {
  const token = bearerOf(request);
  if (token !== null && sameSecret(token, adminToken)) return ADMIN;
  throw new Problem(
    "unauthenticated",
    token === null
      ? "send the header Authorization: Bearer <token>; the start-up message says where the admin token lies"
      : "this token is not valid here; the start-up message says where the admin token lies",
  );
}

/** Who calls: the bearer token, checked in constant time. It fails closed. */

import { hash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Capability } from "../../contract/capability.ts";
import { Problem } from "../../contract/problem.ts";
import { authenticate } from "../../services/authenticate.ts";
import { ADMIN, type Caller } from "../../services/caller.ts";
import type { Deps } from "../../services/deps.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who calls; set before anything of the request is looked at. */
    caller: Caller;
  }
  interface FastifyContextConfig {
    /** What a token must be able to do to call the route; every route behind a token says it. */
    capability?: Capability;
    /** It is not answered and done with: how long it took says nothing. */
    isStream?: boolean;
  }
}

export const sha256 = (text: string): Buffer => hash("sha256", text, "buffer");

/** Two secrets are the same, told in a time that does not depend on where they differ. */
export const sameSecret = (given: string, wanted: string): boolean =>
  timingSafeEqual(sha256(given), sha256(wanted));

/** The bearer token of a request, or null. */
export function bearerOf(request: FastifyRequest): string | null {
  const match = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "");
  return match?.[1] ?? null;
}

/** Throws `unauthenticated`. */
export type CallerFinder = (request: FastifyRequest) => Promise<Caller>;

/**
 * Finds the caller that a request's token names. Of a token only its hash is compared: with the bootstrap token's in
 * constant time, with the others' by an index.
 */
export function callerFinder(deps: Deps, adminToken: string): CallerFinder {
  const adminHash = sha256(adminToken);
  return async (request) => {
    const token = bearerOf(request);
    if (token === null)
      throw unauthenticated("send the header Authorization: Bearer <token>; a maintainer makes one for you");
    const tokenHash = sha256(token);
    if (timingSafeEqual(tokenHash, adminHash)) return ADMIN;
    const caller = await authenticate(deps, token, tokenHash);
    if (caller === null)
      throw unauthenticated("this token is not valid here: it is misspelt, was revoked, or has expired");
    return caller;
  };
}

const unauthenticated = (detail: string): Problem => new Problem("unauthenticated", detail);

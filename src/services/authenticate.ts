/** Whose a bearer token is (protocol 10). It fails closed. */

import { CAPABILITIES, type Capability } from "../contract/capability.ts";
import { findTokenRights } from "../store/tokens.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import type { Identified } from "./known-callers.ts";
import { SECRET_PATTERN } from "./tokens.ts";

/** The caller of an API token, or null. `hash`: of `token`. */
export async function authenticate(deps: Deps, token: string, hash: Buffer): Promise<Caller | null> {
  // What cannot be a token costs no question.
  if (!SECRET_PATTERN.test(token)) return null;
  return deps.callers.find(hash, () => identify(deps, hash));
}

async function identify(deps: Deps, hash: Buffer): Promise<Identified | null> {
  const rights = await findTokenRights(deps.db, hash);
  if (rights === null) return null;
  const { id, repositories, scope, expiresAt, expiresInMs } = rights;
  return {
    caller: {
      actor: `token/${id}`,
      capabilities: capabilitiesOf(rights.capabilities),
      repositories: repositories && new Set(repositories),
      scope,
      expiresAt,
    },
    validMs: expiresInMs,
  };
}

/** `admin` is everything; what this program does not know is nothing. */
export function capabilitiesOf(named: readonly string[]): ReadonlySet<Capability> {
  if (named.includes("admin")) return new Set(CAPABILITIES);
  return new Set(CAPABILITIES.filter((capability) => named.includes(capability)));
}

/** Who calls: the token, never a field of the request (protocol 10). */

import { CAPABILITIES, type Capability } from "../contract/capability.ts";
import type { Scope } from "../domain/scope.ts";

export interface Caller {
  /** Names the API token; claims and writes are bound to it. */
  readonly actor: string;
  readonly capabilities: ReadonlySet<Capability>;
  /** GitHub's ids of the repositories that it may see; null: all. */
  readonly repositories: ReadonlySet<number> | null;
  /** The part of their backlogs that it reaches; null: the whole. */
  readonly scope: Scope | null;
  /** When its token ends by itself; null: never. `TokenWatch` tells when it has ended, for whatever reason. */
  readonly expiresAt: Date | null;
}

/** Whoever has the bootstrap admin token. */
export const ADMIN: Caller = {
  actor: "admin",
  capabilities: new Set(CAPABILITIES),
  repositories: null,
  scope: null,
  expiresAt: null,
};

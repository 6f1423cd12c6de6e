/** Whose a bearer token is (protocol 10): an API token's, or a workflow's that its repository trusts. It fails closed. */

import { CAPABILITIES, type Capability } from "../contract/capability.ts";
import { CONFIGURATION_PATH } from "../contract/configuration.ts";
import { Problem } from "../contract/problem.ts";
import type { WorkflowClaims } from "../contract/workflow-claims.ts";
import { trustedCapabilities } from "../domain/oidc-subject.ts";
import { IssuerUnreachable, WorkflowTokenRefused } from "../github/workflow-tokens.ts";
import { databaseNow } from "../store/clock.ts";
import { findRepositoryById } from "../store/repositories.ts";
import { findTokenRights } from "../store/tokens.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import type { Identified } from "./known-callers.ts";
import { SECRET_PATTERN } from "./tokens.ts";

/** Three parts; the last, the signature, may be missing, and is then found to be. */
const JWT_PATTERN = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * The caller of a token, or null. `hash`: of `token`. Throws `unauthenticated` for a workflow's token that is not taken,
 * with the reason, and `unavailable` when it cannot be judged.
 */
export async function authenticate(deps: Deps, token: string, hash: Buffer): Promise<Caller | null> {
  if (SECRET_PATTERN.test(token)) return deps.callers.find(hash, () => identify(deps, hash));
  if (JWT_PATTERN.test(token)) return deps.callers.find(hash, () => identifyWorkflow(deps, token));
  // What cannot be a token costs no question.
  return null;
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

/**
 * A workflow may call for its own repository, as far as the configuration there trusts it. All jobs of a run are one
 * actor, however often they ask GitHub for a new token: what one of them claimed, it can renew.
 */
async function identifyWorkflow(deps: Deps, token: string): Promise<Identified> {
  const now = await databaseNow(deps.db);
  const claims = await verified(deps, token, now);
  const repository = await findRepositoryById(deps.db, claims.repository_id);
  if (!repository?.installed)
    throw refused("its repository is not connected here: install the GitHub App on it");
  const capabilities = trustedCapabilities(repository.settings.oidc, claims.sub);
  if (capabilities.size === 0) {
    throw refused(
      `the configuration of ${repository.owner}/${repository.name} does not trust ${claims.sub}: ` +
        `add it under oidc in ${CONFIGURATION_PATH}`,
    );
  }
  const expiresAt = new Date(claims.exp * 1000);
  return {
    caller: {
      actor: `actions/${repository.id}/${claims.run_id}`,
      capabilities,
      repositories: new Set([repository.id]),
      scope: null,
      expiresAt,
    },
    validMs: expiresAt.getTime() - now.getTime(),
  };
}

async function verified({ workflows, log }: Deps, token: string, now: Date): Promise<WorkflowClaims> {
  try {
    return await workflows.verify(token, now);
  } catch (error) {
    if (error instanceof WorkflowTokenRefused) throw refused(error.message);
    if (!(error instanceof IssuerUnreachable)) throw error;
    log.warn({ reason: error.message }, "the keys of the OIDC issuer could not be read");
    throw new Problem("unavailable", "the issuer's keys cannot be read now, so the token cannot be judged", {
      retryAfterMs: 5_000,
    });
  }
}

const refused = (why: string): Problem =>
  new Problem("unauthenticated", `this workflow's token is not valid here: ${why}`);

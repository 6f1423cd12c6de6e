/**
 * What a token may call (protocol 10), decided for all routes in one place. It fails closed: a route that does not say
 * what it needs does not start, and one that does not say how it keeps to a scope is refused to who has one.
 */

import type { FastifyRequest, RouteOptions } from "fastify";
import { Problem } from "../../contract/problem.ts";
import { itemRef, numberOfItemId } from "../../domain/record-key.ts";
import { isRestricted } from "../../domain/scope.ts";
import type { Deps } from "../../services/deps.ts";
import { repositoryInSight } from "../../services/repository-by-name.ts";
import { assertRecordSeen, scopeForbidden } from "../../services/sight.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * How the route keeps to its caller's scope. `subject`: it is about the repository, the item or the record of its
     * address, and names no other. `filtered`: what it answers or does beyond that is kept to the scope by its service.
     * `repositories`: it keeps to its caller's repositories, but knows no scope. Absent: only callers without any bound
     * may call it.
     */
    scope?: "subject" | "filtered" | "repositories";
  }
}

/** Throws where a route behind a token does not say what it needs. */
export function assertGuarded({ method, url, config }: RouteOptions): void {
  if (config?.capability === undefined)
    throw new Error(`${method} ${url} does not say which capability it needs (config.capability)`);
}

/** Throws `insufficient_capability`, and `scope_forbidden` for a route that is not for tokens with bounds. */
export function assertMayCall({ caller, routeOptions }: FastifyRequest): void {
  const { capability = "admin", scope } = routeOptions.config;
  if (!caller.capabilities.has(capability)) {
    const has = [...caller.capabilities].join(", ") || "nothing";
    throw new Problem(
      "insufficient_capability",
      `this call needs the capability ${capability}, and this token has ${has}: ask for a token that has it`,
    );
  }
  if (scope === "repositories" && caller.scope !== null)
    throw scopeForbidden("this call knows no scopes: it needs a token without one");
  if (scope === undefined && isRestricted(caller))
    throw scopeForbidden(
      "this call reaches over all repositories: it needs a token without repos and without a scope",
    );
}

/** Throws `scope_forbidden` unless the repository, and the item or record of the address, may be seen. */
export async function assertSubjectSeen(deps: Deps, { caller, params }: FastifyRequest): Promise<void> {
  if (!isRestricted(caller)) return;
  const { owner, repo, number, topic, id } = params as Readonly<Record<string, string | undefined>>;
  if (owner === undefined || repo === undefined) return;
  const repository = await repositoryInSight(deps, caller, { owner, name: repo });
  if (repository === null) return;
  const repositoryId = repository.id;
  // What is no number, or no name, is refused by the route's own rules.
  const item = number === undefined ? null : numberOfItemId(`issue-${number}`);
  if (item !== null) await assertRecordSeen(deps.db, caller, itemRef(repositoryId, item));
  else if (topic !== undefined && id !== undefined)
    await assertRecordSeen(deps.db, caller, { repositoryId, topic, id });
}

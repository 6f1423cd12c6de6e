import type { JsonObject } from "../json.ts";
import { organizationJson, userJson } from "../payloads/accounts.ts";
import { pushedRepositoryJson, repositoryJson } from "../payloads/repositories.ts";
import { nodeId } from "../payloads/times-and-ids.ts";
import type { Account, Actor, Repository } from "./model.ts";
import type { World } from "./world.ts";

export type Change = { event: string; action?: string; fields: () => JsonObject };

/** Tells the App, if it is installed here and not suspended, what has just changed. */
export function emit(world: World, repository: Repository, by: Actor, change: Change): void {
  if (world.isSilenced) return;
  const installation = world.installationOf(repository);
  if (!installation || installation.suspended) return;
  const payload = {
    ...(change.action === undefined ? {} : { action: change.action }),
    ...change.fields(),
    repository:
      change.event === "push" ? pushedRepositoryJson(world, repository) : repositoryJson(world, repository),
    ...organizationPart(world, repository.owner),
    sender: userJson(world, by.account),
    installation: { id: installation.id, node_id: nodeId("MDIzOkluc3RhbGxhdGlvbg", installation.id) },
  };
  world.notify({
    event: change.event,
    action: change.action ?? null,
    payload: JSON.stringify(payload),
    installationId: installation.id,
    repositoryId: repository.id,
  });
}

export function organizationPart(world: World, owner: Account): JsonObject {
  return owner.type === "Organization" ? { organization: organizationJson(world, owner) } : {};
}

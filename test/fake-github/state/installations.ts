import type { JsonObject } from "../json.ts";
import { installationJson, userJson } from "../payloads/accounts.ts";
import { repositoryReferenceJson } from "../payloads/repositories.ts";
import { organizationPart } from "./emit.ts";
import type { Account, Installation, Permissions, Repository } from "./model.ts";
import { ownerPerson } from "./repositories.ts";
import type { World } from "./world.ts";

/** The account's first repository installs the App there; every later one is added to its installation. */
export function install(world: World, repository: Repository, permissions?: Permissions): Installation {
  const known = world.installationFor(repository.owner);
  if (known) {
    if (known.repositories.has(repository)) return known;
    known.repositories.add(repository);
    emitRepositories(world, known, "added", repository);
    return known;
  }
  const now = world.now();
  const installation: Installation = {
    id: world.nextId(),
    account: repository.owner,
    repositories: new Set([repository]),
    permissions: { metadata: "read", ...(permissions ?? world.app.permissions) },
    createdAt: now,
    updatedAt: now,
    suspended: null,
  };
  world.installations.set(installation.id, installation);
  emitInstallation(world, installation, "created", { repositories: references(installation) });
  return installation;
}

export function removeRepository(world: World, repository: Repository): void {
  const installation = world.installationOf(repository);
  if (!installation) return;
  installation.repositories.delete(repository);
  emitRepositories(world, installation, "removed", repository);
}

export function uninstall(world: World, owner: Account): void {
  const installation = world.installationFor(owner);
  if (!installation) return;
  const repositories = references(installation);
  world.installations.delete(installation.id);
  emitInstallation(world, installation, "deleted", { repositories });
}

export function suspend(world: World, owner: Account): void {
  const installation = world.installationFor(owner);
  if (!installation || installation.suspended) return;
  installation.suspended = { at: world.now(), by: ownerPerson(world, owner) };
  emitInstallation(world, installation, "suspend", { repositories: references(installation) });
}

export function unsuspend(world: World, owner: Account): void {
  const installation = world.installationFor(owner);
  if (!installation?.suspended) return;
  installation.suspended = null;
  emitInstallation(world, installation, "unsuspend", { repositories: references(installation) });
}

function references(installation: Installation): JsonObject[] {
  return [...installation.repositories].map(repositoryReferenceJson);
}

function emitRepositories(
  world: World,
  installation: Installation,
  action: "added" | "removed",
  repository: Repository,
): void {
  const changed = [repositoryReferenceJson(repository)];
  send(world, installation, "installation_repositories", action, {
    repository_selection: "selected",
    repositories_added: action === "added" ? changed : [],
    repositories_removed: action === "removed" ? changed : [],
    requester: null,
  });
}

function emitInstallation(
  world: World,
  installation: Installation,
  action: "created" | "deleted" | "suspend" | "unsuspend",
  more: JsonObject,
): void {
  send(world, installation, "installation", action, { ...more, requester: null });
}

/** These have no repository, and reach the App even when it is suspended. */
function send(
  world: World,
  installation: Installation,
  event: string,
  action: string,
  fields: JsonObject,
): void {
  if (world.isSilenced) return;
  const payload = {
    action,
    installation: installationJson(world, installation),
    ...fields,
    ...organizationPart(world, installation.account),
    sender: userJson(world, ownerPerson(world, installation.account)),
  };
  world.notify({
    event,
    action,
    payload: JSON.stringify(payload),
    installationId: installation.id,
    repositoryId: null,
  });
}

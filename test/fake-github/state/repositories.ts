import { HttpError } from "../http-error.ts";
import { emit } from "./emit.ts";
import { addCommit } from "./git.ts";
import { type Account, type Actor, fullName, type Repository, type Role } from "./model.ts";
import type { World } from "./world.ts";

export type NewRepository = {
  defaultBranch?: string;
  collaborators?: Record<string, Role>;
  labels?: readonly string[];
  private?: boolean;
  /** The kind of owner, if the account is not known yet. An organization unless told otherwise. */
  owner?: "User" | "Organization";
};

/** The owner of an organization: the one who installs Apps and pushes settings, when no one else is named. */
export function ownerPerson(world: World, owner: Account): Account {
  return owner.type === "Organization" ? world.account(`${owner.login}-owner`) : owner;
}

export function addRepository(world: World, path: string, options: NewRepository): Repository {
  const [ownerLogin, name, rest] = path.split("/");
  if (!ownerLogin || !name || rest !== undefined) throw new Error(`"${path}" is not owner/name`);
  if (world.findRepository(ownerLogin, name)) throw new Error(`${path} exists already`);
  const owner = world.account(ownerLogin, options.owner ?? "Organization");
  const repository = emptyRepository(world, owner, name, options.defaultBranch ?? "main");
  repository.private = options.private ?? false;
  const person = ownerPerson(world, owner);
  if (person !== owner) {
    owner.members.add(person.login.toLowerCase());
    repository.collaborators.set(person.login.toLowerCase(), "admin");
  }
  for (const [login, role] of Object.entries(options.collaborators ?? {})) {
    repository.collaborators.set(world.account(login).login.toLowerCase(), role);
  }
  for (const label of options.labels ?? []) {
    const id = world.nextId();
    repository.labels.set(label.toLowerCase(), { id, name: label, color: "ededed", description: null });
  }
  const first = addCommit(world, {
    message: "Initial commit",
    author: person,
    parents: [],
    files: new Map([["README.md", `# ${name}\n`]]),
  });
  repository.branches.set(repository.defaultBranch, first.sha);
  return repository;
}

export function addFork(world: World, of: Repository, login: string): Repository {
  const owner = world.account(login);
  const known = world.findRepository(owner.login, of.name);
  if (known) return known;
  const fork = emptyRepository(world, owner, of.name, of.defaultBranch);
  fork.forkOf = of;
  for (const [branch, sha] of of.branches) fork.branches.set(branch, sha);
  return fork;
}

export function renameRepository(world: World, by: Actor, repository: Repository, name: string): void {
  const from = repository.name;
  repository.formerNames.push(fullName(repository).toLowerCase());
  repository.name = name;
  emit(world, repository, by, {
    event: "repository",
    action: "renamed",
    fields: () => ({ changes: { repository: { name: { from } } } }),
  });
}

/** To another account. Where the App is not installed there, GitHub falls silent. */
export function transferRepository(world: World, by: Actor, repository: Repository, to: Account): void {
  const from = repository.owner;
  if (world.findRepository(to.login, repository.name)) throw new HttpError(422, "Name already exists");
  repository.formerNames.push(fullName(repository).toLowerCase());
  world.installationOf(repository)?.repositories.delete(repository);
  repository.owner = to;
  world.installationFor(to)?.repositories.add(repository);
  const kind = from.type === "Organization" ? "organization" : "user";
  emit(world, repository, by, {
    event: "repository",
    action: "transferred",
    fields: () => ({
      changes: { owner: { from: { [kind]: { login: from.login, id: from.id, type: from.type } } } },
    }),
  });
}

export function setArchived(world: World, by: Actor, repository: Repository, archived: boolean): void {
  if (repository.archived === archived) return;
  repository.archived = archived;
  const action = archived ? "archived" : "unarchived";
  emit(world, repository, by, { event: "repository", action, fields: () => ({}) });
}

/** Apps are not told: `repository.deleted` goes to organizations' webhooks only. */
export function deleteRepository(world: World, repository: Repository): void {
  world.installationOf(repository)?.repositories.delete(repository);
  repository.deleted = true;
}

function emptyRepository(world: World, owner: Account, name: string, defaultBranch: string): Repository {
  const now = world.now();
  const repository: Repository = {
    id: world.nextId(),
    owner,
    name,
    private: false,
    archived: false,
    deleted: false,
    defaultBranch,
    forkOf: null,
    formerNames: [],
    collaborators: new Map(),
    contributors: new Set(),
    labels: new Map(),
    issues: new Map(),
    gone: new Map(),
    lastNumber: 0,
    branches: new Map(),
    renamedBranches: new Map(),
    checkSuites: [],
    statuses: [],
    createdAt: now,
    updatedAt: now,
    pushedAt: now,
  };
  world.repositories.set(repository.id, repository);
  return repository;
}

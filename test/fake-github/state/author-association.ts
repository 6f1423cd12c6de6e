import type { Account, Repository, Role } from "./model.ts";

export type AuthorAssociation = "OWNER" | "MEMBER" | "COLLABORATOR" | "CONTRIBUTOR" | "NONE";

export function authorAssociation(repository: Repository, account: Account): AuthorAssociation {
  const login = account.login.toLowerCase();
  if (account === repository.owner) return "OWNER";
  if (repository.owner.members.has(login)) return "MEMBER";
  if ((repository.collaborators.get(login) ?? "none") !== "none") return "COLLABORATOR";
  return repository.contributors.has(login) ? "CONTRIBUTOR" : "NONE";
}

/** Anybody may read a public repository; members of an organization read its repositories. */
export function roleOf(repository: Repository, account: Account): Role {
  if (account === repository.owner) return "admin";
  const login = account.login.toLowerCase();
  const granted = repository.collaborators.get(login);
  if (granted) return granted;
  return !repository.private || repository.owner.members.has(login) ? "read" : "none";
}

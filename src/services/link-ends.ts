/** Where the two ends of one of GitHub's links are: payloads name repositories by id, by name, or not at all. */

import type { LinkedIssue, RepositoryStub } from "../contract/link-payloads.ts";
import { itemTarget, type LinkTarget } from "../domain/record-key.ts";
import type { Db } from "../store/database.ts";
import { findIssueById, followMoves, type IssueAt } from "../store/native-links.ts";
import { findRepositoryById, findRepositoryByName, type Repository } from "../store/repositories.ts";

/** One end, as a payload or a list names it. */
export interface NamedEnd {
  /** GitHub's id of the issue. */
  readonly id: number | null;
  readonly issue: LinkedIssue | null;
  readonly repository: RepositoryStub | null;
}

/** An end that was found. */
export interface Place {
  /** The repository if it is known here, installed or not. */
  readonly repository: Repository | null;
  /** Null: GitHub named the repository, but not its id. */
  readonly repositoryId: number | null;
  readonly fullName: string;
  readonly number: number;
  /** It was transferred since: GitHub gave it another id. */
  readonly moved: boolean;
}

/** Finds an end; null: neither the payload nor the mirror tells where it is. A transferred issue is where it went. */
export async function findPlace(db: Db, end: NamedEnd): Promise<Place | null> {
  const named = end.issue ? await placeByName(db, end.issue, end.repository) : null;
  // Where it is in a repository that is not known here, nothing more can be found out.
  if (named?.repository === null) return named;
  const byId = named === null && end.id !== null ? await findIssueById(db, end.id) : null;
  const at = named?.repository ? { repositoryId: named.repository.id, number: named.number } : byId;
  if (at === null) return null;
  const moved = await followMoves(db, at);
  const repository = await findRepositoryById(db, moved.repositoryId);
  const isMoved = moved.repositoryId !== at.repositoryId || moved.number !== at.number;
  return repository && placeIn(repository, moved.number, isMoved);
}

const placeIn = (repository: Repository, number: number, moved: boolean): Place => ({
  repository,
  repositoryId: repository.id,
  fullName: `${repository.owner}/${repository.name}`,
  number,
  moved,
});

async function placeByName(db: Db, issue: LinkedIssue, stub: RepositoryStub | null): Promise<Place | null> {
  const about = stub ?? issue.repository ?? null;
  const fullName = about?.full_name ?? /\/repos\/([^/]+\/[^/]+)$/.exec(issue.repository_url ?? "")?.[1];
  if (fullName === undefined) return null;
  const [owner = "", name = ""] = fullName.split("/");
  const repository = about
    ? await findRepositoryById(db, about.id)
    : await findRepositoryByName(db, owner, name);
  // One that lives only here is not GitHub's, though it has the name.
  if (repository && repository.id > 0) return placeIn(repository, issue.number, false);
  return { repository: null, repositoryId: about?.id ?? null, fullName, number: issue.number, moved: false };
}

/** What an edge to this place points at; the whole key while its repository is not known here. */
export const targetOf = ({ repository, fullName, number }: Place): LinkTarget =>
  repository
    ? { repositoryId: repository.id, target: itemTarget(number) }
    : { repositoryId: 0, target: `repo/${fullName}/${itemTarget(number)}` };

/** Whose edge it is; null: GitHub did not tell the repository's id. */
export const issueAt = ({ repositoryId, number }: Place): IssueAt | null =>
  repositoryId === null ? null : { repositoryId, number };

/** A blocker that GitHub names by its id and shows to nobody here: it blocks, wherever it is. */
export const hiddenTarget = (id: number): LinkTarget => ({
  repositoryId: 0,
  target: `github/issue-id/${id}`,
});

/** An address where the App may ask, or null. */
export const askable = (place: Place | null) =>
  place?.repository?.installed && place.repository.installationId !== null && place.repository.currentName
    ? { repository: place.repository, installationId: place.repository.installationId, number: place.number }
    : null;

/** The place that a `parent_issue_url` names: `…/repos/{owner}/{name}/issues/{number}`. */
export async function placeOfUrl(db: Db, url: string): Promise<Place | null> {
  const match = /^(.*\/repos\/[^/]+\/[^/]+)\/issues\/([1-9][0-9]{0,8})$/.exec(url);
  if (!match) return null;
  const issue = { id: 0, number: Number(match[2]), repository_url: match[1] ?? "" };
  return findPlace(db, { id: null, issue, repository: null });
}

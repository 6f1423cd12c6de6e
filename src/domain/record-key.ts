/**
 * Addresses of records. Outside, a record is `repo/{owner}/{name}/mem/{topic}/{id}`; inside, the
 * repository is its GitHub id, so that a rename changes the address and nothing else (protocol 1).
 */

export interface RepositoryName {
  readonly owner: string;
  readonly name: string;
}

export interface RecordRef {
  readonly repositoryId: number;
  readonly topic: string;
  readonly id: string;
}

/** Where a link points. `repositoryId` 0 means a repository that is not known here; then `target` is the whole key. */
export interface LinkTarget {
  readonly repositoryId: number;
  readonly target: string;
}

export const BACKLOG = "backlog";

export const TOPIC_PATTERN = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const RECORD_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const FILE_PATTERN = /^file\/(?!\/)[^\0]{1,1024}$/;
const LOCAL_TARGET = /^mem\/([^/]+)\/([^/]+)$/;

/** Numbers of issues and pull requests fit PostgreSQL's integer; what is written as a larger one is none. */
export const MAX_NUMBER = 2_147_483_647;

/** The record id of an issue's item: `issue-7`. */
export const itemId = (number: number): string => `issue-${number}`;

/** The issue number of an item's record id, or null when the id is not an item's. */
export function numberOfItemId(id: string): number | null {
  const match = /^issue-([1-9][0-9]{0,9})$/.exec(id);
  const number = match ? Number(match[1]) : 0;
  return number >= 1 && number <= MAX_NUMBER ? number : null;
}

export const itemRef = (repositoryId: number, number: number): RecordRef => ({
  repositoryId,
  topic: BACKLOG,
  id: itemId(number),
});

/** The item's number if the record is a backlog item, else null. */
export const numberOfRef = (ref: { topic: string; id: string }): number | null =>
  ref.topic === BACKLOG ? numberOfItemId(ref.id) : null;

/** The public key of a record in a repository. */
export const recordKey = (repository: RepositoryName, topic: string, id: string): string =>
  `repo/${repository.owner}/${repository.name}/mem/${topic}/${id}`;

/** What a link to an item is stored as within its own repository. */
export const itemTarget = (number: number): string => `mem/${BACKLOG}/${itemId(number)}`;

/** The item that a stored link target names, or null when it names something else. */
export function itemOfTarget(target: string): number | null {
  const match = LOCAL_TARGET.exec(target);
  return match && match[1] === BACKLOG ? numberOfItemId(match[2] ?? "") : null;
}

/** The record that a stored link target names, or null when it is a file or a foreign key. */
export function recordOfTarget(target: string): { topic: string; id: string } | null {
  const match = LOCAL_TARGET.exec(target);
  return match ? { topic: match[1] ?? "", id: match[2] ?? "" } : null;
}

export type ParsedKey =
  | { readonly kind: "local"; readonly target: string }
  | { readonly kind: "other"; readonly owner: string; readonly name: string; readonly target: string }
  | { readonly kind: "malformed" };

/**
 * Reads a link target as a caller writes it: a whole key (`repo/o/n/mem/topic/id`, `repo/o/n/file/src/a.ts`)
 * or one within the caller's own repository (`mem/topic/id`, `file/src/a.ts`). Repository names match
 * without regard to case, as on GitHub.
 */
export function parseKey(text: string, home: RepositoryName): ParsedKey {
  const whole = /^repo\/([A-Za-z0-9._-]+)\/([A-Za-z0-9._-]+)\/(.+)$/.exec(text);
  const target = whole ? (whole[3] ?? "") : text;
  const record = recordOfTarget(target);
  const wellFormed = record
    ? TOPIC_PATTERN.test(record.topic) && RECORD_ID_PATTERN.test(record.id)
    : FILE_PATTERN.test(target);
  if (!wellFormed) return { kind: "malformed" };
  if (!whole) return { kind: "local", target };
  const owner = whole[1] ?? "";
  const name = whole[2] ?? "";
  const isHome =
    owner.toLowerCase() === home.owner.toLowerCase() && name.toLowerCase() === home.name.toLowerCase();
  return isHome ? { kind: "local", target } : { kind: "other", owner, name, target };
}

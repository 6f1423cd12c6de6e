/** Links as callers write them and as the store keeps them. */

import { Problem } from "../contract/problem.ts";
import { type LinkTarget, parseKey, type RepositoryName } from "../domain/record-key.ts";
import type { Db } from "../store/database.ts";
import type { RecordLink } from "../store/records.ts";
import { findRepositoryById, findRepositoryByName, type Repository } from "../store/repositories.ts";

/** Reads `{relation: [key]}`. A key that cannot be read is told by its field. */
export async function readLinks(
  db: Db,
  home: Repository,
  links: Record<string, readonly string[]>,
  field: string,
): Promise<RecordLink[]> {
  const read: RecordLink[] = [];
  for (const [relation, keys] of Object.entries(links)) {
    for (const key of keys)
      read.push({ relation, ...(await readTarget(db, home, key, `${field}.${relation}`)) });
  }
  return read;
}

/** Reads one key. */
export async function readTarget(db: Db, home: Repository, key: string, field: string): Promise<LinkTarget> {
  const parsed = parseKey(key, home);
  if (parsed.kind === "malformed") {
    const message = `"${key}" is no key; write repo/{owner}/{name}/mem/{topic}/{id}, mem/{topic}/{id} or file/{path}`;
    throw new Problem("validation_failed", `${field}: ${message}`, { errors: [{ field, message }] });
  }
  if (parsed.kind === "local") return { repositoryId: home.id, target: parsed.target };
  const other = await findRepositoryByName(db, parsed.owner, parsed.name);
  return other ? { repositoryId: other.id, target: parsed.target } : { repositoryId: 0, target: key };
}

/** Prints where a link points, under the present name of its repository. */
export async function printTarget(db: Db, { repositoryId, target }: LinkTarget): Promise<string> {
  const known = await findRepositoryById(db, repositoryId);
  return known ? `repo/${known.owner}/${known.name}/${target}` : target;
}

/** Prints links as `{relation: [key]}`, under the present names of their repositories. */
export type LinkPrinter = (links: readonly RecordLink[]) => Promise<Record<string, string[]>>;

/** Prints the links of several records, and asks for the name of each repository once. */
export function linkPrinter(db: Db, home: Repository): LinkPrinter {
  const names = new Map<number, RepositoryName | null>([[home.id, home]]);
  const nameOf = async (id: number): Promise<RepositoryName | null> => {
    const known = names.get(id);
    if (known !== undefined) return known;
    const found = await findRepositoryById(db, id);
    names.set(id, found);
    return found;
  };
  return async (links) => {
    // A map: a relation may be called `constructor`.
    const printed = new Map<string, string[]>();
    for (const link of links) {
      const known = await nameOf(link.repositoryId);
      const key = known ? `repo/${known.owner}/${known.name}/${link.target}` : link.target;
      const keys = printed.get(link.relation);
      if (keys) keys.push(key);
      else printed.set(link.relation, [key]);
    }
    return Object.fromEntries(printed);
  };
}

/** Prints the links of one record. */
export const printLinks = (db: Db, home: Repository, links: readonly RecordLink[]) =>
  linkPrinter(db, home)(links);

/** Prints the keys of files. */
export async function printAnchors(
  db: Db,
  home: Repository,
  anchors: readonly LinkTarget[],
): Promise<string[]> {
  const links = anchors.map(({ repositoryId, target }) => ({ relation: "anchoredTo", repositoryId, target }));
  return (await printLinks(db, home, links)).anchoredTo ?? [];
}

/**
 * What a caller may see (protocol 10). A single item or record out of its sight is refused; what is answered names
 * nothing that is out of its sight; what it writes stays within it.
 */

import { Problem } from "../contract/problem.ts";
import { itemTarget, type LinkTarget, numberOfRef, type RecordRef } from "../domain/record-key.ts";
import { isRestricted, type Scope, type View } from "../domain/scope.ts";
import type { Db } from "../store/database.ts";
import { isItemSeen, isRecordSeen, seenTargets } from "../store/sight.ts";

export const scopeForbidden = (detail: string): Problem => new Problem("scope_forbidden", detail);

/** Throws unless the item, or the record that is no item, may be seen. One that is not there may be: it says nothing. */
export async function assertRecordSeen(db: Db, view: View, ref: RecordRef): Promise<void> {
  if (!isRestricted(view)) return;
  const number = numberOfRef(ref);
  const isSeen =
    number === null
      ? ((await isRecordSeen(db, view, ref)) ?? true)
      : await isItemSeen(db, view, { repositoryId: ref.repositoryId, number });
  if (!isSeen) throw scopeForbidden(`${nameOf(ref)} is out of the scope of this token`);
}

/** Throws unless what was just written, in this transaction, may be seen by who wrote it. */
export async function assertLanded(db: Db, view: View, ref: RecordRef): Promise<void> {
  if (view.scope === null || (await isRecordSeen(db, view, ref)) !== false) return;
  const needed = missingToLand(view.scope, [], []);
  throw scopeForbidden(`${nameOf(ref)} would be out of the scope of this token: it needs ${needed}`);
}

/** What something new lacks to lie within a scope, in words; null: nothing. */
export function missingToLand(
  scope: Scope | null,
  tags: readonly string[],
  links: readonly { readonly relation: string }[],
): string | null {
  const missing: string[] = [];
  if (scope?.tags && !tags.some((tag) => scope.tags?.includes(tag)))
    missing.push(`one of the tags ${scope.tags.join(", ")}`);
  if (scope?.roots && !links.some(({ relation }) => relation === "partOf"))
    missing.push("a partOf link to an item that the token reaches");
  return missing.length === 0 ? null : missing.join(" and ");
}

/** Throws unless every target of these links may be seen: nobody ties what it reaches to what it does not. */
export async function assertTargetsSeen(db: Db, view: View, targets: readonly LinkTarget[]): Promise<void> {
  const isSeen = await sightOf(db, view, targets);
  const hidden = targets.find((target) => !isSeen(target));
  if (hidden)
    throw scopeForbidden(`${hidden.target} is out of the scope of this token, and cannot be linked to`);
}

/** Which of these targets may be seen; asks nothing where all may. */
export async function sightOf(
  db: Db,
  view: View,
  targets: readonly LinkTarget[],
): Promise<(target: LinkTarget) => boolean> {
  if (!isRestricted(view)) return () => true;
  if (targets.length === 0) return () => false;
  const keyOf = ({ repositoryId, target }: LinkTarget): string => `${repositoryId} ${target}`;
  const seen = new Set((await seenTargets(db, view, targets)).map(keyOf));
  return (target) => seen.has(keyOf(target));
}

/** Of these items of a repository those that may be seen, in their order. */
export async function onlySeen(
  db: Db,
  view: View,
  repositoryId: number,
  numbers: readonly number[],
): Promise<number[]> {
  const targets = numbers.map((number) => ({ repositoryId, target: itemTarget(number) }));
  const isSeen = await sightOf(db, view, targets);
  return numbers.filter((number) => isSeen({ repositoryId, target: itemTarget(number) }));
}

const nameOf = (ref: RecordRef): string => {
  const number = numberOfRef(ref);
  return number === null ? `${ref.topic}/${ref.id}` : `#${number}`;
};

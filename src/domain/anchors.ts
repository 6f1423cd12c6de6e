/** Whether what an item or a record is anchored to is still what it was (protocol 11). */

/** Takes the place of a file's id where there is no such file, and no such branch any more. */
export const ABSENT = "absent";
export const NO_BRANCH = "no_branch";

export interface Anchor {
  readonly repositoryId: number;
  /** `file/` and the path. */
  readonly target: string;
  /** Where it is looked at. */
  readonly branch: string;
  /** The id of what it was when it was anchored, and of what is there now; null: not read yet. */
  readonly captured: string | null;
  readonly current: string | null;
  readonly driftedAt: Date | null;
}

export interface Anchoring {
  /** `pending`: none drifted, and of some it is not known yet. */
  readonly state: "none" | "pending" | "fresh" | "stale";
  readonly drifted: readonly Anchor[];
}

interface Link {
  readonly relation: string;
  readonly target: string;
}

/** A file here, or in a repository that is not known here. */
const FILE = /^(?:repo\/[^/]+\/[^/]+\/)?file\//;

export const isAnchor = ({ relation, target }: Link): boolean =>
  relation === "anchoredTo" && FILE.test(target);

/** What follows from a record's links and from what is known of those of them that are anchors. */
export function anchoringOf(links: readonly Link[], anchors: readonly Anchor[]): Anchoring {
  const drifted = anchors.filter(({ captured, current }) => isDrifted(captured, current));
  if (drifted.length > 0) return { state: "stale", drifted };
  const wanted = links.filter(isAnchor).length;
  const known = anchors.filter(({ captured, current }) => captured !== null && current !== null).length;
  if (wanted > known) return { state: "pending", drifted };
  return { state: wanted === 0 ? "none" : "fresh", drifted };
}

/** What `stale` says: null where it cannot be told yet. */
export const staleness = ({ state }: Anchoring): boolean | null =>
  state === "pending" ? null : state === "stale";

export const isDrifted = (captured: string | null, current: string | null): boolean =>
  captured !== null && current !== null && captured !== current;

/** What was found where an anchor points. */
export interface Found {
  /** At the branch's head; null: there is no such branch. */
  readonly atHead: string | null;
  /** At the commit that was the head when it was anchored; null: that is not known, or gone. */
  readonly whenAnchored: string | null;
}

/**
 * The ids of an anchor after a reading. What was not captured yet is taken as it was when it was anchored. A branch that
 * does not exist yet shows nothing to capture; one that is gone has lost what was.
 */
export function afterReading(
  captured: string | null,
  { atHead, whenAnchored }: Found,
): { captured: string | null; current: string | null } {
  if (atHead === null) return { captured, current: captured === null ? null : NO_BRANCH };
  return { captured: captured ?? whenAnchored ?? atHead, current: atHead };
}

const MOST_NAMED = 5;
/** Defects are kept by their value, in an index. */
const MOST_VALUE = 300;

export const pathOf = ({ target }: { readonly target: string }): string => target.slice("file/".length);

/** The drifted anchors by their paths, as far as they fit. */
export function driftValue(drifted: readonly Anchor[]): string {
  const [first = "", ...others] = drifted.map(pathOf);
  let named = first;
  for (const [index, path] of others.entries()) {
    if (named.length + path.length > MOST_VALUE) return `${named} and ${others.length - index} more`;
    named += `, ${path}`;
  }
  return named;
}

/** The drifted anchors in words, and what to do about them. */
export function driftText(drifted: readonly Anchor[]): string {
  const named = drifted.slice(0, MOST_NAMED).map((anchor) => `${pathOf(anchor)} ${changeOf(anchor)}`);
  const more = drifted.length > MOST_NAMED ? `, and ${drifted.length - MOST_NAMED} more` : "";
  return `${named.join(", ")}${more} since it was anchored: check whether the specification still holds, then add the same links again to anchor it anew, or remove them`;
}

function changeOf({ captured, current, branch }: Anchor): string {
  if (current === NO_BRANCH) return `is gone with the branch ${branch}`;
  if (current === ABSENT) return `is gone from ${branch}`;
  return captured === ABSENT ? `appeared on ${branch}` : `changed on ${branch}`;
}

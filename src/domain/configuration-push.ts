/** Whether a push can have changed the configuration file (protocol 12). */

/** A push names at most so many commits; others are left out without a word (github-cases 64). */
const MAX_LISTED_COMMITS = 2_048;

export interface PushFacts {
  readonly created: boolean;
  readonly deleted: boolean;
  readonly forced: boolean;
  /** The paths that each listed commit added, changed or removed. Null: the push lists no commits. */
  readonly commits: readonly (readonly string[])[] | null;
}

/**
 * `yes`: a commit of the push names the file. `unknown`: what the push lists may not be all that changed: it has to be
 * looked. `no`: it lists all, and the file is not among it.
 */
export function touchesFile(push: PushFacts, path: string): "yes" | "no" | "unknown" {
  if (push.deleted) return "no";
  const { commits } = push;
  if (commits?.some((paths) => paths.includes(path))) return push.forced ? "unknown" : "yes";
  return mayHideMore(push) ? "unknown" : "no";
}

/** Whether what the push lists may not be all that it changed. */
export const mayHideMore = ({ created, forced, commits }: PushFacts): boolean =>
  created || forced || commits === null || commits.length === 0 || commits.length >= MAX_LISTED_COMMITS;

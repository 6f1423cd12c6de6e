/** What an anchor stands for in a tree of git: a file's or a directory's id, or those of all that a glob matches. */

import { ABSENT } from "./anchors.ts";
import { globBase, globMatcher, isGlob, isWithin, plainPath, upwards } from "./blast-radius.ts";

export interface TreeEntry {
  readonly path: string;
  /** `blob`, `tree`, or `commit` (a submodule). */
  readonly type: string;
  readonly sha: string;
}

/** An id, or the sorted lines of a set, which its holder digests. */
export type Identity = string | { readonly lines: readonly string[] };

export class AnchoredTree {
  readonly #shas = new Map<string, string>();
  readonly #files: TreeEntry[];
  readonly #root: TreeEntry[];

  /** `entries`: everything in the tree, or at least what `partsOf` names. */
  constructor(entries: readonly TreeEntry[]) {
    for (const { path, sha } of entries) this.#shas.set(path, sha);
    this.#files = entries.filter(({ type }) => type !== "tree");
    this.#root = entries.filter(({ path }) => !path.includes("/"));
  }

  identityOf(anchor: string): Identity {
    const path = plainPath(anchor);
    // The root's own id is not in the list.
    if (path === "") return setOf(this.#root);
    // Before it is taken for a glob: many a file is called `[id].tsx`.
    const sha = this.#shas.get(path);
    if (sha !== undefined) return sha;
    if (!isGlob(path)) return ABSENT;
    const base = globBase(path);
    const matches = globMatcher(path);
    return setOf(this.#files.filter((file) => isWithin(file.path, base) && matches(file.path)));
  }
}

const setOf = (entries: readonly TreeEntry[]): Identity => ({
  lines: entries.map(({ path, sha }) => `${path}\0${sha}`).sort(),
});

/** What has to be known of a tree that GitHub does not list whole. */
export interface TreeParts {
  /** Directories whose own entries are wanted, each after those above it. */
  readonly levels: readonly string[];
  /** Directories of which everything below is wanted. */
  readonly whole: readonly string[];
}

export function partsOf(anchors: readonly string[]): TreeParts {
  const levels = new Set<string>([""]);
  const whole = new Set<string>();
  for (const path of anchors.map(plainPath)) {
    for (const directory of upwards(path).slice(0, -1)) levels.add(directory);
    if (isGlob(path)) whole.add(globBase(path));
  }
  for (const directory of whole) for (const above of upwards(directory).slice(0, -1)) levels.add(above);
  return {
    levels: [...levels].sort((a, b) => a.split("/").length - b.split("/").length),
    // What lies in another of them is read with that.
    whole: [...whole].filter((path) => ![...whole].some((other) => other !== path && isWithin(path, other))),
  };
}

/**
 * The blast radius of an item: the paths it is anchored to (protocol 6, step 11). A directory covers what is below it,
 * and a glob what it matches. Two items whose radii meet are not worked on at once.
 */

import picomatch from "picomatch";

/** What an item touches when it says nothing and the configuration wants it said. */
const EVERYTHING = "**";

/**
 * The radius of an item that is anchored to these paths of its own repository. Research touches nothing. Without
 * anchors nothing is known: it is taken to touch nothing, or everything where the configuration says `requireAnchors`.
 */
export function blastRadius(
  anchors: readonly string[],
  item: { readonly isResearch: boolean; readonly requireAnchors: boolean },
): readonly string[] {
  if (item.isResearch) return [];
  return anchors.length === 0 && item.requireAnchors ? [EVERYTHING] : anchors;
}

export const isGlob = (anchor: string): boolean => /[*?[{]/.test(anchor);

/** A part of a path that is empty or `.`: few have one. */
const NEEDLESS_PART = /(?:^|\/)\.?(?:\/|$)/;

/** Without `.` and needless slashes: `./src//` is the directory `src`. Empty: the whole repository. */
export const plainPath = (anchor: string): string =>
  NEEDLESS_PART.test(anchor)
    ? anchor
        .split("/")
        .filter((part) => part !== "" && part !== ".")
        .join("/")
    : anchor;

/** The directories that a path lies in, the repository's root first, and the path itself. */
export function upwards(path: string): string[] {
  const found = [""];
  if (path === "") return found;
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1))
    found.push(path.slice(0, slash));
  found.push(path);
  return found;
}

/** The part of a glob before its first wildcard, as far as it is whole directories: `src` of a glob for all below it. */
export function globBase(glob: string): string {
  const parts = glob.split("/");
  const wild = parts.findIndex(isGlob);
  return parts.slice(0, wild).join("/");
}

/** What a glob matches: also names that begin with a dot, as git has it. */
export const globMatcher = (glob: string): ((path: string) => boolean) =>
  picomatch(glob, { dot: true, nonegate: true });

/** Whether a path is the directory, or lies below it. */
export const isWithin = (path: string, directory: string): boolean =>
  directory === "" || path === directory || path.startsWith(`${directory}/`);

/** Made once for many questions: making the matcher costs more than many matches. */
interface Glob {
  readonly text: string;
  readonly base: string;
  readonly matches: (path: string) => boolean;
}

const globOf = (text: string): Glob => ({ text, base: globBase(text), matches: globMatcher(text) });

/** Two globs meet, as far as can be told without a file list, when one's directory lies in the other's. */
function globMeets({ text, base, matches }: Glob, other: string): boolean {
  if (isGlob(other)) return isWithin(base, globBase(other)) || isWithin(globBase(other), base);
  // A directory meets the globs that reach below it; what has no extension is taken for one.
  const mayHold = !/\.[^/]+$/.test(other) && isWithin(other, base) && text.includes("**");
  return matches(other) || isWithin(base, other) || mayHold;
}

/** Where anchors can lie that these may meet: at a place, or anywhere below a directory (empty: the root). */
export function reachOf(radii: Iterable<readonly string[]>): { at: string[]; below: string[] } {
  const at = new Set<string>();
  const below = new Set<string>();
  for (const anchor of [...radii].flat().map(plainPath)) {
    const root = isGlob(anchor) ? globBase(anchor) : anchor;
    below.add(root);
    for (const directory of upwards(root)) at.add(directory);
  }
  return { at: [...at], below: [...below] };
}

/** The radii of the items in flight, to be asked which of them another radius meets. */
export class RadiusIndex {
  /** Items by each of their paths, and by each directory that those lie in. */
  readonly #at = new Map<string, Set<number>>();
  readonly #below = new Map<string, Set<number>>();
  readonly #globs: { glob: Glob; number: number }[] = [];
  readonly #paths: { path: string; number: number }[] = [];

  constructor(items: Iterable<{ readonly number: number; readonly radius: readonly string[] }>) {
    for (const { number, radius } of items) {
      for (const anchor of radius) this.#add(number, plainPath(anchor));
    }
  }

  #add(number: number, anchor: string): void {
    if (isGlob(anchor)) {
      this.#globs.push({ glob: globOf(anchor), number });
      return;
    }
    this.#paths.push({ path: anchor, number });
    put(this.#at, anchor, number);
    for (const directory of upwards(anchor)) put(this.#below, directory, number);
  }

  /** The items whose radius this one meets, ascending; never itself. */
  meets(item: { readonly number: number; readonly radius: readonly string[] }): number[] {
    const found = new Set<number>();
    for (const anchor of item.radius.map(plainPath)) {
      if (isGlob(anchor)) {
        const glob = globOf(anchor);
        for (const { path, number } of this.#paths) if (globMeets(glob, path)) found.add(number);
      } else {
        for (const directory of upwards(anchor)) add(found, this.#at.get(directory));
        add(found, this.#below.get(anchor));
      }
      for (const { glob, number } of this.#globs) if (globMeets(glob, anchor)) found.add(number);
    }
    found.delete(item.number);
    return [...found].sort((a, b) => a - b);
  }
}

function put(map: Map<string, Set<number>>, key: string, number: number): void {
  const numbers = map.get(key);
  if (numbers) numbers.add(number);
  else map.set(key, new Set([number]));
}

function add(found: Set<number>, numbers: ReadonlySet<number> | undefined): void {
  for (const number of numbers ?? []) found.add(number);
}

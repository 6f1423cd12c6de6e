import { createHash } from "node:crypto";
import type { Account, Commit, FileTree } from "./model.ts";
import type { World } from "./world.ts";

/** New text for a path; null removes it. */
export type FileChanges = ReadonlyMap<string, string | null>;

export type NewCommit = {
  message: string;
  author: Account;
  parents: string[];
  files: FileTree;
};

export type FileDiff = {
  path: string;
  status: "added" | "modified" | "removed";
  before: string | null;
  after: string | null;
};

/** What git itself would say, so that a real clone's `git hash-object` agrees. */
export function blobSha(text: string): string {
  const content = Buffer.from(text);
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

export function treeSha(files: FileTree, under = ""): string {
  const hash = createHash("sha1").update("tree");
  for (const path of [...files.keys()].sort()) {
    if (path.startsWith(under)) hash.update(`${path}\0${blobSha(files.get(path) ?? "")}`);
  }
  return hash.digest("hex");
}

export function addCommit(world: World, from: NewCommit): Commit {
  const commit: Commit = { ...from, sha: commitSha(world, from), at: world.now() };
  world.commits.set(commit.sha, commit);
  return commit;
}

export function changeFiles(files: FileTree, changes: FileChanges): FileTree {
  const changed = new Map(files);
  for (const [path, text] of changes) {
    if (text === null) changed.delete(path);
    else changed.set(path, text);
  }
  return changed;
}

export function diff(before: FileTree, after: FileTree): FileDiff[] {
  const rows: FileDiff[] = [];
  for (const path of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const old = before.get(path) ?? null;
    const now = after.get(path) ?? null;
    if (old === now) continue;
    const status = old === null ? "added" : now === null ? "removed" : "modified";
    rows.push({ path, status, before: old, after: now });
  }
  return rows;
}

export function diffFromParent(world: World, commit: Commit): FileDiff[] {
  const [parent] = commit.parents;
  return diff(parent ? world.commit(parent).files : new Map(), commit.files);
}

/** Applies what `ours` did since `base` to `theirs`, as a merge without conflicts does. */
export function mergeFiles(base: FileTree, ours: FileTree, theirs: FileTree): FileTree {
  return changeFiles(theirs, new Map(diff(base, ours).map((row) => [row.path, row.after])));
}

function ancestors(world: World, sha: string): Set<string> {
  const seen = new Set<string>();
  const open = [sha];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...world.commit(next).parents);
  }
  return seen;
}

/** Commits that `head` has and `base` has not, oldest first. */
export function commitsBetween(world: World, base: string | null, head: string): Commit[] {
  const known = base === null ? new Set<string>() : ancestors(world, base);
  const found: Commit[] = [];
  const seen = new Set<string>();
  const open = [head];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (known.has(next) || seen.has(next)) continue;
    seen.add(next);
    const commit = world.commit(next);
    found.push(commit);
    open.push(...commit.parents);
  }
  return found.reverse();
}

/** The first commit, walking back from `head`, that `base` has too. */
export function mergeBase(world: World, base: string, head: string): Commit | null {
  const known = ancestors(world, base);
  const seen = new Set<string>();
  const open = [head];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (known.has(next)) return world.commit(next);
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...world.commit(next).parents);
  }
  return null;
}

function commitSha(world: World, from: NewCommit): string {
  return createHash("sha1")
    .update(`commit ${world.nextId()} ${from.parents.join(" ")}\n${from.message}`)
    .digest("hex");
}

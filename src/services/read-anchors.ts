/**
 * Reads what is anchored on a branch, outside any transaction, and stores what became of it (protocol 11). One branch at a
 * time, whichever is due: a push touched it or may have, something was anchored anew, or it was not read for a day.
 */

import { createHash, randomUUID } from "node:crypto";
import { setImmediate as pause, setTimeout as rest } from "node:timers/promises";
import { AnchoredTree, partsOf } from "../domain/anchored-tree.ts";
import { afterReading, isDrifted, pathOf } from "../domain/anchors.ts";
import { numberOfRef } from "../domain/record-key.ts";
import type { Client } from "../github/connection.ts";
import { failureOf } from "../github/failure.ts";
import type { RepoAddress } from "../github/reads.ts";
import { readBranchHead, readTree, TreeTooLarge } from "../github/trees.ts";
import {
  type AnchorNews,
  type AnchorRow,
  anchorsAt,
  type DueBranch,
  finishReading,
  releaseBranch,
  saveNews,
  takeDueBranch,
} from "../store/anchored-branches.ts";
import { findRepositoryById } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { clientOf } from "./supervise-requests.ts";

/** After a failure that names no time. */
const RETRY_SECONDS = 30;
/** How often, and after what time, what somebody was writing to is tried again. */
const SAVE_TRIES = 10;
const SAVE_AGAIN_MS = 100;
/** The tree is as large tomorrow as today, almost always. */
const RETRY_LARGE_SECONDS = 86_400;

/** Reads one branch that is due. False: none is. */
export async function readDueBranch(deps: Deps): Promise<boolean> {
  if (!deps.github.isUsable) return false;
  const reader = `${deps.replica}/${randomUUID()}`;
  const due = await takeDueBranch(deps.db, reader);
  if (due === null) return false;
  try {
    await read(deps, due, reader);
  } catch (error) {
    const failure = failureOf(error);
    const otherwise = error instanceof TreeTooLarge ? RETRY_LARGE_SECONDS : RETRY_SECONDS;
    const seconds = failure.retryAfterSeconds ?? otherwise;
    const { repositoryId, name: branch } = due;
    deps.log.warn(
      { repositoryId, branch, reason: failure.message, retryInSeconds: seconds },
      "what is anchored on a branch could not be read, and will be",
    );
    await releaseBranch(deps.db, due, reader, seconds);
  }
  return true;
}

async function read(deps: Deps, due: DueBranch, reader: string): Promise<void> {
  const repository = await findRepositoryById(deps.db, due.repositoryId);
  if (repository === null) throw new Error("the repository is not known any more");
  const client = await clientOf(deps, due.installationId);
  const anchors = await anchorsAt(deps.db, due);
  const head = await readBranchHead(client, repository, due.name);
  const atHead = head === null ? null : await readIds(client, repository, head, anchors);
  if (head !== null && atHead === null) throw new Error("the branch moved while it was read");
  const before = await readEarlier(client, repository, head, anchors);
  const news = anchors.flatMap((anchor): AnchorNews[] => {
    const path = pathOf(anchor);
    const { sinceSha, captured, current } = anchor;
    const ids = afterReading(anchor.captured, {
      atHead: atHead?.get(path) ?? null,
      whenAnchored: sinceSha === null ? null : (before.get(sinceSha)?.get(path) ?? null),
    });
    const isNews = anchor.readAt === null || ids.captured !== captured || ids.current !== current;
    if (!isNews) return [];
    const drifted = isDrifted(ids.captured, ids.current);
    const item = drifted || isDrifted(captured, current) ? numberOfRef(anchor) : null;
    return [{ ...anchor, ...ids, drifted, item }];
  });
  const isWhole = await save(deps, due, reader, news);
  await finishReading(deps.db, due, reader, { head, isWhole });
}

/** False: some of it could not be stored, however often it was tried. */
async function save(
  deps: Deps,
  due: DueBranch,
  reader: string,
  news: readonly AnchorNews[],
): Promise<boolean> {
  let left: readonly AnchorNews[] | null = news;
  for (let tries = 0; left !== null && left.length > 0 && tries < SAVE_TRIES; tries++) {
    if (tries > 0) await rest(SAVE_AGAIN_MS);
    left = await saveNews(deps.db, due, reader, left);
  }
  return left !== null && left.length === 0;
}

/** What is not captured yet, as it was at the heads of the time, where those are not the head any more. */
async function readEarlier(
  client: Client,
  repo: RepoAddress,
  head: string | null,
  anchors: readonly AnchorRow[],
): Promise<Map<string, ReadonlyMap<string, string>>> {
  const earlier = new Map<string, ReadonlyMap<string, string>>();
  if (head === null) return earlier;
  const uncaptured = anchors.filter(({ captured }) => captured === null);
  const commits = new Set(uncaptured.flatMap(({ sinceSha }) => sinceSha ?? []));
  commits.delete(head);
  for (const commit of commits) {
    const then = uncaptured.filter(({ sinceSha }) => sinceSha === commit);
    const ids = await readIds(client, repo, commit, then);
    if (ids !== null) earlier.set(commit, ids);
  }
  return earlier;
}

/** The ids of what is anchored, by path, at a commit. Null: there is no such commit. */
async function readIds(
  client: Client,
  repo: RepoAddress,
  commit: string,
  anchors: readonly AnchorRow[],
): Promise<ReadonlyMap<string, string> | null> {
  const paths = [...new Set(anchors.map(pathOf))];
  const entries = await readTree(client, repo, commit, partsOf(paths));
  if (entries === null) return null;
  const tree = new AnchoredTree(entries);
  const ids = new Map<string, string>();
  for (const path of paths) {
    const identity = tree.identityOf(path);
    ids.set(path, typeof identity === "string" ? identity : digest(identity.lines));
    // Matching a large tree takes its time, and others are waiting.
    if (typeof identity !== "string") await pause();
  }
  return ids;
}

const digest = (lines: readonly string[]): string =>
  `set:${createHash("sha256").update(lines.join("\n")).digest("hex")}`;

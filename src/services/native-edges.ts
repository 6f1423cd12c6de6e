/** Puts what GitHub says of its own links into the store, in a transaction, and keeps the cycles in step. */

import type { GitHubIssue } from "../contract/github-payloads.ts";
import { itemRef, itemTarget } from "../domain/record-key.ts";
import { issueSnapshot } from "../github/snapshots.ts";
import type { Trx } from "../store/database.ts";
import { lockEdges } from "../store/edges.ts";
import { introduceIssue } from "../store/mirror.ts";
import { hasEdge, type IssueAt, type NativeEdge, saveNativeEdge } from "../store/native-links.ts";
import { lockRecord } from "../store/records.ts";
import { noteEdgeAdded, noteEdgeRemoved } from "./cycles.ts";
import type { Place } from "./link-ends.ts";

/** Before the edges of an issue are decided: what decides on its item first, the graph last. */
export async function lockIssueEdges(trx: Trx, at: IssueAt): Promise<void> {
  await lockRecord(trx, itemRef(at.repositoryId, at.number));
  await lockEdges(trx);
}

/** Keeps what was said of edges of one issue. What we have of our own stays. */
export async function putEdges(trx: Trx, from: IssueAt, edges: readonly NativeEdge[]): Promise<void> {
  for (const edge of edges) {
    const had = await hasEdge(trx, from, edge);
    await saveNativeEdge(trx, from, edge);
    const has = await hasEdge(trx, from, edge);
    if (had === has) continue;
    const step = { from: { repositoryId: from.repositoryId, target: itemTarget(from.number) }, to: edge };
    await (has ? noteEdgeAdded : noteEdgeRemoved)(trx, edge.relation, step);
  }
}

/**
 * A closed issue that a link names and that the mirror does not have: it was closed before the App came, and no
 * backfill lists it. Open ones come by themselves.
 */
export async function introduceClosed(trx: Trx, place: Place, issue: GitHubIssue | null): Promise<void> {
  if (!place.repository?.installed || issue === null || issue.pull_request || issue.state !== "closed")
    return;
  await introduceIssue(trx, place.repository.id, issueSnapshot(issue));
}

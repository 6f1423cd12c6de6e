/** Reads a memory record. An absent or expired one is an answer, not an error (protocol 2). */

import type { RecallAnswer, RecordAnswer } from "../contract/memory.ts";
import { anchoringOf, isAnchor, staleness } from "../domain/anchors.ts";
import { unknownRelations } from "../domain/defects.ts";
import { type RepositoryName, recordKey } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import { findAnchors } from "../store/anchors.ts";
import type { Db } from "../store/database.ts";
import { findRecord, type MemoryRecord } from "../store/records.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";
import { type LinkPrinter, linkPrinter, printAnchors } from "./record-links.ts";
import { sightOf } from "./sight.ts";

export async function recall(deps: Deps, target: ClaimTarget, view: View): Promise<RecallAnswer> {
  const record = await findRecord(deps.db, refOf(target));
  if (!record) return { exists: false, key: recordKey(target.repository, target.topic, target.id) };
  return recordAnswer(deps.db, target, record, view);
}

/** A record that its reader may see, without its links to what the reader may not. */
export async function recordAnswer(
  db: Db,
  target: ClaimTarget,
  record: MemoryRecord,
  view: View,
): Promise<RecordAnswer> {
  const isSeen = await sightOf(db, view, record.links);
  const links = record.links.filter((link) => isSeen(link));
  const anchors = record.links.some(isAnchor) ? await findAnchors(db, refOf(target)) : [];
  const anchoring = anchoringOf(record.links, anchors);
  return {
    ...(await recordBody(target.repository, { ...record, links }, linkPrinter(db, target.repository))),
    // Null: not read yet. A record without anchors cannot be stale.
    stale: staleness(anchoring),
    staleLinks: await printAnchors(db, target.repository, anchoring.drifted),
  };
}

/** All of a record but whether it is stale. */
export async function recordBody(
  repository: RepositoryName,
  record: MemoryRecord,
  print: LinkPrinter,
): Promise<Omit<RecordAnswer, "stale" | "staleLinks">> {
  return {
    exists: true,
    key: recordKey(repository, record.topic, record.id),
    topic: record.topic,
    id: record.id,
    kind: record.kind as RecordAnswer["kind"],
    title: record.title,
    body: record.body,
    author: record.author,
    provenance: record.provenance,
    tags: [...record.tags],
    links: await print(record.links),
    createdAt: record.createdAt.toISOString(),
    updatedAt: record.updatedAt.toISOString(),
    writtenBy: record.writtenBy,
    expiresAt: record.expiresAt?.toISOString() ?? null,
    unknownRelations: unknownRelations(record.links.map(({ relation }) => relation)),
  };
}

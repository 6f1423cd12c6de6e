/** Lists memory: topics with counts, and the records of a topic (protocol 2). */

import { z } from "zod";
import { MOST_COUNTED } from "../contract/items.ts";
import { RecordId, Topic } from "../contract/memory.ts";
import type { ScanAnswer, ScanQuery, TopicsAnswer, TopicsQuery } from "../contract/memory-reading.ts";
import { hasMore, listTopics, scanRecords } from "../store/memory-lists.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import { keyCursor, readKeyCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { recordBody } from "./recall.ts";
import { linkPrinter } from "./record-links.ts";
import { sightOf } from "./sight.ts";

const TopicCursor = z.tuple([z.literal("topic"), Topic]);
const RecordCursor = z.tuple([z.literal("record"), RecordId]);

export async function topics(
  deps: Deps,
  caller: Caller,
  repository: Repository,
  { cursor, limit }: TopicsQuery,
): Promise<TopicsAnswer> {
  const after = readKeyCursor(cursor, TopicCursor)?.[1] ?? "";
  const page = { after, limit, mostCounted: MOST_COUNTED };
  const found = await listTopics(deps.db, repository.id, caller.scope, page);
  return { topics: found.topics, nextCursor: found.last === null ? null : keyCursor(["topic", found.last]) };
}

/**
 * A page of a topic's records by id, which never changes: so whatever is written meanwhile, a record that is there
 * throughout is in exactly one page.
 */
export async function scan(
  deps: Deps,
  caller: Caller,
  repository: Repository,
  topic: string,
  { cursor, limit }: ScanQuery,
): Promise<ScanAnswer> {
  const after = readKeyCursor(cursor, RecordCursor)?.[1] ?? "";
  const at = { repositoryId: repository.id, topic };
  const records = await scanRecords(deps.db, at, caller.scope, { after, limit });
  const print = linkPrinter(deps.db, repository);
  const bodies: ScanAnswer["records"] = [];
  const isSeen = await sightOf(
    deps.db,
    caller,
    records.flatMap(({ links }) => links),
  );
  for (const record of records) {
    const links = record.links.filter((link) => isSeen(link));
    const body = await recordBody(repository, { ...record, links }, print);
    bodies.push({ ...body, stale: null, staleLinks: null });
  }
  const last = records.at(-1)?.id;
  const more = last !== undefined && (await hasMore(deps.db, at, caller.scope, last));
  return { records: bodies, nextCursor: more ? keyCursor(["record", last]) : null };
}

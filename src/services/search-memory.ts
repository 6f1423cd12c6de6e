/** Searches memory (protocol 2). Nothing that is typed is an error. */

import type { SearchAnswer, SearchQuery } from "../contract/memory-reading.ts";
import { recordKey } from "../domain/record-key.ts";
import { highlight, searchQuery } from "../domain/search-text.ts";
import type { Repository } from "../store/repositories.ts";
import { searchRecords } from "../store/search.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";

export async function searchMemory(
  deps: Deps,
  caller: Caller,
  repository: Repository,
  { q, topic, limit }: SearchQuery,
): Promise<SearchAnswer> {
  const at = { repositoryId: repository.id, topic };
  const found = await searchRecords(deps.db, at, caller.scope, searchQuery(q), limit);
  const results = found.map((record) => ({
    key: recordKey(repository, record.topic, record.id),
    topic: record.topic,
    id: record.id,
    kind: record.kind as SearchAnswer["results"][number]["kind"],
    title: record.title,
    tags: [...record.tags],
    author: record.author,
    createdAt: record.createdAt.toISOString(),
    updatedAt: record.updatedAt.toISOString(),
    expiresAt: record.expiresAt?.toISOString() ?? null,
    rank: record.rank,
    highlights: {
      title: highlight(record.title ?? "", record.markedTitle),
      body: highlight(record.excerptOf, record.markedBody),
    },
  }));
  return { results, capped: found[0]?.capped ?? false };
}

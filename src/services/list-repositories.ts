/** The repositories that Leasehold knows. */

import type { ReposAnswer } from "../contract/operations.ts";
import { listRepositories } from "../store/repositories.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";

export async function listRepos(
  deps: Deps,
  query: { cursor?: string | undefined; limit: number },
): Promise<ReposAnswer> {
  const after = query.cursor === undefined ? null : readCursor(query.cursor, 0, Number.MAX_SAFE_INTEGER);
  const rows = await listRepositories(deps.db, after, query.limit + 1);
  const repos = rows.slice(0, query.limit);
  const last = repos.at(-1);
  return {
    repos: repos.map(({ owner, name, id, installed, items, mirrorAgeSeconds }) => ({
      owner,
      name,
      id,
      installed,
      items,
      mirrorAgeSeconds,
    })),
    nextCursor: rows.length > query.limit && last ? cursorOf(last.id) : null,
  };
}

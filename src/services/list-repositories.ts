/** The repositories that Leasehold knows and the caller may see. */

import type { ReposAnswer } from "../contract/operations.ts";
import type { View } from "../domain/scope.ts";
import { listRepositories } from "../store/repositories.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";

export async function listRepos(
  deps: Deps,
  query: { cursor?: string | undefined; limit: number },
  view: View,
): Promise<ReposAnswer> {
  const after = query.cursor === undefined ? null : readCursor(query.cursor, 0, Number.MAX_SAFE_INTEGER);
  const rows = await listRepositories(deps.db, after, query.limit + 1, view);
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

/** Reads the heads of a repository's branches: what pushes told, had none been missed. */

import { listBranches } from "../github/branches.ts";
import type { Client } from "../github/connection.ts";
import { saveAnchorPush } from "../store/anchors.ts";
import { anchoredHeads, branchHeads, saveReadHead } from "../store/branches.ts";
import type { Repository } from "../store/repositories.ts";
import { meetBase, noteWork } from "./branch-moved.ts";
import type { Deps } from "./deps.ts";

/** `by`: GitHub's time, later than any push that the heads come from. One request for a hundred branches. */
export async function readBranches(
  deps: Deps,
  client: Client,
  repository: Repository,
  by: Date,
): Promise<void> {
  const listed = await listBranches(client, repository);
  const known = await branchHeads(deps.db, repository.id);
  for (const name of new Set([...known.keys(), ...listed.keys()])) {
    // No branch: GitHub makes and deletes them for its merge queue.
    if (name.startsWith("gh-readonly-queue/")) continue;
    const sha = listed.get(name) ?? null;
    if (sha === (known.get(name) ?? null)) continue;
    await deps.db.transaction().execute(async (trx) => {
      if (sha !== null) await meetBase(trx, repository, name);
      await saveReadHead(trx, repository.id, { name, sha, by });
      // The first time a branch is seen tells nothing of when it was worked on.
      if (sha !== null && known.has(name)) await noteWork(trx, repository, name);
    });
  }
  const anchored = [...(await anchoredHeads(deps.db, repository.id))];
  for (const [name, seen] of anchored) {
    if (seen === (listed.get(name) ?? null)) continue;
    await deps.db
      .transaction()
      .execute((trx) => saveAnchorPush(trx, repository.id, name, { seen: null, isRead: true }));
  }
  deps.wake.anchors();
}

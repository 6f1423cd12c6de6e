/** `push`: a branch has another head. Tags and merge-queue refs are no branches (github-cases 67). */

import type { z } from "zod";
import type { PushPayload } from "../contract/github-payloads.ts";
import { itemOfBranch } from "../domain/branch-names.ts";
import { addChangedPaths, itemsAtBranch } from "../store/handover.ts";
import { findItem, markActive } from "../store/items.ts";
import { saveBranchHead } from "../store/pulls.ts";
import type { Deps } from "./deps.ts";
import { knownRepository } from "./known-repository.ts";
import { settleDelivery } from "./settle-delivery.ts";

type Payload = z.infer<typeof PushPayload>;

export async function applyPush(deps: Deps, seq: number, payload: Payload): Promise<void> {
  const repository = await knownRepository(deps, payload);
  const branch = /^refs\/heads\/(?!gh-readonly-queue\/)(.+)$/.exec(payload.ref)?.[1];
  await settleDelivery(deps, seq, async (trx) => {
    if (!repository || !branch) return;
    const pushedAt = payload.repository?.pushed_at;
    await saveBranchHead(trx, repository.id, {
      name: branch,
      sha: payload.deleted ? null : payload.after,
      pusherId: payload.sender?.id ?? null,
      pusherLogin: payload.sender?.login ?? null,
      pushedAt: typeof pushedAt === "number" ? new Date(pushedAt * 1000) : new Date(pushedAt ?? 0),
    });
    if (payload.deleted) return;
    const named = itemOfBranch(branch);
    // A push to the default branch is nobody's work, whatever a resume block says.
    const recorded =
      branch === repository.defaultBranch ? [] : await itemsAtBranch(trx, repository.id, branch);
    const items = new Set(recorded);
    if (named) items.add(named.number);
    for (const number of items) {
      if (!(await findItem(trx, repository.id, number))) continue;
      await markActive(trx, repository.id, number);
      // What a rewritten branch still holds of earlier pushes is not known.
      const afresh = payload.created === true || payload.forced === true;
      await addChangedPaths(trx, repository.id, number, pathsOf(payload), afresh);
    }
  });
}

const pathsOf = ({ commits }: Payload): string[] => [
  ...new Set(
    (commits ?? []).flatMap(({ added, modified, removed }) => [
      ...(added ?? []),
      ...(modified ?? []),
      ...(removed ?? []),
    ]),
  ),
];

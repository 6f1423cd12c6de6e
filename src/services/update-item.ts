/** Changes what may be changed of an item: its tags, its links, and under a claim its resume block (protocol 2). */

import type { ItemBody, ItemPatch } from "../contract/items.ts";
import { BACKLOG, itemId } from "../domain/record-key.ts";
import { findItem } from "../store/items.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { fencedWrite } from "./fenced-write.ts";
import { getItem, noItem } from "./read-items.ts";
import { movesAnchors, patchRecord } from "./remember.ts";
import { recording, writeResume } from "./write-resume.ts";

export async function updateItem(
  deps: Deps,
  caller: Caller,
  at: { repository: Repository; number: number },
  token: number | null,
  { resume, ...patch }: ItemPatch,
): Promise<ItemBody> {
  const { repository, number } = at;
  const target = { repository, topic: BACKLOG, id: itemId(number) };
  const answer = await recording(deps, repository, resume, (inside) =>
    fencedWrite(inside, caller, target, token, async (trx, holder) => {
      if (!(await findItem(trx, repository.id, number))?.enrolled) throw noItem(repository, number);
      if (resume) await writeResume(trx, at, holder, resume);
      if (patch.tags || patch.links) await patchRecord(trx, caller, target, patch);
      return getItem({ ...deps, db: trx }, repository, number, caller);
    }),
  );
  if (resume) {
    deps.wake.outbox();
    deps.wake.pulls();
  }
  if (movesAnchors(patch)) deps.wake.anchors();
  return answer;
}

/**
 * A result that comes too late is kept (issue of the claims, "Late results are kept"): the write is refused, for the
 * claim belongs to another or has ended, but what was finished is not lost. It is never applied by itself.
 */

import { createHash } from "node:crypto";
import type { ResumeWrite } from "../contract/handover.ts";
import { Problem } from "../contract/problem.ts";
import { LATE_RESULTS, lateResultRecord } from "../domain/late-result.ts";
import { type RepositoryName, recordKey } from "../domain/record-key.ts";
import { findGrant } from "../store/claims.ts";
import { inTransaction } from "../store/database.ts";
import { addLinks, saveRecord } from "../store/records.ts";
import { findRepositoryByName } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";

/** A write as it came in. */
export interface LateWrite {
  readonly repository: RepositoryName;
  readonly topic: string;
  readonly id: string;
  readonly token: number | null;
  readonly request: {
    readonly body?: string | null | undefined;
    readonly resume?: ResumeWrite | undefined;
  };
}

/** Runs the write. If it comes too late, what it carries is kept aside, and the refusal says where. */
export async function keepingLate<T>(
  deps: Deps,
  caller: Caller,
  write: LateWrite,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Problem) || !isLate(error) || !carriesWork(write)) throw error;
    const kept = await keep(deps, caller, write, error.code);
    if (kept === null) throw error;
    throw new Problem(error.code, `${error.message}. What you sent was kept as ${kept}, and not applied`, {
      lateResult: kept,
    });
  }
}

const isLate = ({ code }: Problem): boolean => code === "stale_token" || code === "claim_released";

const carriesWork = ({ request }: LateWrite): boolean =>
  Boolean(request.body) || request.resume !== undefined;

/** Where it is kept. Sent again, it is the same record: the id is made from what it holds. */
async function keep(deps: Deps, caller: Caller, write: LateWrite, code: string): Promise<string | null> {
  const { topic, id, token, request } = write;
  const repository = await findRepositoryByName(deps.db, write.repository.owner, write.repository.name);
  if (!repository || token === null) return null;
  const of = { repositoryId: repository.id, topic, id };
  const text = JSON.stringify(request);
  const digest = createHash("sha256").update(`${topic}/${id}/${text}`).digest("hex").slice(0, 12);
  const ref = {
    repositoryId: repository.id,
    topic: LATE_RESULTS,
    id: `${id.slice(0, 80)}-${token}-${digest}`,
  };
  await inTransaction(deps.db, async (trx) => {
    const owner = (await findGrant(trx, of, token))?.owner ?? caller.actor;
    const record = lateResultRecord({
      key: recordKey(repository, topic, id),
      topic,
      id,
      token,
      code,
      owner,
      request,
    });
    await saveRecord(trx, ref, { ...record, writtenBy: caller.actor });
    await addLinks(trx, ref, [
      { relation: "related", repositoryId: repository.id, target: `mem/${topic}/${id}` },
    ]);
  });
  return recordKey(repository, ref.topic, ref.id);
}

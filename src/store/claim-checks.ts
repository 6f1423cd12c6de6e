/** What the claim check on a pull request is decided from, and how it stands on GitHub (protocol 8). */

import { sql } from "kysely";
import type { CheckedItem } from "../domain/claim-check.ts";
import type { Db, Trx } from "./database.ts";

export interface ClaimCheckFacts {
  readonly head: string;
  readonly items: readonly CheckedItem[];
  /** Who pushed the head to a branch of this repository; null: not known. */
  readonly pusher: {
    readonly branch: string;
    readonly id: number | null;
    readonly login: string | null;
    readonly type: string | null;
    /** Null: not asked yet. */
    readonly byHuman: boolean | null;
  } | null;
  /** The check as it was written last, of whatever head. */
  readonly written: { readonly runId: number; readonly head: string; readonly said: string | null } | null;
}

/** Null: the pull request is closed, or no item's own. */
export async function findClaimCheckFacts(
  db: Db,
  repositoryId: number,
  pull: number,
): Promise<ClaimCheckFacts | null> {
  const { rows } = await sql<ClaimCheckFacts>`
    select p.head_sha as head,
      (select coalesce(jsonb_agg(jsonb_build_object('number', i.number, 'admitted', i.admitted,
          'parked', i.state is not distinct from 'parked', 'mark', c.fence,
          'marksAbove', array(select a.fence from claim a where a.repository_id = i.repository_id
            and a.topic = 'backlog' and a.scope = 'subtree' and a.id = any (select 'issue-' || x from unnest(i.ancestors) x)),
          'recorded', case when b.sha is not null and b.location_fence is not null
            then jsonb_build_object('sha', b.sha, 'fence', b.location_fence) end) order by i.number), '[]')
        from own_pull o join item i on i.repository_id = o.repository_id and i.number = o.number and i.enrolled
        left join claim c on c.repository_id = i.repository_id and c.topic = 'backlog' and c.id = 'issue-' || i.number
        left join resume_block b on b.repository_id = i.repository_id and b.number = i.number
        where o.repository_id = p.repository_id and o.pull_number = p.number) as items,
      (select jsonb_build_object('branch', h.name, 'id', h.pusher_id, 'login', h.pusher_login, 'type', h.pusher_type,
          'byHuman', h.by_human)
        from branch h where h.repository_id = p.repository_id and p.head_repository_id = p.repository_id
          and h.name = p.head_ref and h.head_sha = p.head_sha) as pusher,
      case when p.check_run_id is not null then jsonb_build_object('runId', p.check_run_id, 'head', p.check_head,
        'said', p.check_said) end as written
    from pull_request p
    where p.repository_id = ${repositoryId} and p.number = ${pull} and p.state = 'open' and p.head_sha is not null`.execute(
    db,
  );
  const facts = rows[0];
  return facts && facts.items.length > 0 ? facts : null;
}

/** Whether who pushed this head is a human with write access, as GitHub said. Another push asks anew. */
export async function saveByHuman(
  db: Db,
  repositoryId: number,
  branch: string,
  head: string,
  byHuman: boolean,
): Promise<void> {
  await db
    .updateTable("branch")
    .set({ by_human: byHuman })
    .where("repository_id", "=", repositoryId)
    .where("name", "=", branch)
    .where("head_sha", "=", head)
    .execute();
}

/** The check as GitHub has it now. */
export async function saveClaimCheck(
  trx: Trx,
  repositoryId: number,
  pull: number,
  written: { runId: number; head: string; conclusion: string; said: string },
): Promise<void> {
  await trx
    .updateTable("pull_request")
    .set({
      check_run_id: written.runId,
      check_head: written.head,
      check_conclusion: written.conclusion,
      check_said: written.said,
    })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", pull)
    .execute();
}

/** Somebody asks for the check once more: what was written is not relied on. */
export async function forgetClaimChecks(trx: Trx, repositoryId: number, head: string): Promise<void> {
  await sql`
    update pull_request set check_said = null
    where repository_id = ${repositoryId} and head_sha = ${head} and state = 'open'`.execute(trx);
  await sql`
    select ask_claim_check(p.repository_id, p.number) from pull_request p
    where p.repository_id = ${repositoryId} and p.head_sha = ${head} and p.state = 'open' order by p.number`.execute(
    trx,
  );
}

/** What a transferred item takes along to its new place (protocol 1). All of it may be done twice. */

import { sql } from "kysely";
import { BACKLOG, itemId } from "../domain/record-key.ts";
import type { Trx } from "./database.ts";
import type { IssueAt } from "./native-links.ts";

/** Where an item was, and whether it was parked before its tombstone was cancelled. */
export interface MovedItem extends IssueAt {
  readonly parked: boolean;
  readonly parkReason: string | null;
  readonly rulingOwner: string | null;
  readonly question: string | null;
  /** Whether the new place has taken that over. */
  readonly inherited: boolean;
}

/** Keeps whether the item is parked, as long as it is not the tombstone yet. */
export async function keepPark(trx: Trx, { repositoryId, number }: IssueAt): Promise<void> {
  await sql`
    update moved_issue m set parked = i.state is not distinct from 'parked', park_reason = i.park_reason, ruling_owner = i.ruling_owner, question = i.question
    from item i where m.repository_id = ${repositoryId} and m.number = ${number}
      and i.repository_id = m.repository_id and i.number = m.number and i.state is distinct from 'cancelled'`.execute(
    trx,
  );
}

/** Where the issue was transferred from, or null. */
export async function movedFrom(trx: Trx, to: IssueAt): Promise<MovedItem | null> {
  const { rows } = await sql<MovedItem>`
    select repository_id as "repositoryId", number, parked, park_reason as "parkReason", ruling_owner as "rulingOwner",
      question, inherited_at is not null as inherited
    from moved_issue where to_repository_id = ${to.repositoryId} and to_number = ${to.number}
    order by repository_id, number limit 1`.execute(trx);
  return rows[0] ?? null;
}

/** Text, authored tags, and the edges that we made. What names a file, a branch or a pull request stays where those are. */
export async function moveRecord(trx: Trx, from: IssueAt, to: IssueAt): Promise<void> {
  const [old, own] = [itemId(from.number), itemId(to.number)];
  await sql`
    update record t set
      kind = s.kind,
      title = coalesce(s.title, t.title), body = coalesce(s.body, t.body),
      author = coalesce(s.author, t.author), provenance = coalesce(s.provenance, t.provenance),
      written_by = coalesce(s.written_by, t.written_by),
      tags = array(
        select tag from unnest(t.tags) tag
          where split_part(tag, ':', 1) <> all (array['phase', 'homeRegion'])
            or not exists (select 1 from unnest(s.tags) had where split_part(had, ':', 1) = split_part(tag, ':', 1))
        union
        select had from unnest(s.tags) had
          where split_part(had, ':', 1) <> all (array['backlog', 'state', 'priority', 'pr', 'baseBranch']))
    from record s
    where s.repository_id = ${from.repositoryId} and s.topic = ${BACKLOG} and s.id = ${old}
      and t.repository_id = ${to.repositoryId} and t.topic = ${BACKLOG} and t.id = ${own}
      and (t.created_at = t.updated_at or s.updated_at > t.updated_at)`.execute(trx);
  await sql`
    insert into record_link (repository_id, topic, id, relation, target_repository_id, target, created_at, own, native)
    select ${to.repositoryId}, topic, ${own}, relation, target_repository_id, target, created_at, true, false
    from record_link
    where repository_id = ${from.repositoryId} and topic = ${BACKLOG} and id = ${old} and own
      and target not like 'file/%'
    on conflict (repository_id, topic, id, relation, target_repository_id, target) do update set own = true`.execute(
    trx,
  );
  await sql`
    delete from record_link where repository_id = ${from.repositoryId} and topic = ${BACKLOG} and id = ${old} and own
      and target not like 'file/%'`.execute(trx);
  await sql`
    insert into resume_block (repository_id, number, note, fence, owner, written_at)
    select ${to.repositoryId}, ${to.number}, note, fence, owner, written_at from resume_block
    where repository_id = ${from.repositoryId} and number = ${from.number} and note is not null
    on conflict (repository_id, number) do nothing`.execute(trx);
}

/** Attempts go on counting, and no token that was given out at the old place is given out or honoured at the new one. */
export async function moveAttempts(trx: Trx, from: IssueAt, to: IssueAt): Promise<void> {
  const [old, own] = [itemId(from.number), itemId(to.number)];
  await sql`
    insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at,
      lease_expires_at, released_at, reclaims, grants)
    select ${to.repositoryId}, topic, ${own}, fence, false, owner, actor, region, scope, lease_seconds, granted_at,
      lease_expires_at, coalesce(released_at, db_now()), reclaims, grants
    from claim where repository_id = ${from.repositoryId} and topic = ${BACKLOG} and id = ${old}
    on conflict (repository_id, topic, id) do nothing`.execute(trx);
  await sql`
    insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt,
      previous_fence, ended, ended_at)
    select ${to.repositoryId}, topic, ${own}, fence, owner, actor, region, scope, granted_at, new_attempt,
      previous_fence, coalesce(ended, 'released'), coalesce(ended_at, db_now())
    from claim_grant where repository_id = ${from.repositoryId} and topic = ${BACKLOG} and id = ${old}
    on conflict (repository_id, topic, id, fence) do nothing`.execute(trx);
  // Where it was claimed before they came.
  await sql`
    update claim c set grants = greatest(c.grants, (select count(*) from claim_grant g
      where g.repository_id = c.repository_id and g.topic = c.topic and g.id = c.id))
    where c.repository_id = ${to.repositoryId} and c.topic = ${BACKLOG} and c.id = ${own}`.execute(trx);
  await sql`
    insert into claim_marker (repository_id, issue_number, fence, comment_id, owner, by_app, counted_at)
    select ${to.repositoryId}, ${to.number}, fence, comment_id, owner, by_app, counted_at
    from claim_marker where repository_id = ${from.repositoryId} and issue_number = ${from.number}
    on conflict (repository_id, issue_number, fence) do nothing`.execute(trx);
  await sql`
    update item t set attempts_after = greatest(t.attempts_after, s.attempts_after)
    from item s where s.repository_id = ${from.repositoryId} and s.number = ${from.number}
      and t.repository_id = ${to.repositoryId} and t.number = ${to.number}
      and t.attempts_after < s.attempts_after`.execute(trx);
}

/** The new place has taken the park over, if there was one. */
export async function noteInherited(trx: Trx, { repositoryId, number }: IssueAt): Promise<void> {
  await sql`
    update moved_issue set inherited_at = db_now()
    where repository_id = ${repositoryId} and number = ${number} and inherited_at is null`.execute(trx);
}

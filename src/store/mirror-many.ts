/** Rows of the mirror, many in one statement. */

import { type Selectable, sql } from "kysely";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import type { Trx } from "./database.ts";
import { issueFacts, type MirroredIssue, toMirrored } from "./mirror.ts";
import type { IssueTable } from "./mirror-schema.ts";

export interface IssuePlace {
  readonly repositoryId: number;
  readonly number: number;
}

/** Locks those of the issues that the mirror has and nobody else is writing; answers each in its place, null for the others. */
export async function lockFreeIssues(
  trx: Trx,
  places: readonly IssuePlace[],
): Promise<(MirroredIssue | null)[]> {
  const { rows } = await sql<Selectable<IssueTable> & { place: number }>`
    select i.*, t.place::int as place
    from unnest(${places.map(({ repositoryId }) => repositoryId)}::bigint[],
      ${places.map(({ number }) => number)}::int[]) with ordinality as t (repository_id, number, place)
    join issue i on i.repository_id = t.repository_id and i.number = t.number
    for update of i skip locked`.execute(trx);
  const found: (MirroredIssue | null)[] = places.map(() => null);
  for (const row of rows) found[row.place - 1] = toMirrored(row);
  return found;
}

export interface IssueUpdate {
  readonly repositoryId: number;
  readonly before: IssueSnapshot;
  readonly issue: IssueSnapshot;
}

/**
 * Writes issues that the mirror has and the transaction has locked, each once. A body that did not change stays where it
 * is: to write it again would compress it again, and keep it twice until the next vacuum.
 */
export async function updateIssues(trx: Trx, updates: readonly IssueUpdate[]): Promise<void> {
  if (updates.length === 0) return;
  const rows = updates.map(({ repositoryId, before, issue }) => {
    const isSame = before.body === issue.body;
    return {
      ...issueFacts(issue),
      repository_id: repositoryId,
      number: issue.number,
      body: isSame ? null : issue.body,
      same_body: isSame,
    };
  });
  await sql`
    update issue i set id = t.id, node_id = t.node_id, title = t.title,
      body = case when t.same_body then i.body else t.body end, state = t.state, state_reason = t.state_reason,
      labels = t.labels, author_id = t.author_id, author_login = t.author_login, author_type = t.author_type,
      author_association = t.author_association, via_app_id = t.via_app_id, assignees = t.assignees,
      milestone = t.milestone, locked = t.locked, html_url = t.html_url, created_at = t.created_at,
      updated_at = t.updated_at, closed_at = t.closed_at
    from json_to_recordset(${JSON.stringify(rows)}::json) as t (repository_id bigint, number int, id bigint, node_id text,
      title text, body text, same_body boolean, state text, state_reason text, labels text[], author_id bigint,
      author_login text, author_type text, author_association text, via_app_id bigint, assignees text[], milestone text,
      locked boolean, html_url text, created_at timestamptz, updated_at timestamptz, closed_at timestamptz)
    where i.repository_id = t.repository_id and i.number = t.number`.execute(trx);
}

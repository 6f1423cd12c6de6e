/** The mirror of issues, comments and labels: a cache whose only writer is GitHub (protocol 1). */

import { type Selectable, sql } from "kysely";
import type { BodyTrail } from "../domain/body-trail.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import { toTrail } from "./body-trails.ts";
import type { Db, Trx } from "./database.ts";
import type { IssueTable } from "./mirror-schema.ts";

export const toSnapshot = (row: Selectable<IssueTable>): IssueSnapshot => ({
  number: row.number,
  id: row.id,
  nodeId: row.node_id,
  title: row.title,
  body: row.body,
  open: row.state === "open",
  stateReason: row.state_reason,
  labels: row.labels,
  authorId: row.author_id,
  authorLogin: row.author_login,
  authorType: row.author_type,
  authorAssociation: row.author_association,
  viaAppId: row.via_app_id,
  assignees: row.assignees,
  milestone: row.milestone,
  locked: row.locked,
  url: row.html_url,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  closedAt: row.closed_at,
});

export interface MirroredIssue {
  readonly issue: IssueSnapshot;
  /** Why the issue is no more, or null. */
  readonly gone: string | null;
  /** What edits have told of its text; null: all of it. */
  readonly trail: BodyTrail | null;
}

export const toMirrored = (row: Selectable<IssueTable>): MirroredIssue => ({
  issue: toSnapshot(row),
  gone: row.gone,
  trail: toTrail(row),
});

/** The issue as mirrored; null when it was never seen. */
export async function findIssue(db: Db, repositoryId: number, number: number): Promise<MirroredIssue | null> {
  const row = await db
    .selectFrom("issue")
    .selectAll()
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .executeTakeFirst();
  return row ? toMirrored(row) : null;
}

/** As `findIssue`, keeping others from changing it until the transaction ends. */
export async function lockIssue(
  trx: Trx,
  repositoryId: number,
  number: number,
): Promise<MirroredIssue | null> {
  const row = await trx
    .selectFrom("issue")
    .selectAll()
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .forUpdate()
    .executeTakeFirst();
  return row ? toMirrored(row) : null;
}

export async function saveIssue(trx: Trx, repositoryId: number, issue: IssueSnapshot): Promise<void> {
  const facts = issueFacts(issue);
  await trx
    .insertInto("issue")
    .values({ repository_id: repositoryId, number: issue.number, ...facts, gone: null })
    .onConflict((conflict) => conflict.columns(["repository_id", "number"]).doUpdateSet(facts))
    .execute();
}

/** The issues that are there, by number. */
export async function presentIssues(db: Db, repositoryId: number): Promise<number[]> {
  const rows = await db
    .selectFrom("issue")
    .select("number")
    .where("repository_id", "=", repositoryId)
    .where("gone", "is", null)
    .orderBy("number")
    .execute();
  return rows.map(({ number }) => number);
}

/** Takes up an issue that something else named, unless the mirror has it: its own events know better. */
export async function introduceIssue(trx: Trx, repositoryId: number, issue: IssueSnapshot): Promise<void> {
  await trx
    .insertInto("issue")
    .values({ repository_id: repositoryId, number: issue.number, ...issueFacts(issue), gone: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export function issueFacts(issue: IssueSnapshot) {
  return {
    id: issue.id,
    node_id: issue.nodeId,
    title: issue.title,
    body: issue.body,
    state: issue.open ? ("open" as const) : ("closed" as const),
    state_reason: issue.stateReason,
    labels: [...issue.labels],
    author_id: issue.authorId,
    author_login: issue.authorLogin,
    author_type: issue.authorType,
    author_association: issue.authorAssociation,
    via_app_id: issue.viaAppId,
    assignees: [...issue.assignees],
    milestone: issue.milestone,
    locked: issue.locked,
    html_url: issue.url,
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
    closed_at: issue.closedAt,
  };
}

/** Leaves a tombstone: the number is never reused, and nothing that comes late brings the issue back. */
export async function markGone(trx: Trx, repositoryId: number, number: number, why: string): Promise<void> {
  await trx
    .updateTable("issue")
    .set({ gone: why })
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .execute();
}

export interface LabelSnapshot {
  readonly id: number;
  readonly name: string;
  readonly color: string | null;
  readonly description: string | null;
}

export async function saveLabel(trx: Trx, repositoryId: number, label: LabelSnapshot): Promise<void> {
  const facts = { name: label.name, color: label.color, description: label.description };
  await trx
    .insertInto("label")
    .values({ repository_id: repositoryId, id: label.id, ...facts })
    .onConflict((conflict) => conflict.columns(["repository_id", "id"]).doUpdateSet(facts))
    .execute();
}

/** The definitions that the mirror has. */
export async function labelsOf(db: Db, repositoryId: number): Promise<LabelSnapshot[]> {
  return db
    .selectFrom("label")
    .select(["id", "name", "color", "description"])
    .where("repository_id", "=", repositoryId)
    .orderBy("id")
    .execute();
}

/** The label's name as last heard; null when the definition was never seen. */
export async function findLabelName(db: Db, repositoryId: number, id: number): Promise<string | null> {
  const row = await db
    .selectFrom("label")
    .select("name")
    .where("repository_id", "=", repositoryId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.name ?? null;
}

/** A renamed label is renamed on every issue, of which GitHub says nothing (github-cases 18). */
export async function renameLabelOnIssues(
  trx: Trx,
  repositoryId: number,
  from: string,
  to: string,
): Promise<void> {
  await sql`
    update issue set labels = array_replace(labels, ${from}, ${to})
    where repository_id = ${repositoryId} and ${from} = any (labels)`.execute(trx);
}

/** A label whose definition was deleted is on no issue any more. */
export async function removeLabelFromIssues(trx: Trx, repositoryId: number, name: string): Promise<void> {
  await sql`
    update issue set labels = array_remove(labels, ${name})
    where repository_id = ${repositoryId} and ${name} = any (labels)`.execute(trx);
}

/** GitHub answered that the label is on the issue; its event comes later. */
export async function noteLabel(db: Db, repositoryId: number, number: number, label: string): Promise<void> {
  await sql`
    update issue set labels = array_append(labels, ${label})
    where repository_id = ${repositoryId} and number = ${number}
      and not exists (select 1 from unnest(labels) as has where lower(has) = lower(${label}))`.execute(db);
}

export async function deleteLabel(trx: Trx, repositoryId: number, id: number): Promise<void> {
  await trx.deleteFrom("label").where("repository_id", "=", repositoryId).where("id", "=", id).execute();
}

/** The newest issues that an App opened since then. */
export async function recentIssues(
  db: Db,
  repositoryId: number,
  appId: number,
  since: Date,
): Promise<IssueSnapshot[]> {
  const rows = await db
    .selectFrom("issue")
    .selectAll()
    .where("repository_id", "=", repositoryId)
    .where("via_app_id", "=", appId)
    .where("created_at", ">=", since)
    .where("gone", "is", null)
    .orderBy("number", "desc")
    .limit(500)
    .execute();
  return rows.map(toSnapshot);
}

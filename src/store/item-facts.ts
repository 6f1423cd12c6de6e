/** Reads everything the rules ask about items, in one statement, so that the facts are of one moment. */

import { type RawBuilder, sql } from "kysely";
import type { Blocker } from "../domain/blockers.ts";
import { isExcluding } from "../domain/ready-set.ts";
import { itemOfTarget } from "../domain/record-key.ts";
import type { Scope, View } from "../domain/scope.ts";
import { preparedRows, unseen } from "./call.ts";
import type { Db } from "./database.ts";
import type { BlockerRow } from "./item-columns.ts";
import { OTHER_QUERIES, type OtherParts, REASON_QUERIES, type ReasonParts } from "./item-parts.ts";
import { type Page, rowsOf } from "./item-rows.ts";
import { type ItemView, type Limits, toBlocker, toView } from "./item-view.ts";
import { jsonRows } from "./json-rows.ts";
import { reaches, sees } from "./reach.ts";

/** What a `blockedBy` edge to this target hangs on, or would. `of`: the item that has the edge; null: none yet. */
export async function findBlocker(
  db: Db,
  home: number,
  edge: { repositoryId: number; target: string },
  of: number | null = null,
): Promise<Blocker> {
  const rows = await preparedRows(
    db,
    sql<Omit<BlockerRow, "repositoryId" | "target">>`
    select b.number is not null as "isItem", b.state, br.tags, bs.state = 'open' and bs.gone is null as "issueOpen",
      coalesce(bs.gone, bs.state_reason) as "issueReason", b.ruling_owner as "rulingOwner", b.question,
      f.owner || '/' || f.name as repository, f.installed and not f.unread as heard, case when w.number is not null
        then json_build_object('open', w.open, 'stateReason', w.state_reason) end as told
    from (select ${edge.repositoryId}::bigint as repository_id, ${itemOfTarget(edge.target) ?? 0}::int as number) l
    left join repository f on f.id = l.repository_id
    left join issue bs on bs.repository_id = l.repository_id and bs.number = l.number
    left join item b on b.repository_id = bs.repository_id and b.number = bs.number
    left join record br on br.repository_id = bs.repository_id and br.topic = 'backlog' and br.id = 'issue-' || bs.number
    left join foreign_blocker w on w.repository_id = ${home} and w.number = ${of}::int
      and w.target_repository_id = ${edge.repositoryId} and w.target = ${edge.target}
    limit 1`.compile(db),
  );
  const [row] = rows;
  if (row === undefined) throw new Error("a query of one row answered none");
  return toBlocker({ ...row, ...edge }, home);
}

export interface ItemPage {
  readonly items: readonly ItemView[];
  /** The database's time at which the facts were true. */
  readonly now: Date;
}

/** What tells why an item cannot be claimed by anybody: of its defects those that say so, of its links its blockers. */
export type JudgedItem = Pick<ItemView, "facts" | "defects" | "links">;

/** One item, or null. */
export async function findItemView(
  db: Db,
  repositoryId: number,
  number: number,
  settings: Limits,
): Promise<{ item: ItemView; now: Date } | null> {
  const page = await read(db, repositoryId, settings, sql`i.number = ${number}`, sql``);
  const item = page.items[0];
  return item ? { item, now: page.now } : null;
}

/** Every live and every parked item: what the ready set is made of. */
export function openItems(db: Db, repositoryId: number, settings: Limits, view: View): Promise<ItemPage> {
  const open = sql`(i.state is null or i.state = 'parked') and i.enrolled and ${isSeen(view)}`;
  return read(db, repositoryId, settings, open, sql``);
}

const isSeen = (view: View) => sees(view, sql.ref("i.repository_id"), sql.ref("i.number"));

/** The items of these numbers. */
export function itemViews(
  db: Db,
  repositoryId: number,
  numbers: readonly number[],
  settings: Limits,
): Promise<ItemPage> {
  return read(db, repositoryId, settings, sql`i.number = any (${unseen(numbers, "int")})`, sql``);
}

/**
 * The items of some numbers, and why those of others cannot be claimed, for much less than their views: in one statement,
 * for to begin one costs as much as to read some of these.
 */
export async function viewsAndReasons(
  db: Db,
  repositoryId: number,
  asked: { readonly views: readonly number[]; readonly reasons: readonly number[] },
  settings: Limits,
): Promise<{ now: Date; views: ItemView[]; reasons: JudgedItem[] }> {
  const these = sql`i.number = any (${unseen([...asked.views, ...asked.reasons], "int")})`;
  const shown = sql`materialized (select * from chosen where number = any (${unseen(asked.views, "int")}))`;
  const page = await readRows(db, repositoryId, these, sql``, shown);
  const now = new Date(page.now);
  const among = (numbers: readonly number[]) => {
    const wanted = new Set(numbers);
    return { ...page, items: page.items.filter(({ number }) => wanted.has(number)) };
  };
  const views = rowsOf(repositoryId, among(asked.views), page);
  const reasons = rowsOf(repositoryId, among(asked.reasons), null).map((row) => {
    const { facts, defects, links } = toView(row, now, repositoryId, settings);
    return { facts, defects: defects.filter(({ code }) => isExcluding(code)), links };
  });
  return { now, views: views.map((row) => toView(row, now, repositoryId, settings)), reasons };
}

/** What is directly `partOf` an epic, live or parked. */
export function partsOf(
  db: Db,
  repositoryId: number,
  epic: number,
  settings: Limits,
  view: View,
): Promise<ItemPage> {
  const parts = sql`${isSeen(view)} and (i.state is null or i.state = 'parked') and i.enrolled and exists (
    select 1 from record_link l where l.target_repository_id = ${repositoryId} and l.target_number = ${epic}
      and l.relation = 'partOf' and l.repository_id = i.repository_id and l.number = i.number)`;
  return read(db, repositoryId, settings, parts, sql``);
}

export interface ItemFilter {
  readonly after: number;
  readonly limit: number;
  readonly state?: "live" | "complete" | "parked" | "cancelled" | undefined;
  readonly tag?: string | undefined;
  readonly text?: string | undefined;
  readonly view: View;
  /** Only what is part of no item that the caller may see; null: of any repository. */
  readonly rootsAmong?: { readonly repositories: ReadonlySet<number> | null } | undefined;
}

/** Enrolled items by number. */
export function listItemViews(
  db: Db,
  repositoryId: number,
  settings: Limits,
  filter: ItemFilter,
): Promise<ItemPage> {
  const wanted: RawBuilder<unknown>[] = [
    sql`i.enrolled`,
    sql`i.number > ${filter.after}`,
    isSeen(filter.view),
  ];
  if (filter.rootsAmong) wanted.push(isRoot(filter.view.scope, filter.rootsAmong.repositories));
  if (filter.state === "live") wanted.push(sql`i.state is null`);
  else if (filter.state) wanted.push(sql`i.state = ${filter.state}`);
  if (filter.tag) wanted.push(sql`r.tags @> array[${filter.tag}]::text[]`);
  if (filter.text) wanted.push(sql`position(lower(${filter.text}) in lower(s.title)) > 0`);
  return read(db, repositoryId, settings, sql.join(wanted, sql` and `), sql`limit ${filter.limit}`);
}

/** That no item which the caller may see is above it. */
function isRoot(scope: Scope | null, repositories: ReadonlySet<number> | null): RawBuilder<unknown> {
  const visible =
    repositories === null ? sql`true` : sql`p.repository_id = any (${[...repositories]}::bigint[])`;
  return sql`not exists (select 1 from record_link l
    join item p on p.repository_id = l.target_repository_id and p.number = l.target_number and p.enrolled
    where l.repository_id = i.repository_id and l.number = i.number and l.relation = 'partOf' and ${visible}
      and ${reaches(scope, sql.ref("p.repository_id"), sql.ref("p.number"))})`;
}

const textOf = (queries: Readonly<Record<string, string>>): string =>
  Object.entries(queries)
    .map(([name, query]) => `'${name}', ${query}`)
    .join(",\n");

/** Written out once: it is long, and asked for often. */
const PARTS = textOf({ ...REASON_QUERIES, ...OTHER_QUERIES });

/** Every item that is read is shown whole. */
const ALL_SHOWN = sql`not materialized (select * from chosen)`;

async function read(
  db: Db,
  repositoryId: number,
  settings: Limits,
  where: RawBuilder<unknown>,
  limit: RawBuilder<unknown>,
): Promise<ItemPage> {
  const page = await readRows(db, repositoryId, where, limit, ALL_SHOWN);
  const now = new Date(page.now);
  return {
    now,
    items: rowsOf(repositoryId, page, page).map((row) => toView(row, now, repositoryId, settings)),
  };
}

/** The items' own rows, and what is asked besides of all of them: everything as JSON, which costs less than columns do. */
async function readRows(
  db: Db,
  repositoryId: number,
  where: RawBuilder<unknown>,
  limit: RawBuilder<unknown>,
  shown: RawBuilder<unknown>,
): Promise<Page & ReasonParts & OtherParts> {
  const [row] = await preparedRows(
    db,
    sql<{ page: Page & ReasonParts & OtherParts }>`
    with chosen as materialized (
      select i.number, i.enrolled, i.admitted, i.admitted_by, i.state, i.state_at, i.park_reason, i.ruling_owner,
        i.question, i.park_by, i.park_at, i.created_at, i.active_at, i.threshold as own_threshold, i.attempts_after,
        i.marked, i.parts, i.ancestors, i.integrates, i.started_under, i.resource_keys is not null as resourced,
        case when i.hold_at is not null
          then json_build_object('by', i.hold_by, 'at', i.hold_at, 'note', i.hold_note) end as hold,
        case when i.review is not null
          then json_build_object('review', i.review, 'pull', i.review_pull, 'waits', i.review_waits) end as review,
        r.tags, r.expires_at, s.title, s.html_url, s.labels, s.state = 'open' and s.gone is null as issue_open,
        s.state_reason, s.author_login, greatest(s.updated_at, r.updated_at) as updated_at,
        c.fence, c.live, c.owner, c.actor, c.region, c.lease_expires_at, c.reclaims
      from item i
      -- One by one, for few are asked for: joined, a small backlog would be read whole for them.
      cross join lateral (select r.id, r.tags, r.expires_at, r.updated_at from record r
        where r.repository_id = i.repository_id and r.topic = 'backlog' and r.id = 'issue-' || i.number offset 0) r
      cross join lateral (select s.title, s.html_url, s.labels, s.state, s.gone, s.state_reason, s.author_login, s.updated_at from issue s
        where s.repository_id = i.repository_id and s.number = i.number offset 0) s
      left join claim c on c.repository_id = i.repository_id and c.topic = 'backlog' and c.id = r.id
      where i.repository_id = ${repositoryId} and ${where}
      order by i.number ${limit}),
    shown as ${shown}
    select json_build_object('now', db_now(), 'items', ${jsonRows(sql`select * from chosen order by number`)},
      ${sql.raw(PARTS)}) as page`.compile(db),
  );
  if (!row) throw new Error("a query of one row answered none");
  return row.page;
}

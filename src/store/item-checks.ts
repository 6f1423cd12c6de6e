/** Defects as they are kept: found when an item's facts change, gone when they are mended (protocol 6). */

import { sql } from "kysely";
import type { Defect } from "../domain/defects.ts";
import type { View } from "../domain/scope.ts";
import { preparedRows } from "./call.ts";
import type { Db, Trx } from "./database.ts";
import { sees } from "./reach.ts";

export interface ItemToCheck {
  readonly repositoryId: number;
  readonly number: number;
}

/**
 * Takes items to look at, the one that waits longest first. The item's row is locked before its check is taken away:
 * so do those who change it, whose change asks for another check.
 */
export async function takeChecks(trx: Trx, limit: number): Promise<ItemToCheck[]> {
  const { rows } = await sql<ItemToCheck>`
    select c.repository_id as "repositoryId", c.number from item_check c
    join item i on i.repository_id = c.repository_id and i.number = c.number
    order by c.asked_at, c.repository_id, c.number limit ${limit} for update of i skip locked`.execute(trx);
  if (rows.length === 0) return [];
  await sql`
    delete from item_check c using unnest(${rows.map((row) => row.repositoryId)}::bigint[],
      ${rows.map((row) => row.number)}::int[]) as t (repository_id, number)
    where c.repository_id = t.repository_id and c.number = t.number`.execute(trx);
  return [...new Map(rows.map((row) => [`${row.repositoryId}/${row.number}`, row])).values()];
}

/** Whether an item's facts changed and nobody has looked at them since. */
export async function isCheckWaiting(db: Db, { repositoryId, number }: ItemToCheck): Promise<boolean> {
  const { rows } = await sql`
    select 1 from item_check where repository_id = ${repositoryId} and number = ${number} limit 1`.execute(
    db,
  );
  return rows.length > 0;
}

/** Takes one item's checks, after whoever is at it. */
export async function takeChecksOf(trx: Trx, { repositoryId, number }: ItemToCheck): Promise<void> {
  await sql`
    select 1 from item where repository_id = ${repositoryId} and number = ${number} for update`.execute(trx);
  await sql`
    delete from item_check where repository_id = ${repositoryId} and number = ${number}`.execute(trx);
}

export interface FoundDefects {
  readonly number: number;
  readonly defects: readonly Pick<Defect, "code" | "value" | "detail">[];
  readonly isFlawed: boolean;
}

/** Makes the kept defects of these items those that were found. The caller has locked their rows. */
export async function keepDefects(
  trx: Trx,
  repositoryId: number,
  items: readonly FoundDefects[],
): Promise<void> {
  // One row each: no statement may write a row twice.
  const byName = new Map(
    items.flatMap(({ number, defects }) =>
      defects.map(({ code, value, detail }) => [
        `${number} ${code} ${value}`,
        { number, code, value, detail },
      ]),
    ),
  );
  const rows = [...byName.values()];
  const found = sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
    as f (number int, code text, value text, detail text)`;
  if (rows.length > 0) {
    await sql`
      insert into defect (repository_id, number, code, value, detail)
      select ${repositoryId}, f.number, f.code, f.value, f.detail from ${found}
      on conflict (repository_id, number, code, value) do update set detail = excluded.detail`.execute(trx);
  }
  await sql`
    delete from defect d where d.repository_id = ${repositoryId}
      and d.number = any (${items.map(({ number }) => number)}::int[])
      and not exists (select 1 from ${found} where f.number = d.number and f.code = d.code and f.value = d.value)`.execute(
    trx,
  );
  await sql`
    update item i set flawed = f.flawed
    from jsonb_to_recordset(${JSON.stringify(items.map(({ number, isFlawed }) => ({ number, flawed: isFlawed })))}::jsonb)
      as f (number int, flawed boolean)
    where i.repository_id = ${repositoryId} and i.number = f.number and i.flawed <> f.flawed`.execute(trx);
}

/** Asks for items to be looked at. The caller has locked their rows, as everybody has who changes what they depend on. */
export async function askItemChecks(trx: Trx, items: readonly ItemToCheck[]): Promise<void> {
  if (items.length === 0) return;
  await sql`
    select ask_item_check(t.repository_id, t.number) from (
      select distinct repository_id, number from unnest(${items.map(({ repositoryId }) => repositoryId)}::bigint[],
        ${items.map(({ number }) => number)}::int[]) as u (repository_id, number) order by 1, 2) as t`.execute(
    trx,
  );
}

/** Defects that come with time: GitHub has had long enough to catch up. Asks for these items to be looked at. */
export async function askOverdueChecks(db: Db, settleSeconds: number): Promise<void> {
  await sql`
    insert into item_check (repository_id, number)
    select i.repository_id, i.number from item i
    where i.state = 'complete' and i.issue_open and i.state_at < db_now() - make_interval(secs => ${settleSeconds})
      and not exists (select 1 from defect d where d.repository_id = i.repository_id and d.number = i.number
        and d.code = 'item_complete_issue_open')
    union
    select g.repository_id, item_number(g.topic, g.id) from claim_grant g
    where g.topic = 'backlog' and g.new_attempt and item_number(g.topic, g.id) is not null
      and g.granted_at between db_now() - interval '1 day' and db_now() - make_interval(secs => ${settleSeconds})
      and not exists (select 1 from claim_marker m where m.repository_id = g.repository_id
        and m.issue_number = item_number(g.topic, g.id) and m.fence = g.fence)`.execute(db);
}

/** The repository's defects that may be seen, all or those of some codes, the oldest first, and how many there are, up to `most`. */
export async function listDefects(
  db: Db,
  repositoryId: number,
  limit: number,
  most: number,
  view: View,
  codes: readonly string[] | null = null,
): Promise<{ defects: Defect[]; total: number }> {
  const wanted = sql`repository_id = ${repositoryId}
     and (${codes === null}::boolean or code = any (${codes === null ? [] : [...codes]}::text[]))
     and ${sees(view, sql.ref("defect.repository_id"), sql.ref("defect.number"))}`;
  const [rows, counted] = await Promise.all([
    preparedRows(
      db,
      sql<{ number: number; code: string; value: string; detail: string; since: Date }>`
        select number, code, value, detail, since from defect where ${wanted}
        order by since, number, code limit ${limit}`.compile(db),
    ),
    preparedRows(
      db,
      sql<{ total: number }>`
        select count(*) as total from (select 1 from defect where ${wanted} limit ${most}) d`.compile(db),
    ),
  ]);
  return { defects: rows.map((row) => row as Defect), total: counted[0]?.total ?? 0 };
}

/** When each of the items' defects was found, by `<number> <code> <value>`. */
export async function defectTimes(
  db: Db,
  repositoryId: number,
  numbers: readonly number[],
): Promise<Map<string, Date>> {
  if (numbers.length === 0) return new Map();
  const rows = await preparedRows(
    db,
    sql<{ number: number; code: string; value: string; since: Date }>`
    select number, code, value, since from defect
    where repository_id = ${repositoryId} and number = any (${[...numbers]}::int[])`.compile(db),
  );
  return new Map(rows.map(({ number, code, value, since }) => [`${number} ${code} ${value}`, since]));
}

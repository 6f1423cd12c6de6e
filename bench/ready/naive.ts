/** The two ways that Leasehold does not go: everything page by page with a query per candidate, and NOT EXISTS. */

import type pg from "pg";
import { REPOSITORY } from "../claims/stage.ts";

const PAGE = 100;

/** Pages through every open item, asks of each whether something blocks it, and sorts what is left. */
export async function naively(pool: pg.Pool, limit: number): Promise<number[]> {
  const ready: { number: number; priority: number; created_at: Date }[] = [];
  for (let after = 0; ; ) {
    const { rows } = await pool.query({
      name: "page",
      text: `select number, priority, created_at from item
        where repository_id = $1 and number > $2 and enrolled and state is null and admitted and issue_open and not grouping
        order by number limit ${PAGE}`,
      values: [REPOSITORY, after],
    });
    for (const item of rows) {
      const blockers = await pool.query({
        name: "blockers",
        text: `select 1 from record_link l
          join item b on b.repository_id = l.target_repository_id and b.number = l.target_number
          where l.repository_id = $1 and l.number = $2 and l.relation = 'blockedBy' and b.state is distinct from 'complete'`,
        values: [REPOSITORY, item.number],
      });
      if (blockers.rowCount === 0) ready.push(item);
      after = item.number;
    }
    if (rows.length < PAGE) break;
  }
  ready.sort(
    (a, b) =>
      a.priority - b.priority || a.created_at.getTime() - b.created_at.getTime() || a.number - b.number,
  );
  return ready.slice(0, limit).map(({ number }) => number);
}

/** What serves the NOT EXISTS query best. It is made for its measurement, and dropped after it. */
export const INDEX_FOR_NOT_EXISTS = `create index bench_open on item (repository_id, priority, created_at, number)
  where enrolled and state is null and admitted and issue_open and not grouping`;
export const NO_INDEX_FOR_NOT_EXISTS = "drop index bench_open";

/** The head of the index, leaving out one after the other what is blocked. */
export async function byNotExists(pool: pg.Pool, limit: number): Promise<number[]> {
  const { rows } = await pool.query<{ number: number }>({
    name: "not_exists",
    text: `select i.number from item i
      where i.repository_id = $1 and i.enrolled and i.state is null and i.admitted and i.issue_open and not i.grouping
        and not exists (select 1 from record_link l
          join item b on b.repository_id = l.target_repository_id and b.number = l.target_number
          where l.repository_id = i.repository_id and l.number = i.number and l.relation = 'blockedBy'
            and b.state is distinct from 'complete')
      order by i.priority, i.created_at, i.number limit $2`,
    values: [REPOSITORY, limit],
  });
  return rows.map(({ number }) => number);
}

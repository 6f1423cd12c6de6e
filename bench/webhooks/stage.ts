/** The repositories that deliveries are about, filled in bulk, and what became of the deliveries. */

import { openDatabase } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { query } from "../claims/stage.ts";
import { type Backlog, FILLING, FIRST_REPOSITORY } from "./payload.ts";

const TAGS = "{backlog,priority:P2,phase:implementation,homeRegion:local,baseBranch:main}";

/** In bulk and without triggers: what they would keep on the rows is written along. */
export async function fill(url: string, { repositories, issues }: Backlog): Promise<void> {
  const database = openDatabase(url, 2, () => {});
  await migrate(database);
  await database.close();
  const last = FIRST_REPOSITORY + repositories - 1;
  await query(
    url,
    `set session_replication_role = replica;
    insert into installation (id, account_login) values (1, 'acme');
    insert into repository (id, installation_id, owner, name, installed, backfill_state, synced_at, synced_to, swept_at)
      select r, 1, 'acme', 'widgets-' || r, true, 'done', now(), now(), now()
      from generate_series(${FIRST_REPOSITORY}, ${last}) r;
    insert into issue (repository_id, number, id, title, body, state, labels, html_url, created_at, updated_at)
      select r, n, r * 100000 + n, 'Issue ' || n, '${FILLING}', 'open', '{backlog}',
        'https://github.com/acme/widgets-' || r || '/issues/' || n, '2026-01-01Z', '2026-01-01Z'
      from generate_series(${FIRST_REPOSITORY}, ${last}) r, generate_series(1, ${issues}) n;
    insert into record (repository_id, topic, id, kind, tags)
      select repository_id, 'backlog', 'issue-' || number, 'Note', '${TAGS}' from issue;
    insert into item (repository_id, number, admitted, admission_at, created_at, home_region, priority, phase, tags, title, url)
      select repository_id, number, true, '2026-01-01Z', '2026-01-01Z', 'local', 2, 'implementation', '${TAGS}', title, html_url
      from issue`,
  );
  await query(url, "vacuum analyze");
}

export const emptyInbox = (url: string): Promise<unknown> => query(url, "truncate inbox");

export interface Applied {
  readonly done: number;
  readonly pending: number;
  readonly failed: number;
  /** Deliveries that were done before an earlier one of the same issue. */
  readonly overtaken: number;
  /** Items whose priority is not that of the last delivery about them. */
  readonly wrong: number;
}

/** What became of so many deliveries, sent in the order of `sender.ts`. */
export async function applied(
  url: string,
  sent: number,
  { repositories, issues }: Backlog,
): Promise<Applied> {
  const { rows } = await query<Record<string, string>>(
    url,
    `select count(*) filter (where state = 'done') as done, count(*) filter (where state = 'pending') as pending,
       count(*) filter (where state = 'failed') as failed,
       count(*) filter (where finished_at < before) as overtaken
     from (select state, finished_at, lag(finished_at) over (partition by repository_id, lane order by seq) as before
           from inbox) as deliveries`,
  );
  const counts = rows[0] ?? {};
  const all = repositories * issues;
  const wrong = await query<{ wrong: string }>(
    url,
    `select count(*) as wrong from generate_series(0, ${Math.min(sent, all) - 1}) n
     where not exists (select 1 from item where number = 1 + n / ${repositories}
       and repository_id = ${FIRST_REPOSITORY} + n % ${repositories}
       and ('priority:P' || ((1 + (${sent - 1} - n) / ${all}) % 4)) = any (tags))`,
  );
  return {
    done: Number(counts.done),
    pending: Number(counts.pending),
    failed: Number(counts.failed),
    overtaken: Number(counts.overtaken),
    wrong: Number(wrong.rows[0]?.wrong),
  };
}

/** Memory as a fleet leaves it: notes of some dozen words, of which a few are in every note and most are rare. */

import { query, REPOSITORY } from "../claims/stage.ts";

export const TOPICS = ["decisions", "gotchas", "conventions", "handoffs", "reports"] as const;

/**
 * Word n of a vocabulary of 20,000 is used as often as language uses its n-th word (a power of a random number stands
 * in for Zipf's law); `common` is in every record, `frequent` in every tenth, `needle<n>` in one.
 */
export async function fillMemory(url: string, records: number): Promise<void> {
  const words = (count: number) =>
    `(select string_agg('w' || (20000 * power(random(), 3))::int, ' ') from generate_series(1, ${count} + n * 0))`;
  await query(
    url,
    `set session_replication_role = replica;
     insert into record (repository_id, topic, id, kind, title, body, tags, author, created_at, updated_at)
     select ${REPOSITORY}, (array['${TOPICS.join("','")}'])[n % ${TOPICS.length} + 1], 'r-' || n, 'Note',
       ${words(6)} || case when n % 10 = 0 then ' frequent' else '' end,
       'common needle' || n || ' ' || ${words(60)} || ' src/store/file' || n % 500 || '.ts',
       array['area:a' || n % 40, 'run:r' || n % 1000], 'worker/' || n % 50,
       now() - make_interval(secs => ${records} - n), now() - make_interval(secs => ${records} - n)
     from generate_series(1, ${records}) n;
     insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
     select ${REPOSITORY}, topic, id, 'related', ${REPOSITORY}, 'mem/' || topic || '/r-' || (substr(id, 3)::int / 10)
     from record where topic <> 'backlog'`,
  );
  await query(url, "vacuum analyze");
}

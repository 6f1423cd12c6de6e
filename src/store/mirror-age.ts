/** How long ago the mirror of a repository was known to be whole (`mirror_fresh_at` in migrations/0018). */

import { sql } from "kysely";
import type { MirrorAge } from "../domain/mirror-age.ts";
import type { Db } from "./database.ts";

/** By the database's clock. Null: there is no such repository. */
export async function mirrorAge(db: Db, repositoryId: number): Promise<MirrorAge | null> {
  const { rows } = await sql<{ seconds: number; read: boolean }>`
    select greatest(0, floor(extract(epoch from db_now() - coalesce(mirror_fresh_at(r), r.created_at))))::int as seconds,
      r.synced_at is not null as read
    from repository r where r.id = ${repositoryId}`.execute(db);
  const row = rows[0];
  // Those that live only here have negative ids.
  return row ? { seconds: row.seconds, read: row.read, local: repositoryId < 0 } : null;
}

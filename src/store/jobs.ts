/** Background jobs are asked for in SQL, so that the database's clock decides when they run. */

import { sql } from "kysely";
import type { Db } from "./database.ts";

export type JobName =
  | "inbox"
  | "checks"
  | "outbox"
  | "pulls"
  | "sweep"
  | "backfill"
  | "anchors"
  | "groupings"
  | "blockers"
  | "readings"
  | "audit";

/**
 * Asks for a job. Jobs of one key are one job: asked for again, an earlier time wins unless `keep` says that
 * the one already asked for stays as it is.
 */
export async function askForJob(
  db: Db,
  name: JobName,
  options: { key: string; inSeconds?: number; payload?: object; keep?: boolean },
): Promise<void> {
  await sql`
    select graphile_worker.add_job(${name}, payload => ${JSON.stringify(options.payload ?? {})}::json,
      run_at => now() + make_interval(secs => ${options.inSeconds ?? 0}), max_attempts => 1000,
      job_key => ${options.key}, job_key_mode => ${options.keep ? "preserve_run_at" : "replace"})`.execute(
    db,
  );
}

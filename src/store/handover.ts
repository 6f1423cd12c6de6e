/** What one worker leaves for the next (protocol 2, "Resume block"): where the work lies, and what it touched. */

import { sql } from "kysely";
import { preparedRows } from "./call.ts";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";
import { findCandidatePulls, type PullOfItem } from "./own-pulls.ts";

export interface ResumeRow {
  readonly branch: string | null;
  readonly pullNumber: number | null;
  readonly sha: string | null;
  readonly note: string | null;
  readonly fence: number;
  readonly owner: string;
  readonly writtenAt: Date;
}

/** The parts that are written; what is not named stays. */
export interface ResumeChange {
  readonly location?: { branch: string | null; pullNumber: number | null; sha: string | null } | undefined;
  readonly note?: string | null | undefined;
  readonly fence: number;
  readonly owner: string;
}

export async function findResume(db: Db, repositoryId: number, number: number): Promise<ResumeRow | null> {
  const [row] = await preparedRows(
    db,
    sql<ResumeRow>`
    select branch, pull_number as "pullNumber", sha, note, fence, owner, written_at as "writtenAt"
    from resume_block where repository_id = ${repositoryId} and number = ${number}`.compile(db),
  );
  return row ?? null;
}

/** Callers hold the record's lock, and have checked the token. */
export async function saveResume(
  trx: Trx,
  repositoryId: number,
  number: number,
  change: ResumeChange,
): Promise<void> {
  const { location, note, fence, owner } = change;
  const facts = {
    ...(location === undefined
      ? {}
      : {
          branch: location.branch,
          pull_number: location.pullNumber,
          sha: location.sha,
          location_fence: fence,
        }),
    ...(note === undefined ? {} : { note }),
    fence,
    owner,
    written_at: dbNow,
  };
  await trx
    .insertInto("resume_block")
    .values({ repository_id: repositoryId, number, ...facts })
    .onConflict((conflict) => conflict.columns(["repository_id", "number"]).doUpdateSet(facts))
    .execute();
}

/** Items whose resume block names the branch as the place of their work. */
export async function itemsAtBranch(db: Db, repositoryId: number, branch: string): Promise<number[]> {
  const rows = await db
    .selectFrom("resume_block")
    .select("number")
    .where("repository_id", "=", repositoryId)
    .where("branch", "=", branch)
    .execute();
  return rows.map((row) => row.number);
}

/** More than these say only that much was touched. */
const MOST_PATHS = 300;

/** Adds what a push changed to what is known of the item's work; `afresh`: the branch was made or rewritten. */
export async function addChangedPaths(
  trx: Trx,
  repositoryId: number,
  number: number,
  paths: readonly string[],
  afresh: boolean,
): Promise<void> {
  if (afresh) {
    await trx
      .deleteFrom("changed_path")
      .where("repository_id", "=", repositoryId)
      .where("number", "=", number)
      .execute();
  }
  if (paths.length === 0) return;
  await sql`
    insert into changed_path (repository_id, number, path)
    select ${repositoryId}, ${number}, p from unnest(${[...paths]}::text[]) p
    limit greatest(0, ${MOST_PATHS + 1} - (select count(*) from changed_path
      where repository_id = ${repositoryId} and number = ${number}))
    on conflict do nothing`.execute(trx);
}

export interface Handover {
  readonly resume: ResumeRow | null;
  readonly paths: readonly string[];
  /** There were more than `paths` names. */
  readonly morePaths: boolean;
  /** Open pull requests that may be the item's own, the one that changed last first. */
  readonly pulls: readonly PullOfItem[];
}

/** Everything known of work already done on an item. */
export async function findHandover(db: Db, repositoryId: number, number: number): Promise<Handover> {
  const [resume, paths, pulls] = await Promise.all([
    findResume(db, repositoryId, number),
    db
      .selectFrom("changed_path")
      .select("path")
      .where("repository_id", "=", repositoryId)
      .where("number", "=", number)
      .orderBy("path")
      .limit(MOST_PATHS + 1)
      .execute(),
    findCandidatePulls(db, repositoryId, number),
  ]);
  return {
    resume,
    paths: paths.slice(0, MOST_PATHS).map(({ path }) => path),
    morePaths: paths.length > MOST_PATHS,
    pulls,
  };
}

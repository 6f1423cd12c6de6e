/** Repositories and the installations that reach them. GitHub's numeric id is the identity (protocol 1). */

import { sql } from "kysely";
import type { View } from "../domain/scope.ts";
import { type RepositorySettings, settingsOf } from "../domain/settings.ts";
import type { Db, Trx } from "./database.ts";
import { reaches } from "./reach.ts";

export interface Repository {
  readonly id: number;
  readonly installationId: number | null;
  readonly owner: string;
  readonly name: string;
  readonly defaultBranch: string;
  readonly installed: boolean;
  /** The mirror may be believed: the App is there, and what was missed before it came has been read. */
  readonly heard: boolean;
  readonly archived: boolean;
  readonly settings: RepositorySettings;
  /** Whether its name is its own: another repository may have taken it, before this one's new name was heard. */
  readonly currentName: boolean;
  /** Nothing of it is on GitHub: it was made by writing memory before an App was there. */
  readonly local: boolean;
  /** It is being read, or about to be. */
  readonly backfillPending: boolean;
  /** When it was first heard of here. */
  readonly knownSince: Date;
}

export interface RepositoryIdentity {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  readonly defaultBranch?: string | null;
  readonly archived?: boolean | null;
  readonly url?: string | null;
}

const COLUMNS = [
  "id",
  "installation_id",
  "owner",
  "name",
  "default_branch",
  "installed",
  "unread",
  "archived",
  "settings",
  "current_name",
  "backfill_state",
  "created_at",
] as const;

interface RepositoryRow {
  id: number;
  installation_id: number | null;
  owner: string;
  name: string;
  default_branch: string;
  installed: boolean;
  unread: boolean;
  archived: boolean;
  settings: object;
  current_name: boolean;
  backfill_state: string;
  created_at: Date;
}

const toRepository = (row: RepositoryRow): Repository => ({
  id: row.id,
  installationId: row.installation_id,
  owner: row.owner,
  name: row.name,
  defaultBranch: row.default_branch,
  installed: row.installed,
  heard: row.installed && !row.unread,
  archived: row.archived,
  settings: settingsOf(row.settings as Partial<RepositorySettings>),
  local: row.id < 0,
  currentName: row.current_name,
  backfillPending: row.backfill_state === "pending",
  knownSince: row.created_at,
});

/** The repository that has this name now, any case. */
export async function findRepositoryByName(db: Db, owner: string, name: string): Promise<Repository | null> {
  const row = await db
    .selectFrom("repository")
    .select(COLUMNS)
    .where(sql`lower(owner)`, "=", owner.toLowerCase())
    .where(sql`lower(name)`, "=", name.toLowerCase())
    .where("current_name", "=", true)
    .executeTakeFirst();
  return row ? toRepository(row) : null;
}

export async function findRepositoryById(db: Db, id: number): Promise<Repository | null> {
  const row = await db.selectFrom("repository").select(COLUMNS).where("id", "=", id).executeTakeFirst();
  return row ? toRepository(row) : null;
}

/** Those of them that are known, by their ids. */
export async function findRepositoriesById(db: Db, ids: readonly number[]): Promise<Map<number, Repository>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("repository")
    .select(COLUMNS)
    .where("id", "=", sql<number>`any (${[...ids]}::bigint[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, toRepository(row)]));
}

/**
 * Records what GitHub says of a repository. Another repository that had the name loses it; one that lived
 * only here moves, with its memory and claims, to GitHub's id.
 */
export async function saveRepository(
  trx: Trx,
  repository: RepositoryIdentity,
  installationId: number | null,
): Promise<{ repository: Repository; isNew: boolean }> {
  const known = await findRepositoryById(trx, repository.id);
  const holder = await findRepositoryByName(trx, repository.owner, repository.name);
  if (holder && holder.id !== repository.id) {
    // By its name too: it may be given its new one at this very moment.
    await trx
      .updateTable("repository")
      .set({ current_name: false })
      .where("id", "=", holder.id)
      .where("owner", "=", holder.owner)
      .where("name", "=", holder.name)
      .execute();
  }
  const facts = {
    owner: repository.owner,
    name: repository.name,
    current_name: true,
    ...(repository.defaultBranch ? { default_branch: repository.defaultBranch } : {}),
    ...(typeof repository.archived === "boolean" ? { archived: repository.archived } : {}),
    ...(repository.url ? { html_url: repository.url } : {}),
    ...(installationId === null ? {} : { installation_id: installationId }),
  };
  const row = await trx
    .insertInto("repository")
    .values({ id: repository.id, ...facts })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(facts))
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
  if (holder?.local) await sql`select adopt_repository(${holder.id}, ${repository.id})`.execute(trx);
  return { repository: toRepository(row), isNew: known === null };
}

/**
 * Whether a description of the repository is news: GitHub's deliveries come late, and an old name must not return.
 * Remembers its time if it is.
 */
export async function isNewDescription(trx: Trx, id: number, at: Date): Promise<boolean> {
  const row = await trx
    .updateTable("repository")
    .set({ described_at: at })
    .where("id", "=", id)
    .where((where) => where.or([where("described_at", "is", null), where("described_at", "<=", at)]))
    .returning("id")
    .executeTakeFirst();
  return row !== undefined;
}

/** Makes a repository that lives only here, for memory and claims before an App is registered. */
export async function createLocalRepository(trx: Trx, owner: string, name: string): Promise<Repository> {
  await sql`
    insert into repository (id, owner, name) values (nextval('local_repository_id'), ${owner}, ${name})
    on conflict (lower(owner), lower(name)) where current_name do nothing`.execute(trx);
  const repository = await findRepositoryByName(trx, owner, name);
  if (!repository) throw new Error("a repository just made was not found");
  return repository;
}

/** The App can reach the repository (again): it is to be read, as a whole if it was read before. */
export async function markInstalled(trx: Trx, id: number, installationId: number): Promise<void> {
  await trx
    .updateTable("repository")
    .set({
      installed: true,
      unread: sql`case when installed then unread else true end`,
      installation_id: installationId,
      backfill_state: "pending",
      backfill_mode: sql`case when synced_to is null then 'take_up' else 'all' end`,
      backfill_cursor: null,
      backfill_error: null,
      // Whoever is at it loses the lease: what was read before may be out of date.
      backfiller: null,
      backfiller_until: null,
    })
    .where("id", "=", id)
    .execute();
  await trx
    .insertInto("configuration")
    .values({ repository_id: id })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** The App cannot reach the repositories any more. Their history is kept. */
export async function markUninstalled(
  trx: Trx,
  where: { ids: readonly number[] } | { installationId: number },
) {
  await trx
    .updateTable("repository")
    .set({ installed: false })
    .$if("ids" in where, (query) => query.where("id", "in", "ids" in where ? [...where.ids, 0] : []))
    .$if("installationId" in where, (query) =>
      query.where("installation_id", "=", "installationId" in where ? where.installationId : 0),
    )
    .execute();
}

/** GitHub refuses writes there, and says why. */
export async function markArchived(db: Db, id: number): Promise<void> {
  await db.updateTable("repository").set({ archived: true }).where("id", "=", id).execute();
}

export interface RepositorySummary {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  readonly installed: boolean;
  readonly items: number;
  readonly mirrorAgeSeconds: number | null;
  /** Why its backfill stopped, until it goes on. */
  readonly backfillError: string | null;
  /** What is wrong with its configuration file. */
  readonly configProblems: readonly string[];
  /** What that file says and does not hold yet. */
  readonly configHeld: readonly string[];
}

/** Repositories that a caller may see, by id, after a cursor. `items` counts the enrolled items that it may see. */
export async function listRepositories(
  db: Db,
  after: number | null,
  limit: number,
  { repositories, scope }: View,
): Promise<RepositorySummary[]> {
  const items = sql`from item i where i.repository_id = r.id and i.enrolled
    and ${reaches(scope, sql.ref("i.repository_id"), sql.ref("i.number"))}`;
  const isRoot = (scope?.roots ?? []).map(({ repositoryId }) => repositoryId);
  const { rows } = await sql<RepositorySummary>`
    select r.id, r.owner, r.name, r.installed,
           (select count(*) ${items}) as items,
           case when fresh.at is not null
             then greatest(0, floor(extract(epoch from db_now() - fresh.at)))::int end as "mirrorAgeSeconds",
           case when r.installed and r.backfill_state = 'pending' then r.backfill_error end as "backfillError",
           coalesce(c.problems, '{}') as "configProblems", coalesce(c.held, '{}') as "configHeld"
    from repository r left join configuration c on c.repository_id = r.id and r.installed
    cross join lateral mirror_fresh_at(r) as fresh (at)
    where r.current_name and (${after}::bigint is null or r.id > ${after})
      and (${repositories === null} or r.id = any (${[...(repositories ?? [])]}::bigint[]))
      and (${!scope?.roots} or r.id = any (${isRoot}::bigint[]) or exists (select 1 ${items}))
    order by r.id limit ${limit}`.execute(db);
  return rows;
}

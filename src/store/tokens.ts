/** API tokens (protocol 10): of each only its SHA-256 is here. */

import { type RawBuilder, sql } from "kysely";
import type { RecordRef } from "../domain/record-key.ts";
import type { Scope } from "../domain/scope.ts";
import { callFunction } from "./call.ts";
import { dbNow } from "./clock.ts";
import type { Db, Trx } from "./database.ts";

/** What a valid token allows. */
export interface TokenRights {
  readonly id: string;
  readonly capabilities: readonly string[];
  /** Null: all repositories. */
  readonly repositories: readonly number[] | null;
  readonly scope: Scope | null;
  readonly expiresAt: Date | null;
  /** How long it is still valid; null: until it is revoked. */
  readonly expiresInMs: number | null;
}

/** When it was last used is kept to so many seconds: a write for every call would cost more than the call. */
const USED_SECONDS = 60;

/**
 * One look-up by an index. It notes the use in the same statement, once a minute over all processes; a token that is
 * revoked or has expired is none.
 */
const RIGHTS = {
  name: "token_rights",
  text: `
    with valid as (
      select * from api_token where hash = $1 and revoked_at is null and (expires_at is null or expires_at > db_now())),
    used as (
      update api_token t set last_used_at = db_now() from valid v
      where t.id = v.id and (v.last_used_at is null or v.last_used_at < db_now() - interval '${USED_SECONDS} seconds'))
    select (select json_build_object('id', id, 'capabilities', capabilities, 'tags', tags, 'expiresAt', expires_at,
      'expiresInMs', extract(epoch from expires_at - db_now()) * 1000,
      'repositories', case when not every_repository then array(
        select repository_id from api_token_repository r where r.token_id = valid.id) end,
      'roots', case when rooted then coalesce((
        select json_agg(json_build_object('repositoryId', repository_id, 'number', number))
        from api_token_root r where r.token_id = valid.id), '[]') end) from valid) as answer`,
};

interface RightsRow extends Omit<TokenRights, "scope" | "expiresAt">, Scope {
  readonly expiresAt: string | null;
}

/** The rights of the token with this hash; null: there is no such token, or it has ended. */
export async function findTokenRights(db: Db, hash: Buffer): Promise<TokenRights | null> {
  const row = await callFunction<RightsRow | null>(db, RIGHTS, [hash]);
  if (row === null) return null;
  const { roots, tags, expiresAt, ...same } = row;
  return {
    ...same,
    scope: roots === null && tags === null ? null : { roots, tags },
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
  };
}

/** Of these tokens those that are not valid any more, and the time now. */
export async function endedTokens(db: Db, ids: readonly string[]): Promise<{ ended: string[]; now: Date }> {
  const { rows } = await sql<{ ended: string[]; now: Date }>`
    select db_now() as now, array(
      select id from unnest(${[...ids]}::uuid[]) as watched (id) where not exists (
        select 1 from api_token t where t.id = watched.id and t.revoked_at is null
          and (t.expires_at is null or t.expires_at > db_now())))::text[] as ended`.execute(db);
  const [row] = rows;
  if (!row) throw new Error("PostgreSQL did not say which tokens ended");
  return row;
}

/**
 * Whether the login is bound to the API token under which the record is claimed, or was when its lease lapsed. A token
 * that was revoked or has expired counts too: its bearer may still be at work.
 */
export async function isHoldersLogin(db: Db, ref: RecordRef, login: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from claim c join api_token t on c.actor = 'token/' || t.id
    where c.repository_id = ${ref.repositoryId} and c.topic = ${ref.topic} and c.id = ${ref.id} and c.live
      and lower(t.github_login) = lower(${login})`.execute(db);
  return rows.length > 0;
}

/** A token as it is shown: without its secret, which nobody has but its bearer. */
export interface Token {
  readonly id: string;
  /** Its place in the list. */
  readonly seq: number;
  readonly name: string;
  readonly capabilities: readonly string[];
  /** `owner/name`, as they are called now; null: all. */
  readonly repos: readonly string[] | null;
  readonly roots: readonly { readonly repo: string; readonly number: number }[] | null;
  readonly tags: readonly string[] | null;
  readonly githubLogin: string | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export interface NewToken {
  readonly hash: Buffer;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly repositories: readonly number[] | null;
  readonly scope: Scope;
  readonly githubLogin: string | null;
  readonly createdBy: string;
  readonly expiresAt: Date | null;
}

/** Makes a token; null: the time at which it is to expire has passed. */
export async function insertToken(trx: Trx, token: NewToken): Promise<Token | null> {
  const { rows } = await sql<{ id: string }>`
    insert into api_token
      (hash, name, capabilities, every_repository, rooted, tags, github_login, created_by, expires_at)
    select ${token.hash}, ${token.name}, ${[...token.capabilities]}::text[], ${token.repositories === null},
      ${token.scope.roots !== null}, ${token.scope.tags && [...token.scope.tags]}::text[], ${token.githubLogin},
      ${token.createdBy}, ${token.expiresAt}::timestamptz
    where ${token.expiresAt}::timestamptz is null or ${token.expiresAt}::timestamptz > db_now()
    returning id`.execute(trx);
  const id = rows[0]?.id;
  if (id === undefined) return null;
  await sql`insert into api_token_repository (repository_id, token_id)
    select distinct r, ${id}::uuid from unnest(${[...(token.repositories ?? [])]}::bigint[]) r`.execute(trx);
  for (const { repositoryId, number } of token.scope.roots ?? []) {
    await sql`insert into api_token_root (repository_id, number, token_id)
      values (${repositoryId}, ${number}, ${id}) on conflict do nothing`.execute(trx);
  }
  return (await select(trx, sql`t.id = ${id}`, 1))[0] ?? null;
}

/** Tokens, the newest first, below a place in the list. `revoked`: also those that were revoked. */
export function listTokens(
  db: Db,
  { revoked, before, limit }: { revoked: boolean; before: number; limit: number },
): Promise<Token[]> {
  return select(db, sql`(${revoked} or t.revoked_at is null) and t.seq < ${before}`, limit);
}

/** Ends a token; again changes nothing. Null: there is no such token. */
export async function revokeToken(trx: Trx, id: string, actor: string): Promise<Token | null> {
  await trx
    .updateTable("api_token")
    .set({ revoked_at: dbNow, revoked_by: actor })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .execute();
  return (await select(trx, sql`t.id = ${id}`, 1))[0] ?? null;
}

async function select(db: Db, where: RawBuilder<unknown>, limit: number): Promise<Token[]> {
  const { rows } = await sql<Token>`
    select t.id, t.seq, t.name, t.capabilities, t.tags, t.github_login as "githubLogin", t.created_by as "createdBy",
      t.created_at as "createdAt", t.expires_at as "expiresAt", t.revoked_at as "revokedAt",
      t.last_used_at as "lastUsedAt",
      case when not t.every_repository then array(
        select f.owner || '/' || f.name from api_token_repository r join repository f on f.id = r.repository_id
        where r.token_id = t.id order by 1) end as repos,
      case when t.rooted then coalesce((
        select json_agg(json_build_object('repo', f.owner || '/' || f.name, 'number', r.number) order by f.id, r.number)
        from api_token_root r join repository f on f.id = r.repository_id where r.token_id = t.id), '[]') end as roots
    from api_token t where ${where} order by t.seq desc limit ${limit}`.execute(db);
  return rows;
}

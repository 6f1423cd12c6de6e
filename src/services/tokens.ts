/** API tokens: made, listed and revoked (protocol 10). The secret is shown once and kept nowhere. */

import { createHash, randomBytes } from "node:crypto";
import { Problem } from "../contract/problem.ts";
import type { CreatedToken, CreateToken, TokenBody, TokensAnswer } from "../contract/tokens.ts";
import { itemOfTarget, itemTarget, parseKey } from "../domain/record-key.ts";
import type { ItemAt } from "../domain/scope.ts";
import { type Db, inTransaction } from "../store/database.ts";
import { findRepositoryByName } from "../store/repositories.ts";
import { insertToken, listTokens, revokeToken, type Token } from "../store/tokens.ts";
import type { Caller } from "./caller.ts";
import { cursorOf, readCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";

const SECRET_BYTES = 32;
export const SECRET_PATTERN = /^lh_[A-Za-z0-9_-]{43}$/;

export const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/** Makes a token of 256 random bits and answers it with its secret. */
export async function createToken(deps: Deps, caller: Caller, asked: CreateToken): Promise<CreatedToken> {
  const token = `lh_${randomBytes(SECRET_BYTES).toString("base64url")}`;
  const repositories = asked.repos && (await repositoriesOf(deps.db, asked.repos));
  const roots = asked.scope?.rootIds ? await rootsOf(deps.db, asked.scope.rootIds, repositories) : null;
  const made = await inTransaction(deps.db, (trx) =>
    insertToken(trx, {
      hash: hashOf(token),
      name: asked.name,
      capabilities: [...new Set(asked.capabilities)],
      repositories,
      scope: { roots, tags: asked.scope?.tagsInclude ?? null },
      githubLogin: asked.githubLogin,
      createdBy: caller.actor,
      expiresAt: asked.expiresAt === null ? null : new Date(asked.expiresAt),
    }),
  );
  if (made === null) throw invalid("expiresAt", "lies in the past: the token would never be valid");
  return { ...bodyOf(made), token };
}

export async function tokens(
  deps: Deps,
  query: { cursor?: string | undefined; limit: number; revoked: "true" | "false" },
): Promise<TokensAnswer> {
  const before = readCursor(query.cursor, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  const revoked = query.revoked === "true";
  const found = await listTokens(deps.db, { revoked, before, limit: query.limit + 1 });
  const shown = found.slice(0, query.limit);
  const last = shown.at(-1);
  return {
    tokens: shown.map(bodyOf),
    nextCursor: found.length > query.limit && last ? cursorOf(last.seq) : null,
  };
}

/** Ends a token, at once and for good. Again answers the same. */
export async function revoke(deps: Deps, caller: Caller, id: string): Promise<TokenBody> {
  const token = await inTransaction(deps.db, (trx) => revokeToken(trx, id, caller.actor));
  if (token === null) throw new Problem("not_found", "there is no such token; GET /api/v1/tokens lists them");
  return bodyOf(token);
}

const bodyOf = (token: Token): TokenBody => ({
  id: token.id,
  name: token.name,
  capabilities: [...token.capabilities],
  repos: token.repos && [...token.repos],
  scope: {
    rootIds: token.roots?.map(({ repo, number }) => `repo/${repo}/${itemTarget(number)}`) ?? null,
    tagsInclude: token.tags && [...token.tags],
  },
  githubLogin: token.githubLogin,
  createdBy: token.createdBy,
  createdAt: token.createdAt.toISOString(),
  expiresAt: token.expiresAt?.toISOString() ?? null,
  revokedAt: token.revokedAt?.toISOString() ?? null,
  lastUsedAt: token.lastUsedAt?.toISOString() ?? null,
});

function invalid(field: string, message: string): Problem {
  return new Problem("validation_failed", `${field}: ${message}`, { errors: [{ field, message }] });
}

/** By their ids: a token is for the repository, whatever it will be called. */
async function repositoriesOf(db: Db, names: readonly string[]): Promise<number[]> {
  const ids: number[] = [];
  for (const [index, name] of names.entries()) {
    const [owner = "", repo = ""] = name.split("/");
    const found = await findRepositoryByName(db, owner, repo);
    if (!found)
      throw invalid(`repos.${index}`, `${name} is not known here: install the GitHub App on it first`);
    ids.push(found.id);
  }
  return ids;
}

async function rootsOf(
  db: Db,
  keys: readonly string[],
  repositories: readonly number[] | null,
): Promise<ItemAt[]> {
  const roots: ItemAt[] = [];
  for (const [index, key] of keys.entries()) {
    const field = `scope.rootIds.${index}`;
    const parsed = parseKey(key, NOWHERE);
    const number = parsed.kind === "other" ? itemOfTarget(parsed.target) : null;
    if (parsed.kind !== "other" || number === null)
      throw invalid(field, `"${key}" is no item's key; write repo/{owner}/{name}/mem/backlog/issue-{number}`);
    const found = await findRepositoryByName(db, parsed.owner, parsed.name);
    if (!found) throw invalid(field, `${parsed.owner}/${parsed.name} is not known here`);
    if (repositories && !repositories.includes(found.id))
      throw invalid(
        field,
        `${parsed.owner}/${parsed.name} is not among the token's repos, so that nothing is reached`,
      );
    roots.push({ repositoryId: found.id, number });
  }
  return roots;
}

/** A token has no home: its roots are whole keys. */
const NOWHERE = { owner: "", name: "" };

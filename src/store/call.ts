/**
 * Statements by a text that is always the same: calls of functions in the database, and what is read very often.
 * Outside a transaction they are prepared ones and go to the pool directly: parsing and planning them, and Kysely's own
 * steps, would cost a fifth of what a claim does, and most of what the ready set does.
 */

import { createHash } from "node:crypto";
import { CompiledQuery, type RawBuilder, sql } from "kysely";
import type pg from "pg";
import type { RecordRef } from "../domain/record-key.ts";
import { Batches } from "./batch.ts";
import { type Db, poolOf } from "./database.ts";
import { untilNotBrokenOff } from "./failure.ts";

export interface FunctionCall {
  /** Names the statement on each connection. */
  readonly name: string;
  /** Of one row with the column `answer`. */
  readonly text: string;
}

/**
 * Calls the function and answers what it does. What PostgreSQL breaks off is run again; in a transaction of the
 * caller's, that one is.
 */
export async function callFunction<T>(
  db: Db,
  { name, text }: FunctionCall,
  parameters: readonly unknown[],
): Promise<T> {
  const values = [...parameters];
  const pool = poolOf(db);
  const { rows } = pool
    ? await untilNotBrokenOff(() => pool.query<{ answer: T }>({ name, text, values }))
    : await db.executeQuery<{ answer: T }>(CompiledQuery.raw(text, values));
  const [row] = rows;
  if (!row) throw new Error(`${name} answered nothing`);
  return row.answer;
}

/** A repository that lives only here may move to GitHub's id, and is locked by whoever writes to it. */
export const isShared = ({ repositoryId }: RecordRef): boolean => repositoryId >= 0;

/** What `answer_at_once` answers (migrations/0021). */
export type SharedCall = FunctionCall & {
  readonly name: "take_claim" | "renew_claim" | "release_claim" | "write_scalars" | "take_next";
  /** What answers as `answer_at_once` does, of the same parameters, for less: for a batch of one. */
  readonly forOne?: FunctionCall;
};

interface Question {
  readonly call: SharedCall;
  readonly parameters: readonly unknown[];
}

const batches = new WeakMap<pg.Pool, Batches<Question, unknown>>();

function batchesOf(pool: pg.Pool, db: Db): Batches<Question, unknown> {
  const known = batches.get(pool);
  if (known) return known;
  const made = new Batches<Question, unknown>(
    async (questions) => {
      const { rows } = await pool.query<{ answer: unknown }>(together(questions));
      return rows.map(({ answer }) => answer);
    },
    ({ call, parameters }) => callFunction(db, call, parameters),
  );
  batches.set(pool, made);
  return made;
}

function together(questions: readonly Question[]): pg.QueryConfig {
  const [only] = questions;
  if (questions.length === 1 && only?.call.forOne)
    return { ...only.call.forOne, values: [...only.parameters] };
  return {
    name: "answer_at_once",
    text: "select answer from unnest(answer_at_once($1::text[], $2::jsonb[])) with ordinality a (answer, n) order by n",
    values: [
      questions.map(({ call }) => call.name),
      questions.map(({ parameters }) => JSON.stringify(parameters)),
    ],
  };
}

/**
 * As `callFunction`, for what many ask at the same time: outside a transaction, calls that come while others are under
 * way share one transaction, whatever each of them is about. What is known to be asked alone (`shares` false) is so at
 * once. Parameters begin with the record's repository, topic and id (`take_next`: the repository).
 */
export function callTogether<T>(
  db: Db,
  call: SharedCall,
  parameters: readonly unknown[],
  shares: boolean,
): Promise<T> {
  const pool = poolOf(db);
  if (pool === null || !shares) return callFunction<T>(db, call, parameters);
  return batchesOf(pool, db).ask({ call, parameters }) as Promise<T>;
}

/**
 * The rows of a reading statement, prepared on each connection. Its text must not hold what changes from call to call,
 * or every call would leave another statement behind; nor may it read `*`, which changes with the next migration.
 */
export async function preparedRows<T>(db: Db, { sql: text, parameters }: CompiledQuery<T>): Promise<T[]> {
  const pool = poolOf(db);
  const named = { name: nameOf(text), text };
  if (pool === null) {
    // Of a transaction's connection Kysely knows only texts; what it is given as one it hands to pg as it is.
    const asText = named as unknown as string;
    return (await db.executeQuery<T>(CompiledQuery.raw(asText, [...parameters]))).rows;
  }
  const query = { ...named, values: [...parameters] };
  return (await untilNotBrokenOff(() => pool.query<T & pg.QueryResultRow>(query))).rows;
}

/**
 * An array whose length the planner does not see. A prepared statement is planned once only if the plans for its values
 * look no cheaper than the one for any; where they do, planning costs more than what is read. For the same reason limits
 * are written into the text, in steps.
 */
export const unseen = (values: readonly (string | number)[], type: "int" | "text"): RawBuilder<unknown> =>
  sql`array(select e::${sql.raw(type)} from json_array_elements_text(${JSON.stringify(values)}::json) e)`;

/** The limit that is written into a statement's text for one that is asked for: few texts, so few plans. */
export const limitStep = (limit: number): RawBuilder<unknown> =>
  sql.lit(limit <= 20 ? 20 : limit <= 100 ? 100 : 1000);

const names = new Map<string, string>();

/** Statements are known by name, which PostgreSQL cuts off after 63 bytes. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash("sha256").update(text).digest("hex").slice(0, 32);
  names.set(text, name);
  return name;
}

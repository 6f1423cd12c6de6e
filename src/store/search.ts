/** Full-text search of memory. */

import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Scope } from "../domain/scope.ts";
import { MARKS } from "../domain/search-text.ts";
import type { Db } from "./database.ts";
import { isThere, reachesRecord } from "./memory-lists.ts";

export interface Found {
  readonly topic: string;
  readonly id: string;
  readonly kind: string;
  readonly title: string | null;
  readonly tags: readonly string[];
  readonly author: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly expiresAt: Date | null;
  readonly rank: number;
  /** The part of the body that is looked through for an excerpt. */
  readonly excerptOf: string;
  /** Title and body as search text, with `MARKS` around what was found. */
  readonly markedTitle: string;
  readonly markedBody: string;
  /** Whether more records match than were ranked. */
  readonly capped: boolean;
}

/** So many of those whose titles match, of all that match, and of the newest are ranked: whatever matches more. */
const MOST_RANKED = 500;
/** Where an excerpt is taken from. A match further on is found, and shown without an excerpt. */
const EXCERPT_CHARACTERS = 20_000;

const TITLE_OPTIONS = `HighlightAll=true, StartSel=${MARKS.start}, StopSel=${MARKS.end}`;
const BODY_OPTIONS =
  `MaxFragments=2, MaxWords=25, MinWords=10, StartSel=${MARKS.start}, StopSel=${MARKS.end}, ` +
  `FragmentDelimiter=${MARKS.cut}`;

/**
 * The records of a repository that match, those whose titles do first. `query` is text for `websearch_to_tsquery`.
 *
 * A word that a hundred thousand records hold must not have them all read and ranked: three samples are, each found by
 * an index, and `capped` says so. Of anything rarer all are.
 */
export async function searchRecords(
  db: Db,
  at: { repositoryId: number; topic: string | undefined },
  scope: Scope | null,
  query: string,
  limit: number,
): Promise<Found[]> {
  const asked = sql`websearch_to_tsquery('pg_catalog.english', ${query})`;
  const place = `' ${at.repositoryId}'${at.topic === undefined ? "" : ` & ' t${at.topic}'`}`;
  const here = sql`(${place}::tsquery && ${asked})`;
  const sample = (where: RawBuilder<SqlBool>) => sql`
    select r.ctid from record r where ${where} and numnode(${asked}) > 0 and ${isThere} and ${reachesRecord(scope)}
    limit ${MOST_RANKED}`;
  const newest = sql`
    select r.ctid from (
      select r.ctid, r.* from record r where r.repository_id = ${at.repositoryId} and r.topic <> 'backlog' and ${isThere}
      order by r.updated_at desc limit ${MOST_RANKED}) as r
    where r.search @@ ${here} and numnode(${asked}) > 0`;
  // By their places in the table: these hold for the whole statement, and looking up keys would cost more than ranking.
  const { rows } = await sql<Found>`
    with matching as materialized (${sample(sql`r.search @@ ${here}`)}),
    titled as materialized (${
      // Of the whole record too: what must not be there may stand in the body. "is true": not by the other index again.
      sample(sql`ts_filter(r.search, '{a}') @@ ${here} and (r.search @@ ${here}) is true`)
    }),
    newest as materialized (${newest}),
    best as (
      select r.topic, r.id, r.kind, r.title, r.body, r.tags, r.author, r.created_at, r.updated_at, r.expires_at,
        ts_filter(r.search, '{a}') @@ ${asked} as in_title, ts_rank(r.search, ${asked}, 1) as rank
      from record r where r.ctid = any (array(
        select ctid from matching union select ctid from titled union select ctid from newest))
      order by in_title desc, rank desc, r.updated_at desc, r.topic, r.id limit ${limit})
    select topic, id, kind, title, tags, author, created_at as "createdAt", updated_at as "updatedAt",
      expires_at as "expiresAt", rank, left(coalesce(body, ''), ${EXCERPT_CHARACTERS}) as "excerptOf",
      ts_headline('pg_catalog.english', search_text(coalesce(title, '')), ${asked}, ${TITLE_OPTIONS}) as "markedTitle",
      ts_headline('pg_catalog.english', search_text(left(coalesce(body, ''), ${EXCERPT_CHARACTERS})), ${asked},
        ${BODY_OPTIONS}) as "markedBody",
      (select count(*) from matching) = ${MOST_RANKED} as capped
    from best order by in_title desc, rank desc, updated_at desc, topic, id`.execute(db);
  return rows;
}

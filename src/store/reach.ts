/** Which items a scope reaches (protocol 10), as a condition that any query can take. */

import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Scope, View } from "../domain/scope.ts";

/**
 * True for an item that the scope reaches; false for what is no item. `repositoryId` and `number` are expressions over
 * the query's rows. The walk goes up, for an item has few ancestors and a root may have very many descendants; it ends
 * in circles too, for no place is visited twice.
 */
export function reaches(
  scope: Scope | null,
  repositoryId: RawBuilder<unknown>,
  number: RawBuilder<unknown>,
): RawBuilder<SqlBool> {
  const wanted: RawBuilder<SqlBool>[] = [];
  if (scope?.tags) {
    wanted.push(sql<SqlBool>`exists (select 1 from item of_scope
      where of_scope.repository_id = ${repositoryId} and of_scope.number = ${number}
        and of_scope.tags && ${[...scope.tags]}::text[])`);
  }
  if (scope?.roots) {
    const roots = JSON.stringify(scope.roots.map((root) => [root.repositoryId, root.number]));
    wanted.push(sql<SqlBool>`exists (
      with recursive up (repository_id, number) as (
        select (${repositoryId})::bigint, (${number})::integer
        union
        select l.target_repository_id, l.target_number from up
        join record_link l on l.repository_id = up.repository_id and l.number = up.number
          and l.relation = 'partOf' and l.target_number is not null)
      select 1 from up join jsonb_array_elements(${roots}::jsonb) as root
        on (root->>0)::bigint = up.repository_id and (root->>1)::integer = up.number)`);
  }
  return wanted.length === 0 ? sql<SqlBool>`true` : sql<SqlBool>`(${sql.join(wanted, sql` and `)})`;
}

const isOpenTo = ({ repositories }: View, repositoryId: RawBuilder<unknown>): RawBuilder<SqlBool> =>
  repositories === null
    ? sql<SqlBool>`true`
    : sql<SqlBool>`${repositoryId} = any (${[...repositories]}::bigint[])`;

/** True for an item that a caller may see: of one of its repositories, and reached by its scope. */
export const sees = (
  view: View,
  repositoryId: RawBuilder<unknown>,
  number: RawBuilder<unknown>,
): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${isOpenTo(view, repositoryId)} and ${reaches(view.scope, repositoryId, number)})`;

/**
 * The same for any record. What is no item is reached by its own tags, and by being part of an item: so what a token with
 * roots remembers is `partOf` an item that it reaches. Everything else is out of its sight.
 */
export function seesRecord(
  view: View,
  repositoryId: RawBuilder<unknown>,
  topic: RawBuilder<unknown>,
  id: RawBuilder<unknown>,
): RawBuilder<SqlBool> {
  const { scope } = view;
  if (scope === null) return isOpenTo(view, repositoryId);
  const wanted: RawBuilder<SqlBool>[] = [];
  if (scope.tags) {
    wanted.push(sql<SqlBool>`exists (select 1 from record of_scope where of_scope.repository_id = ${repositoryId}
      and of_scope.topic = ${topic} and of_scope.id = ${id} and of_scope.tags && ${[...scope.tags]}::text[])`);
  }
  if (scope.roots) {
    const byRoots = { roots: scope.roots, tags: null };
    wanted.push(sql<SqlBool>`exists (select 1 from record_link part where part.repository_id = ${repositoryId}
      and part.topic = ${topic} and part.id = ${id} and part.relation = 'partOf' and part.target_number is not null
      and ${reaches(byRoots, sql.ref("part.target_repository_id"), sql.ref("part.target_number"))})`);
  }
  const asRecord = wanted.length === 0 ? sql<SqlBool>`true` : sql<SqlBool>`(${sql.join(wanted, sql` and `)})`;
  return sql<SqlBool>`(${isOpenTo(view, repositoryId)} and case when ${topic} = 'backlog'
    then ${reaches(scope, repositoryId, sql`item_number(${topic}, ${id})`)} else ${asRecord} end)`;
}

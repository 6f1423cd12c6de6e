/** Several results in one row. */

import { type RawBuilder, sql } from "kysely";

/** The rows of a query, in their order, as a JSON array of objects. */
export const jsonRows = (query: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select coalesce(json_agg(q), '[]') from (${query}) q)`;

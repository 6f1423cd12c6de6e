/** Incidents: defects that only an event shows, kept until they are mended (protocol 6). */

import { sql } from "kysely";
import type { Trx } from "./database.ts";

/** Opens an incident: a defect that only an event shows. Seen again, its time of opening stays. */
export async function openIncident(
  trx: Trx,
  incident: { repositoryId: number; number: number; code: string; value: string; detail: string },
): Promise<void> {
  await trx
    .insertInto("incident")
    .values({
      repository_id: incident.repositoryId,
      number: incident.number,
      code: incident.code,
      value: incident.value,
      detail: incident.detail,
    })
    .onConflict((conflict) =>
      conflict.columns(["repository_id", "number", "code", "value"]).doUpdateSet({ detail: incident.detail }),
    )
    .execute();
}

/** Closes the item's incidents of these codes. */
export async function closeIncidents(
  trx: Trx,
  repositoryId: number,
  number: number,
  codes: readonly string[],
): Promise<void> {
  await trx
    .deleteFrom("incident")
    .where("repository_id", "=", repositoryId)
    .where("number", "=", number)
    .where("code", "in", [...codes])
    .execute();
}

/** Items that have an incident of this code and value. */
export async function itemsWithIncident(
  trx: Trx,
  repositoryId: number,
  code: string,
  value: string,
): Promise<number[]> {
  const rows = await trx
    .selectFrom("incident")
    .select("number")
    .where("repository_id", "=", repositoryId)
    .where("code", "=", code)
    .where("value", "=", value)
    .execute();
  return rows.map(({ number }) => number);
}

/** Closes incidents of this code and value, on whatever items but those. */
export async function closeIncidentsOf(
  trx: Trx,
  repositoryId: number,
  { code, value }: { readonly code: string; readonly value: string },
  but: readonly number[],
): Promise<void> {
  await sql`
    delete from incident where repository_id = ${repositoryId} and code = ${code} and value = ${value}
      and not number = any (${[...but]}::int[])`.execute(trx);
}

/** Deliveries taken many at once. What holds of one (`inbox.ts`) holds of each of them. */

import { sql } from "kysely";
import type { Db, Trx } from "./database.ts";
import { type Delivery, type DeliveryRow, LEASE_SECONDS, toDelivery } from "./inbox.ts";

/** So many of the oldest are looked at. */
const WINDOW = 1_000;
/** Whoever changes one of them waits until all are committed. */
const MOST = { count: 100, bytes: 4 * 1024 * 1024 };

/**
 * Leases the oldest deliveries that are due, not to be applied alone, and headed in their lanes by none but each other:
 * of a lane as many as follow each other. Answers them in order.
 */
export async function takeDeliveries(db: Db): Promise<Delivery[]> {
  const taken = await takeAmong(db, WINDOW);
  // All of the oldest may wait for something, and what is behind them for nothing.
  return taken.length > 0 ? taken : takeAmong(db, null);
}

/**
 * Between the look and the lock others may take the same. So what was not to be had is not passed over: of a lane only that
 * is taken before which everything was had.
 *
 * Those whose takers never came back are set apart: one of them may be why.
 */
async function takeAmong(db: Db, window: number | null): Promise<Delivery[]> {
  const { rows } = await sql<DeliveryRow>`
    with pending as materialized (
      select seq, repository_id, lane, octet_length(payload) as bytes,
        not alone and next_try_at <= (select db_now())
          and locked_until is null as free,
        not alone and locked_until < (select db_now()) as lapsed
      from inbox where state = 'pending' order by seq limit ${window}::bigint),
    lapsed as materialized (
      select i.seq from inbox i join pending p on p.seq = i.seq and p.lapsed
      where i.state = 'pending' and i.locked_until < (select db_now()) for update of i skip locked),
    apart as (
      update inbox i set alone = true, locked_until = null, lapses = i.lapses + 1 from lapsed l where i.seq = l.seq),
    runs as (
      select seq, repository_id, lane, bytes, bool_and(free) over (partition by repository_id, lane order by seq) as free
      from pending),
    wanted as materialized (
      select seq, repository_id, lane from (
        select seq, repository_id, lane, row_number() over (order by seq) as place,
          sum(bytes) over (order by seq) - bytes as before from runs where free) as placed
      where place <= ${MOST.count} and before < ${MOST.bytes}),
    had as materialized (
      select i.seq from inbox i join wanted w on w.seq = i.seq
      where i.state = 'pending' and not i.alone and i.next_try_at <= (select db_now())
        and i.locked_until is null
      for update of i skip locked),
    mine as (
      select seq from (
        select w.seq, bool_and(h.seq is not null) over (partition by w.repository_id, w.lane order by w.seq) as free
        from wanted w left join had h on h.seq = w.seq) as lanes
      where free)
    update inbox i set locked_until = db_now() + make_interval(secs => ${LEASE_SECONDS}), attempts = i.attempts + 1
    from mine where i.seq = mine.seq
    returning i.repository_id, i.hook_id, i.delivery_id, i.event, i.action, i.lane, i.payload, i.seq, i.attempts, i.lapses,
      extract(epoch from db_now() - i.received_at)::float8 as age_seconds`.execute(db);
  return rows.map(toDelivery).sort((a, b) => a.seq - b.seq);
}

/** As `lockDelivery`, of many: the numbers of those that are still this process's to apply. */
export async function lockDeliveries(trx: Trx, deliveries: readonly Delivery[]): Promise<Set<number>> {
  const { rows } = await sql<{ seq: number }>`
    select i.seq from inbox i join ${keysOf(deliveries)} on t.seq = i.seq and t.attempts = i.attempts
    where i.state = 'pending' for update of i skip locked`.execute(trx);
  return new Set(rows.map(({ seq }) => seq));
}

/** Gives leases back, as `returnDelivery` does, perhaps so that each is applied alone. */
export async function returnDeliveries(
  db: Db,
  deliveries: readonly Delivery[],
  { alone }: { alone: boolean },
): Promise<void> {
  if (deliveries.length === 0) return;
  await sql`
    update inbox i set locked_until = null, attempts = i.attempts - 1, alone = i.alone or ${alone}
    from ${keysOf(deliveries)}
    where t.seq = i.seq and t.attempts = i.attempts and i.state = 'pending'`.execute(db);
}

const keysOf = (deliveries: readonly Delivery[]) => sql`
  unnest(${deliveries.map(({ seq }) => seq)}::bigint[], ${deliveries.map(({ attempts }) => attempts)}::int[]) as t (seq, attempts)`;

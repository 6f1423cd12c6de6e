/** What the suite itself sees of the database: its clock, the servers' hearts, and what is left at the end. */

import pg from "pg";
import { nowMs } from "./clock.ts";
import type { FinalRecord, GrantSeen, History } from "./history.ts";

/** Rounding to milliseconds, and a clock that is being slewed. */
const CLOCK_SLACK_MS = 5;
const SAMPLES = 8;

/** The database's clock less the machine's monotonic one lies between these, in milliseconds. */
export type ClockOffset = History["clockOffsetMs"];

/** Wide enough for everything that was seen: looks that do not fit show that a clock was moved meanwhile. */
export function spanning(good: readonly ClockOffset[], looks: readonly ClockOffset[]): ClockOffset {
  let low = Math.min(...good.map((offset) => offset.low));
  let high = Math.max(...good.map((offset) => offset.high));
  for (const look of looks) {
    if (look.high < low) low = look.low;
    if (look.low > high) high = look.high;
  }
  return { low, high };
}

export class DatabaseView {
  readonly #pool: pg.Pool;

  constructor(url: string) {
    this.#pool = new pg.Pool({ connectionString: url, max: 3, application_name: "race-suite" });
    // Connections are cut when PostgreSQL is crashed.
    this.#pool.on("error", () => {});
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async isUp(): Promise<boolean> {
    return this.#pool.query("select 1").then(
      () => true,
      () => false,
    );
  }

  async run(sql: string): Promise<void> {
    await this.#pool.query(sql);
  }

  async count(sql: string): Promise<number> {
    const { rows } = await this.#pool.query<{ n: string }>(sql);
    return Number(rows[0]?.n);
  }

  /** How far the database's clock is ahead of the monotonic one: the narrowest of several looks. */
  async clockOffset(): Promise<ClockOffset> {
    let low = -Infinity;
    let high = Infinity;
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      const before = nowMs();
      const { rows } = await this.#pool.query<{ ms: string }>(
        "select extract(epoch from db_now()) * 1000 as ms",
      );
      const after = nowMs();
      low = Math.max(low, Number(rows[0]?.ms) - after);
      high = Math.min(high, Number(rows[0]?.ms) - before);
    }
    return { low: low - CLOCK_SLACK_MS, high: high + CLOCK_SLACK_MS };
  }

  /** The database's clock, and for how long each server's heart would still count without another beat. */
  async hearts(): Promise<{ clockMs: number; leftMs: Map<string, number> }> {
    const { rows } = await this.#pool.query<{ id: string | null; left: string; clock: string }>(
      `select r.id, extract(epoch from r.alive_until - n.now) * 1000 as left, extract(epoch from n.now) * 1000 as clock
       from (select db_now() as now) n left join replica r on true`,
    );
    const hearts = rows.flatMap(({ id, left }) => (id === null ? [] : [[id, Number(left)] as const]));
    return { clockMs: Number(rows[0]?.clock), leftMs: new Map(hearts) };
  }

  /** Every record that was ever claimed. */
  async finalRecords(): Promise<FinalRecord[]> {
    const claims = await this.#pool.query<{ topic: string; id: string; mark: string; text: string | null }>(
      `select c.topic, c.id, c.fence as mark, r.body as text from claim c
       left join record r on r.repository_id = c.repository_id and r.topic = c.topic and r.id = c.id`,
    );
    const grants = await this.#pool.query<{
      topic: string;
      id: string;
      token: string;
      owner: string;
      ended: string | null;
      ms: string;
    }>(
      `select topic, id, fence as token, owner, ended, extract(epoch from granted_at) * 1000 as ms from claim_grant
       order by fence desc`,
    );
    const byRecord = Map.groupBy(grants.rows, nameOf);
    return claims.rows.map((claim) => ({
      record: nameOf(claim),
      mark: Number(claim.mark),
      text: claim.text,
      grants: (byRecord.get(nameOf(claim)) ?? []).map(
        ({ token, owner, ended, ms }): GrantSeen & { grantedAtMs: number } => ({
          token: Number(token),
          owner,
          ended,
          grantedAtMs: Math.floor(Number(ms)),
        }),
      ),
    }));
  }
}

const nameOf = ({ topic, id }: { topic: string; id: string }): string =>
  topic === "backlog" ? id.replace(/^issue-/, "items/") : `memory/${topic}/${id}`;

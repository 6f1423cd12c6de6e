/** What the suite itself sees of the database: its clock, the servers' hearts, and what is left at the end. */

import pg from "pg";
import { nowMs } from "./clock.ts";
import type { FinalRecord, GrantSeen, History } from "./history.ts";

/** Rounding to milliseconds, and a clock that is being slewed. */
const CLOCK_SLACK_MS = 5;
const SAMPLES = 8;

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
  async clockOffset(): Promise<History["clockOffsetMs"]> {
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

  /** For how long each server's heart would still count without another beat. */
  async hearts(): Promise<Map<string, number>> {
    const { rows } = await this.#pool.query<{ id: string; ms: string }>(
      "select id, extract(epoch from alive_until - db_now()) * 1000 as ms from replica",
    );
    return new Map(rows.map(({ id, ms }) => [id, Number(ms)]));
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

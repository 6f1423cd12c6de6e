/**
 * A correct lock in a few lines, with a clock that is turned by hand: it plays workers' steps and writes the history
 * that the race suite would have. The checker must never complain of it. With a fault it errs on purpose.
 */

import type { Call, FinalRecord, GrantSeen, History, Outcome } from "./history.ts";

/** What a simulated worker does next, and how long each part takes. Times in milliseconds. */
export interface Step {
  readonly worker: number;
  readonly kind: "claim" | "renew" | "release" | "write" | "bare-write" | "status" | "read" | "grants";
  readonly record: number;
  readonly pauseMs: number;
  readonly wayThereMs: number;
  readonly wayBackMs: number;
  readonly leaseSeconds: number;
  readonly maxWaitSeconds: number;
  /** The answer is lost, or the request is: nobody knows which. */
  readonly cut: "no" | "answer" | "request";
}

export type Fault =
  | "ignores_leases"
  | "ignores_the_line"
  | "ignores_the_mark"
  | "ignores_missing_tokens"
  | "renews_what_lapsed"
  | "repeats_tokens"
  | "forgets_grants"
  | "drops_writes";

interface StoredGrant {
  readonly token: number;
  readonly owner: string;
  readonly grantedAtMs: number;
  ended: string | null;
}

interface Place {
  readonly owner: string;
  readonly leaseSeconds: number;
  readonly answer: Answer;
}

/** Hears of the outcome when the lock has decided it. */
type Answer = (outcome: Outcome, now: number) => void;

/** One record's claim, its line and its text. */
class SimulatedRecord {
  readonly name: string;
  readonly grants: StoredGrant[] = [];
  readonly line: Place[] = [];
  text: string | null = null;
  mark = 0;
  live = false;
  leaseEndsMs = 0;

  constructor(name: string) {
    this.name = name;
  }

  isHeld(now: number): boolean {
    return this.live && this.leaseEndsMs > now;
  }
}

/** The database's clock is ahead of the workers' by this much. */
const OFFSET_MS = 1_000_000;

export class SimulatedLock {
  readonly #records: SimulatedRecord[];
  readonly #fault: Fault | null;
  readonly #schedule: (atMs: number, work: (now: number) => void) => void;
  #token = 0;

  constructor(
    records: number,
    fault: Fault | null,
    schedule: (atMs: number, work: (now: number) => void) => void,
  ) {
    this.#records = Array.from({ length: records }, (_, index) => new SimulatedRecord(`notes/n${index}`));
    this.#fault = fault;
    this.#schedule = schedule;
  }

  perform(owner: string, call: Call, now: number, answer: Answer): void {
    const record = this.#records.find(({ name }) => "record" in call && name === call.record);
    if (!record) throw new Error("no such record");
    if (call.kind === "claim") this.#claim(record, owner, call, now, answer);
    else answer(this.#atOnce(record, call, now), now);
  }

  #atOnce(record: SimulatedRecord, call: Call, now: number): Outcome {
    switch (call.kind) {
      case "renew": {
        const lapsed = !record.isHeld(now) && this.#fault !== "renews_what_lapsed";
        if (record.mark !== call.token || !record.live || lapsed)
          return { kind: "not_granted", reason: "superseded" };
        return this.#lease(record, call.token, call.leaseSeconds, now);
      }
      case "release":
        if (record.mark !== call.token) return { kind: "not_released", reason: "stale" };
        if (!record.live) return { kind: "not_released", reason: "unclaimed" };
        this.#end(record, "released", now);
        return { kind: "released" };
      case "write":
        return this.#write(record, call.token, call.text);
      case "read":
        return { kind: "text", text: record.text };
      case "status":
        return { kind: "status", token: record.mark || null, queueDepth: record.line.length };
      default:
        return { kind: "grants", grants: this.#seen(record), complete: true };
    }
  }

  #claim(
    record: SimulatedRecord,
    owner: string,
    call: Extract<Call, { kind: "claim" }>,
    now: number,
    answer: Answer,
  ): void {
    const lineIsInTheWay = record.line.length > 0 && this.#fault !== "ignores_the_line";
    const isFree = !record.isHeld(now) || this.#fault === "ignores_leases";
    if (isFree && !lineIsInTheWay) {
      answer(this.#grant(record, owner, call.leaseSeconds, now), now);
      return;
    }
    if (call.maxWaitSeconds === 0) {
      answer({ kind: "not_granted", reason: "contended" }, now);
      return;
    }
    const place = { owner, leaseSeconds: call.leaseSeconds, answer };
    record.line.push(place);
    this.#schedule(now + call.maxWaitSeconds * 1000, (later) => {
      const at = record.line.indexOf(place);
      if (at < 0) return;
      record.line.splice(at, 1);
      answer({ kind: "not_granted", reason: "timeout" }, later);
    });
    this.#serve(record, now);
  }

  #serve(record: SimulatedRecord, now: number): void {
    while (record.line.length > 0 && !record.isHeld(now)) {
      const first = this.#fault === "ignores_the_line" ? record.line.pop() : record.line.shift();
      if (first) first.answer(this.#grant(record, first.owner, first.leaseSeconds, now), now);
    }
  }

  #grant(record: SimulatedRecord, owner: string, leaseSeconds: number, now: number): Outcome {
    const last = record.grants.at(-1);
    if (record.live && last) last.ended = last.owner === owner ? "lapsed" : "superseded";
    const repeats = this.#fault === "repeats_tokens" && record.mark > 1;
    if (!repeats) this.#token += 1;
    record.mark = repeats ? record.mark - 1 : this.#token;
    record.live = true;
    const grant = { token: record.mark, owner, grantedAtMs: Math.floor(now + OFFSET_MS), ended: null };
    if (this.#fault !== "forgets_grants" || this.#token % 3 !== 0) record.grants.push(grant);
    return this.#lease(record, record.mark, leaseSeconds, now);
  }

  #lease(record: SimulatedRecord, token: number, leaseSeconds: number, now: number): Outcome {
    record.leaseEndsMs = now + leaseSeconds * 1000;
    this.#schedule(record.leaseEndsMs, (later) => this.#serve(record, later));
    const expiresAtMs = Math.floor(record.leaseEndsMs + OFFSET_MS);
    return { kind: "granted", record: record.name, token, leaseSeconds, expiresAtMs };
  }

  #end(record: SimulatedRecord, how: string, now: number): void {
    record.live = false;
    const last = record.grants.at(-1);
    if (last?.token === record.mark) last.ended = how;
    this.#serve(record, now);
  }

  #write(record: SimulatedRecord, token: number | null, text: string): Outcome {
    const code = this.#refusal(record, token);
    if (code !== null) return { kind: "refused", status: 409, code };
    if (this.#fault !== "drops_writes" || text.length % 2 === 0) record.text = text;
    return { kind: "written" };
  }

  #refusal(record: SimulatedRecord, token: number | null): string | null {
    if (token === null)
      return record.live && this.#fault !== "ignores_missing_tokens" ? "claim_required" : null;
    if (record.mark === 0) return null;
    if (this.#fault === "ignores_the_mark") return null;
    if (token < record.mark) return "stale_token";
    if (token > record.mark) return "unissued_token";
    return record.live ? null : "claim_released";
  }

  #seen(record: SimulatedRecord): GrantSeen[] {
    return record.grants.map(({ token, owner, ended }) => ({ token, owner, ended })).reverse();
  }

  final(): FinalRecord[] {
    return this.#records
      .filter(({ mark }) => mark > 0)
      .map((record) => ({
        record: record.name,
        mark: record.mark,
        text: record.text,
        grants: record.grants.map((grant) => ({ ...grant })),
      }));
  }
}

export const SIMULATED_OFFSET: History["clockOffsetMs"] = { low: OFFSET_MS - 3, high: OFFSET_MS + 3 };

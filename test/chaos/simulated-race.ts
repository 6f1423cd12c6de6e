/** Plays workers' steps against a simulated lock, on a clock that is turned by hand. */

import type { Call, Exchange, History, Outcome } from "./history.ts";
import { type Fault, SIMULATED_OFFSET, SimulatedLock, type Step } from "./simulated-lock.ts";

/** Runs what is due in the order of time; what is due at once, in the order of asking. */
class Agenda {
  readonly #due: { atMs: number; order: number; work: (now: number) => void }[] = [];
  #order = 0;

  readonly add = (atMs: number, work: (now: number) => void): void => {
    this.#order += 1;
    this.#due.push({ atMs, order: this.#order, work });
    this.#due.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
  };

  run(): void {
    for (let next = this.#due.shift(); next; next = this.#due.shift()) next.work(next.atMs);
  }
}

export function simulate(steps: readonly Step[], records: number, fault: Fault | null = null): History {
  const agenda = new Agenda();
  const lock = new SimulatedLock(records, fault, agenda.add);
  const exchanges: Exchange[] = [];
  const byWorker = Map.groupBy(steps, ({ worker }) => worker);
  for (const [worker, own] of byWorker) new SimulatedWorker(worker, own, lock, agenda, exchanges).goOn(0);
  agenda.run();
  return { clockOffsetMs: SIMULATED_OFFSET, exchanges, disturbances: [], final: lock.final() };
}

class SimulatedWorker {
  readonly #owner: string;
  readonly #steps: Step[];
  readonly #lock: SimulatedLock;
  readonly #agenda: Agenda;
  readonly #exchanges: Exchange[];
  /** The token it was last told, by record; kept after its end, so that some writes come late. */
  readonly #tokens = new Map<string, number>();

  constructor(
    worker: number,
    steps: readonly Step[],
    lock: SimulatedLock,
    agenda: Agenda,
    exchanges: Exchange[],
  ) {
    this.#owner = `w/${worker}`;
    this.#steps = [...steps];
    this.#lock = lock;
    this.#agenda = agenda;
    this.#exchanges = exchanges;
  }

  goOn(now: number): void {
    const step = this.#steps.shift();
    if (step) this.#agenda.add(now + step.pauseMs, (startMs) => this.#send(step, startMs));
  }

  #send(step: Step, startMs: number): void {
    const call = this.#callOf(step);
    const end = (outcome: Outcome, endMs: number): void => {
      this.#exchanges.push({
        id: `x${this.#exchanges.length}`,
        owner: this.#owner,
        server: 0,
        startMs,
        endMs,
        call,
        outcome,
      });
      if (outcome.kind === "granted") this.#tokens.set(outcome.record, outcome.token);
      this.goOn(endMs);
    };
    if (step.cut !== "no") {
      this.#agenda.add(startMs + step.wayBackMs, (now) =>
        end({ kind: "cut", why: "simulated", answered: false }, now),
      );
      if (step.cut === "request") return;
    }
    this.#agenda.add(startMs + step.wayThereMs, (now) =>
      this.#lock.perform(this.#owner, call, now, (outcome, decidedMs) => {
        if (step.cut !== "no") return;
        const endMs = decidedMs + step.wayBackMs;
        this.#agenda.add(endMs, () => end(outcome, endMs));
      }),
    );
  }

  #callOf({ kind, record: index, leaseSeconds, maxWaitSeconds }: Step): Call {
    const record = `notes/n${index}`;
    const token = this.#tokens.get(record);
    const text = `${this.#owner} ${this.#exchanges.length} ${this.#steps.length}`;
    switch (kind) {
      case "bare-write":
        return { kind: "write", record, token: null, text };
      case "status":
      case "read":
      case "grants":
        return { kind, record };
      case "claim":
        return { kind, record, leaseSeconds, maxWaitSeconds };
      default:
        if (token === undefined) return { kind: "claim", record, leaseSeconds, maxWaitSeconds };
        if (kind === "renew") return { kind, record, token, leaseSeconds };
        return kind === "write" ? { kind, record, token, text } : { kind, record, token };
    }
  }
}

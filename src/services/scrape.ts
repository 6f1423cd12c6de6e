/**
 * The text that Prometheus reads. What this process counts is its own; what stands in the database is read when it is
 * asked for, at most every two seconds, so that every replica says the same and many scrapers cost no more than one.
 */

import { Gauge } from "prom-client";
import { type MetricFacts, readMetricFacts } from "../store/metric-facts.ts";
import type { Deps } from "./deps.ts";

const KEPT_MS = 2_000;

export class Scrape {
  readonly #deps: Deps;
  readonly #gauges: ReturnType<typeof databaseGauges>;
  #read: { readonly at: number; readonly facts: Promise<MetricFacts | null> } | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#gauges = databaseGauges(deps);
  }

  get contentType(): string {
    return this.#deps.metrics.registry.contentType;
  }

  /** Everything, as text. Without the database its part is left out, and `leasehold_database_up` is 0. */
  async text(): Promise<string> {
    this.#show(await this.#facts());
    return this.#deps.metrics.registry.metrics();
  }

  #facts(): Promise<MetricFacts | null> {
    const now = performance.now();
    if (this.#read === null || now - this.#read.at > KEPT_MS) {
      const facts = readMetricFacts(this.#deps.db).catch((error: unknown) => {
        this.#deps.log.warn(
          { reason: (error as Error).message },
          "the database's part of the metrics could not be read",
        );
        return null;
      });
      this.#read = { at: now, facts };
    }
    return this.#read.facts;
  }

  #show(facts: MetricFacts | null): void {
    const { up, streams, deliveries, deliveryAge, promises, promiseAge, waiters, unnumbered, ready } =
      this.#gauges;
    streams.set(this.#deps.events.streams);
    up.set(facts === null ? 0 : 1);
    // What was said last is not true for ever.
    for (const gauge of [deliveries, promises, ready]) gauge.reset();
    for (const gauge of [deliveryAge, promiseAge, waiters, unnumbered]) gauge.remove();
    if (facts === null) return;
    const { inbox, outbox } = facts;
    deliveries.set({ state: "pending" }, inbox.pending);
    deliveries.set({ state: "failed" }, inbox.failed);
    deliveryAge.set(inbox.oldestSeconds);
    promises.set({ state: "pending" }, outbox.pending);
    promises.set({ state: "failed" }, outbox.failed);
    promiseAge.set(outbox.oldestSeconds);
    waiters.set(facts.waiters);
    unnumbered.set(facts.unnumberedEvents);
    for (const { repository, ready: count } of facts.ready) ready.set({ repository }, count);
  }
}

function databaseGauges({ metrics: { registry } }: Deps) {
  const gauge = (name: string, help: string, labelNames: string[] = []): Gauge =>
    new Gauge({ name: `leasehold_${name}`, help, labelNames, registers: [registry] });
  return {
    up: gauge("database_up", "Whether PostgreSQL answered this scrape in time"),
    streams: gauge("event_streams", "Streams of events that this process serves"),
    deliveries: gauge("inbox_deliveries", "Deliveries of GitHub that wait or failed, up to 10000", ["state"]),
    deliveryAge: gauge("inbox_oldest_pending_seconds", "Age of the oldest delivery that waits"),
    promises: gauge("outbox_promises", "Writes to GitHub that wait or were given up, up to 10000", ["state"]),
    promiseAge: gauge("outbox_oldest_pending_seconds", "Age of the oldest write to GitHub that waits"),
    waiters: gauge("claim_waiters", "Callers that wait in line for a claim, over all processes"),
    unnumbered: gauge("events_unnumbered", "Events that wait for their place in the log, up to 10000"),
    ready: gauge(
      "ready_items",
      "Items that nothing of their own speaks against and that nobody holds, up to 10000, of at most 200 repositories",
      ["repository"],
    ),
  };
}

/**
 * What this process counts, for Prometheus. Labels are bounded: codes and reasons of ours, templates of routes and of
 * GitHub's endpoints, never a path, a name that a caller chose, or an item. docs/operations.md says what each means.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { GitHubRequest } from "../github/connection.ts";

/** From a read of the database to a caller who waits in line. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** More installations than this share one label. */
const MOST_INSTALLATIONS = 100;
const OTHERS = "(others)";

/** A template of GitHub's, such as `/repos/{owner}/{repo}/issues`: anything that may be an address is not told. */
const ENDPOINT = /^(\/([a-z_-]+|\{[a-z_]+\}))+$/;

export class Metrics {
  readonly registry = new Registry();
  readonly #claims = this.#counter("claims_total", "Claims that were asked for, by how they were answered", [
    "outcome",
  ]);
  readonly #waits = this.#histogram("claim_wait_seconds", "How long callers waited in line for a claim", [
    "outcome",
  ]);
  readonly #reclaims = this.#counter(
    "lease_reclaims_total",
    "Grants of claims whose lease had lapsed, by who took them",
    ["by"],
  );
  readonly #refusals = this.#counter(
    "fence_refusals_total",
    "Writes that the fence refused, by the code of the refusal",
    ["code"],
  );
  readonly #github = this.#counter("github_requests_total", "Requests to GitHub, by endpoint and status", [
    "method",
    "endpoint",
    "status",
  ]);
  readonly #budget = this.#gauge(
    "github_rate_limit_remaining",
    "Requests that GitHub still allows an installation in its hour, as it said last to this process",
    ["installation"],
  );
  readonly #installations = new Set<string>();
  readonly #sweeps = this.#counter(
    "sweep_runs_total",
    "Park sweeps that this process ran, by how they ended",
    ["result"],
  );
  readonly #parked = this.#counter(
    "sweep_parked_items_total",
    "Items that park sweeps of this process parked",
    [],
  );
  readonly #swept = this.#gauge(
    "sweep_last_success_timestamp_seconds",
    "When a park sweep of this process last came to its end, in seconds since 1970",
    [],
  );
  readonly #http = this.#histogram(
    "http_request_duration_seconds",
    "How long requests took, by the template of their route; streams of events are not among them",
    ["method", "route", "status"],
  );
  readonly #losses = this.#counter(
    "event_stream_losses_total",
    "Streams of events that were told sync.lost, by the reason",
    ["reason"],
  );

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** A claim was answered. `outcome`: `granted`, or the reason of the refusal. */
  claimed(outcome: string): void {
    this.#claims.inc({ outcome });
  }

  /** A caller's wait in line ended. */
  waited(outcome: "granted" | "timeout" | "gone" | "refused", seconds: number): void {
    this.#waits.observe({ outcome }, seconds);
  }

  /** A claim was granted whose lease had lapsed. */
  reclaimed(by: "same_owner" | "other"): void {
    this.#reclaims.inc({ by });
  }

  fenceRefused(code: string): void {
    this.#refusals.inc({ code });
  }

  /** GitHub answered, or did not. */
  github({ method, endpoint, status, installationId, remaining }: GitHubRequest): void {
    const template = ENDPOINT.test(endpoint) ? endpoint : OTHERS;
    this.#github.inc({ method, endpoint: template, status: status === null ? "none" : String(status) });
    if (installationId === null || remaining === null) return;
    const installation = String(installationId);
    if (this.#installations.size < MOST_INSTALLATIONS) this.#installations.add(installation);
    this.#budget.set(
      { installation: this.#installations.has(installation) ? installation : OTHERS },
      remaining,
    );
  }

  /** Runs a sweep, which answers how many items it parked, and counts how it ended. */
  async sweeping(sweep: () => Promise<number>): Promise<void> {
    try {
      this.#parked.inc(await sweep());
      this.#sweeps.inc({ result: "ok" });
      this.#swept.setToCurrentTime();
    } catch (error) {
      this.#sweeps.inc({ result: "error" });
      throw error;
    }
  }

  /** A request was answered. `route`: its template; undefined: there is none such. */
  http(method: string, route: string | undefined, status: number, seconds: number): void {
    this.#http.observe({ method, route: route ?? "(none)", status: String(status) }, seconds);
  }

  /** A stream of events was told that it lost its place. */
  streamLost(reason: string): void {
    this.#losses.inc({ reason });
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name: `leasehold_${name}`, help, labelNames, registers: [this.registry] });
  }

  #gauge(name: string, help: string, labelNames: string[]): Gauge {
    return new Gauge({ name: `leasehold_${name}`, help, labelNames, registers: [this.registry] });
  }

  #histogram(name: string, help: string, labelNames: string[]): Histogram {
    return new Histogram({
      name: `leasehold_${name}`,
      help,
      labelNames,
      buckets: SECONDS,
      registers: [this.registry],
    });
  }
}

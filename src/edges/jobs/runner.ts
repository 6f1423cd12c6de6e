/**
 * Background work on graphile-worker. Every job is a hint to look: the work itself lies in tables and is leased
 * there, so a job that is lost, doubled, or held by a dead process (graphile-worker keeps its lock for hours)
 * does no harm. Each replica's ticker asks for the jobs again.
 */

import { type Runner, run, type TaskList, Logger as WorkerLogger } from "graphile-worker";
import type { Logger } from "pino";
import { z } from "zod";
import { backfill } from "../../services/backfill.ts";
import type { Deps } from "../../services/deps.ts";
import { drainInbox, type Receive } from "../../services/drain-inbox.ts";
import { drainOutbox } from "../../services/drain-outbox.ts";
import { sweep } from "../../services/sweep.ts";
import { pendingBackfills } from "../../store/backfill.ts";
import { pruneDeliveries, secondsUntilDelivery } from "../../store/inbox.ts";
import { askForJob } from "../../store/jobs.ts";
import { secondsUntilPromise } from "../../store/outbox.ts";

export interface JobsOptions {
  readonly sweepSeconds: number;
  /** How often each replica looks for work that nobody was woken for. */
  readonly tickMs: number;
  readonly receive: Receive;
}

export interface Jobs {
  /** Stops taking jobs, lets those under way come to a stop, and answers within the time given. */
  stop(withinMs: number): Promise<void>;
}

const BackfillPayload = z.object({ repositoryId: z.int() });

export async function startJobs(deps: Deps, options: JobsOptions): Promise<Jobs> {
  const stopping = new AbortController();
  const tasks = taskList(deps, options, stopping.signal);
  const runner = await run({
    pgPool: deps.database.pool,
    taskList: tasks,
    concurrency: 6,
    noHandleSignals: true,
    pollInterval: 2000,
    logger: workerLogger(deps.log),
  });
  runner.promise.catch((error: unknown) =>
    deps.log.error({ err: error }, "background work stopped by itself"),
  );
  const tick = () =>
    lookForWork(deps, options).catch((error: unknown) =>
      deps.log.warn({ err: error }, "looking for work failed"),
    );
  await tick();
  const ticker = setInterval(tick, options.tickMs);
  ticker.unref();
  return {
    stop: async (withinMs) => {
      clearInterval(ticker);
      stopping.abort();
      await stopRunner(runner, withinMs);
    },
  };
}

async function stopRunner(runner: Runner, withinMs: number): Promise<void> {
  const timeout = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref());
  await Promise.race([runner.stop().catch(() => {}), timeout]);
}

/** Runs one at a time in this process: a call while one runs answers at once, and the running one goes round again. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    try {
      while (again) {
        again = false;
        await work();
      }
    } finally {
      running = false;
    }
  };
}

function taskList(deps: Deps, options: JobsOptions, stopping: AbortSignal): TaskList {
  const inbox = oneAtATime(async () => {
    if (deps.github.probot === null) return;
    await drainInbox(deps, options.receive, stopping);
    await wakeIn(deps, "inbox", await secondsUntilDelivery(deps.db));
  });
  const outbox = oneAtATime(async () => {
    await drainOutbox(deps, stopping);
    await wakeIn(deps, "outbox", await secondsUntilPromise(deps.db));
  });
  return {
    inbox,
    outbox,
    sweep: async () => {
      // Asked for again before the work, so that a sweep that fails is not the last.
      await askForJob(deps.db, "sweep", { key: "sweep", inSeconds: options.sweepSeconds, keep: true });
      await sweep(deps);
      await pruneDeliveries(deps.db);
    },
    backfill: async (payload) => {
      await backfill(deps, BackfillPayload.parse(payload).repositoryId, stopping);
    },
  };
}

/** The next retry's time, so that it does not wait for the ticker. Work that is due now belongs to others. */
async function wakeIn(deps: Deps, name: "inbox" | "outbox", seconds: number | null): Promise<void> {
  if (seconds === null || seconds <= 0) return;
  await askForJob(deps.db, name, { key: `${name}:later`, inSeconds: seconds + 0.05 });
}

async function lookForWork(deps: Deps, options: JobsOptions): Promise<void> {
  await askForJob(deps.db, "inbox", { key: "inbox" });
  await askForJob(deps.db, "outbox", { key: "outbox" });
  await askForJob(deps.db, "sweep", { key: "sweep", inSeconds: options.sweepSeconds, keep: true });
  for (const repositoryId of await pendingBackfills(deps.db, 50)) {
    await askForJob(deps.db, "backfill", { key: `backfill:${repositoryId}`, payload: { repositoryId } });
  }
}

/** graphile-worker tells of every job; only its warnings and errors are news. */
function workerLogger(log: Logger): WorkerLogger {
  const child = log.child({ part: "jobs" });
  return new WorkerLogger(() => (level, message) => {
    if (level === "error") child.error(message);
    else if (level === "warning") child.warn(message);
    else child.trace(message);
  });
}

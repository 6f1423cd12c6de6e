/**
 * Background work on graphile-worker. Every job is a hint to look: the work itself lies in tables and is leased
 * there, so a job that is lost, doubled, or held by a dead process (graphile-worker keeps its lock for hours)
 * does no harm. Each replica's ticker asks for the jobs again.
 */

import { run, type TaskList, Logger as WorkerLogger } from "graphile-worker";
import type { Logger } from "pino";
import { z } from "zod";
import { auditDeliveries } from "../../services/audit-deliveries.ts";
import { backfill } from "../../services/backfill.ts";
import { checkItems } from "../../services/check-items.ts";
import { continueGroupings } from "../../services/continue-groupings.ts";
import type { Deps } from "../../services/deps.ts";
import { inboxWork, type Receive } from "../../services/drain-inbox.ts";
import { drainInstallation } from "../../services/drain-outbox.ts";
import { readForeignBlockers } from "../../services/foreign-blockers.ts";
import type { KeyWatch } from "../../services/key-watch.ts";
import { readDueBranch } from "../../services/read-anchors.ts";
import { readDuePull } from "../../services/read-pulls.ts";
import { startDueReadings } from "../../services/reconcile.ts";
import { sweep } from "../../services/sweep.ts";
import { pendingBackfills } from "../../store/backfill.ts";
import { pruneEvents } from "../../store/event-log.ts";
import { isConnectionLost } from "../../store/failure.ts";
import { pruneDeliveries, secondsUntilDelivery } from "../../store/inbox.ts";
import { askForJob } from "../../store/jobs.ts";
import { prunePromises } from "../../store/outbox.ts";
import { secondsUntilPromise } from "../../store/outbox-queue.ts";
import { secondsUntilReading } from "../../store/pull-readings.ts";
import { Drain } from "./drain.ts";

export interface JobsOptions {
  readonly sweepSeconds: number;
  /** How old the mirror of a repository may be before it is read, where no audit vouches for it. */
  readonly reconcileSeconds: number;
  /** How often each replica looks for work that nobody was woken for. */
  readonly tickMs: number;
  readonly receive: Receive;
  readonly keyWatch: KeyWatch;
}

export interface Jobs {
  /** Works the outbox off in this process. False: it cannot tell GitHub anything now, and another one may. */
  drainOutbox(): boolean;
  /** Stops taking jobs, lets those under way come to a stop, and answers within the time given. */
  stop(withinMs: number): Promise<void>;
}

const BackfillPayload = z.object({ repositoryId: z.int() });

/** How many parts of the inbox, and how many installations of the outbox, one process works on at once. */
const INBOX_LOOPS = 8;
const OUTBOX_LOOPS = 4;
const CHECK_LOOPS = 2;
/** How many pull requests one process reads at once: nothing waits for them but an item's place in the ready set. */
const PULL_LOOPS = 2;
/** How many branches one process reads at once for what is anchored on them: nobody waits for it. */
const ANCHOR_LOOPS = 2;
/** How often it is asked whether deliveries failed. */
const AUDIT_SECONDS = 300;
/** How often it is looked for repositories whose reading is due; at most this long it takes to begin. */
const READINGS_SECONDS = 30;
/** How often it is looked for items whose blockers elsewhere are to be read. */
const BLOCKERS_SECONDS = 30;
/** How long work under way may come to its own end before GitHub's requests are cut off. */
const GRACE_MS = 3_000;
/** How soon a runner that ended by itself is started again. */
const RESTART_MS = 1_000;

export async function startJobs(deps: Deps, options: JobsOptions): Promise<Jobs> {
  const stopping = new AbortController();
  const drains = createDrains(deps, options, stopping.signal);
  const start = () =>
    run({
      pgPool: deps.database.pool,
      taskList: taskList(deps, options, drains, stopping.signal),
      concurrency: 6,
      noHandleSignals: true,
      pollInterval: 2000,
      logger: workerLogger(deps.log),
    });
  let runner = await start();
  // A database that went away can end the runner; it is started again until the process ends.
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await runner.promise.catch(() => {});
      if (stopping.signal.aborted) return;
      deps.log.warn("background work stopped by itself; it is started again");
      await new Promise<void>((resolve) => {
        setTimeout(resolve, RESTART_MS).unref();
      });
      if (!stopping.signal.aborted) runner = await start().catch(() => runner);
    }
  };
  void watch();
  const tick = () =>
    lookForWork(deps, options).catch((error: unknown) =>
      deps.log.warn({ err: error }, "looking for work failed"),
    );
  // What failed while nobody was there to answer is asked for at once.
  await askForJob(deps.db, "audit", { key: "audit" }).catch(async (error: unknown) => {
    // The runner would be started again and again, for a process that does not serve.
    stopping.abort();
    await runner.stop().catch(() => {});
    throw error;
  });
  await tick();
  const ticker = setInterval(tick, options.tickMs);
  ticker.unref();
  return {
    drainOutbox: () => {
      // Whoever is left goes on at once.
      if (stopping.signal.aborted) return false;
      // Without an App nobody is told: what is promised waits until there is one.
      if (deps.github.app === null) return true;
      if (deps.github.isUsable) drains.outbox.wake();
      return deps.github.isUsable;
    },
    stop: async (withinMs) => {
      clearInterval(ticker);
      stopping.abort();
      const ended = Promise.all([
        runner.stop().catch(() => {}),
        drains.inbox.settled(),
        drains.outbox.settled(),
        drains.checks.settled(),
        drains.pulls.settled(),
        drains.anchors.settled(),
      ]);
      await within(ended, Math.min(GRACE_MS, withinMs));
      deps.github.stop();
      await within(ended, withinMs);
    },
  };
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}

interface Drains {
  readonly inbox: Drain;
  readonly outbox: Drain;
  readonly checks: Drain;
  readonly pulls: Drain;
  readonly anchors: Drain;
}

function createDrains(deps: Deps, options: JobsOptions, stopping: AbortSignal): Drains {
  const onError = (error: unknown): void => {
    const told = "a queue could not be worked off; it is tried again";
    // PostgreSQL is away, which other lines of the log tell of.
    if (isConnectionLost(error)) deps.log.warn({ reason: (error as Error).message }, told);
    else deps.log.error({ err: error }, told);
  };
  const workInbox = inboxWork(deps, options.receive, stopping);
  return {
    inbox: new Drain({
      loops: INBOX_LOOPS,
      unit: async () => deps.github.isUsable && (await workInbox()),
      onIdle: async () => wakeIn(deps, "inbox", await secondsUntilDelivery(deps.db)),
      onError,
      stopping,
    }),
    outbox: new Drain({
      loops: OUTBOX_LOOPS,
      unit: () => drainInstallation(deps, stopping),
      onIdle: async () => wakeIn(deps, "outbox", await secondsUntilPromise(deps.db)),
      onError,
      stopping,
    }),
    anchors: new Drain({
      loops: ANCHOR_LOOPS,
      unit: () => readDueBranch(deps),
      // What is to be tried again can wait for the ticker.
      onIdle: async () => {},
      onError,
      stopping,
    }),
    checks: new Drain({
      loops: CHECK_LOOPS,
      unit: () => checkItems(deps.db),
      onIdle: async () => {},
      onError,
      stopping,
    }),
    pulls: new Drain({
      loops: PULL_LOOPS,
      unit: () => readDuePull(deps, stopping),
      onIdle: async () => wakeIn(deps, "pulls", await secondsUntilReading(deps.db)),
      onError,
      stopping,
    }),
  };
}

function taskList(deps: Deps, options: JobsOptions, drains: Drains, stopping: AbortSignal): TaskList {
  return {
    inbox: () => drains.inbox.wake(),
    outbox: () => drains.outbox.wake(),
    checks: () => drains.checks.wake(),
    pulls: () => drains.pulls.wake(),
    anchors: () => drains.anchors.wake(),
    groupings: () => continueGroupings(deps, stopping),
    sweep: async () => {
      // Asked for again before the work, so that a sweep that fails is not the last.
      await askForJob(deps.db, "sweep", { key: "sweep", inSeconds: options.sweepSeconds, keep: true });
      await deps.metrics.sweeping(() => sweep(deps));
      await pruneDeliveries(deps.db);
      await prunePromises(deps.db);
      await pruneEvents(deps.db);
    },
    audit: async () => {
      await askForJob(deps.db, "audit", { key: "audit", inSeconds: AUDIT_SECONDS, keep: true });
      await auditDeliveries(deps, options.reconcileSeconds);
    },
    readings: async () => {
      await askForJob(deps.db, "readings", { key: "readings", inSeconds: READINGS_SECONDS, keep: true });
      await startDueReadings(deps, options.reconcileSeconds);
    },
    blockers: async () => {
      await askForJob(deps.db, "blockers", { key: "blockers", inSeconds: BLOCKERS_SECONDS, keep: true });
      while (!stopping.aborted && (await readForeignBlockers(deps, options.reconcileSeconds)));
    },
    backfill: async (payload) => {
      await backfill(deps, BackfillPayload.parse(payload).repositoryId, stopping);
    },
  };
}

/** The next retry's time, so that it does not wait for the ticker. Work that is due now belongs to others. */
async function wakeIn(deps: Deps, name: "inbox" | "outbox" | "pulls", seconds: number | null): Promise<void> {
  if (seconds === null || seconds <= 0) return;
  await askForJob(deps.db, name, { key: `${name}:later`, inSeconds: seconds + 0.05 });
}

async function lookForWork(deps: Deps, options: JobsOptions): Promise<void> {
  await options.keyWatch.look();
  await askForJob(deps.db, "inbox", { key: "inbox" });
  await askForJob(deps.db, "outbox", { key: "outbox" });
  await askForJob(deps.db, "checks", { key: "checks" });
  await askForJob(deps.db, "pulls", { key: "pulls" });
  await askForJob(deps.db, "anchors", { key: "anchors" });
  await askForJob(deps.db, "groupings", { key: "groupings" });
  await askForJob(deps.db, "sweep", { key: "sweep", inSeconds: options.sweepSeconds, keep: true });
  await askForJob(deps.db, "audit", { key: "audit", inSeconds: AUDIT_SECONDS, keep: true });
  await askForJob(deps.db, "readings", { key: "readings", inSeconds: READINGS_SECONDS, keep: true });
  await askForJob(deps.db, "blockers", { key: "blockers", inSeconds: BLOCKERS_SECONDS, keep: true });
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

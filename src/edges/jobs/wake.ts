/**
 * Wakes the drains after a commit: many wakes in a short time become one. A wake that is lost with the
 * process costs only time, because every replica looks for waiting work now and then (`runner.ts`).
 */

import type { Logger } from "pino";
import type { Wake } from "../../services/deps.ts";
import type { Db } from "../../store/database.ts";
import { askForJob } from "../../store/jobs.ts";

/** Asking for a job costs more than granting a claim: under load it is done twenty times a second, not each time. */
const SPACE_MS = 50;

/** Runs at once, and then not again before `ms` have passed since. Calls meanwhile become one further run. */
export function spaced(run: () => Promise<void>, ms: number): () => void {
  let resting = false;
  let again = false;
  const turn = async (): Promise<void> => {
    resting = true;
    again = false;
    await run();
    setTimeout(() => {
      resting = false;
      if (again) void turn();
    }, ms).unref();
  };
  return () => {
    if (resting) again = true;
    else void turn();
  };
}

/**
 * `ended` is aborted when the database is about to be closed: nobody is woken after that. `drainsHere` lets this process
 * work the outbox off itself, and answers whether it does: a job for it would cost PostgreSQL more than the claim whose
 * marker it is. Another process is asked only where this one cannot.
 */
export function createWake(db: Db, log: Logger, ended: AbortSignal, drainsHere: () => boolean): Wake {
  const ask = async (...[name, options]: DropFirst<Parameters<typeof askForJob>>): Promise<void> => {
    if (ended.aborted) return;
    await askForJob(db, name, options).catch((error: unknown) =>
      log.warn({ err: error }, "a drain could not be woken; it will wake by itself"),
    );
  };
  return {
    inbox: spaced(() => ask("inbox", { key: "inbox" }), SPACE_MS),
    outbox: spaced(async () => {
      if (!ended.aborted && !drainsHere()) await ask("outbox", { key: "outbox" });
    }, SPACE_MS),
    checks: spaced(() => ask("checks", { key: "checks" }), SPACE_MS),
    pulls: spaced(() => ask("pulls", { key: "pulls" }), SPACE_MS),
    anchors: spaced(() => ask("anchors", { key: "anchors" }), SPACE_MS),
    backfill: (repositoryId) =>
      void ask("backfill", { key: `backfill:${repositoryId}`, payload: { repositoryId } }),
  };
}

type DropFirst<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest]
  ? Rest
  : never;

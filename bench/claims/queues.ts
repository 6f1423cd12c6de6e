/** Two job queues on the same PostgreSQL, taking and finishing jobs that do nothing, one at a time. */

import { Logger, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { PgBoss } from "pg-boss";
import { measure, type Slice, type Subject } from "./measure.ts";
import { query } from "./stage.ts";

/** More than any of them finishes in a second. */
const JOBS_PER_SECOND = 15_000;
const silent = new Logger(() => () => {});

export async function graphileWorker(url: string): Promise<Subject[]> {
  await runMigrations({ connectionString: url, logger: silent });
  const subject = (name: string, concurrency: number | null): Subject => ({
    group: "graphile-worker",
    name: `single jobs, ${name}`,
    slice: (seconds) => finishJobs(url, seconds, concurrency),
  });
  return [subject("defaults", null), subject("24 at once", 24)];
}

async function finishJobs(url: string, seconds: number, concurrency: number | null): Promise<Slice> {
  const jobs = Math.ceil(JOBS_PER_SECOND * (seconds + 0.5));
  await query(url, "truncate graphile_worker._private_jobs");
  await query(
    url,
    `select count(*) from graphile_worker.add_jobs(array(
      select ('nothing', '{}', null, null, null, null, null, null)::graphile_worker.job_spec
      from generate_series(1, ${jobs})))`,
  );
  await query(url, "vacuum analyze");
  let finished = 0;
  const runner = await run({
    connectionString: url,
    noHandleSignals: true,
    logger: silent,
    taskList: {
      nothing: () => {
        finished += 1;
      },
    },
    ...(concurrency === null ? {} : { concurrency, maxPoolSize: concurrency + 2 }),
  });
  await pause(150);
  const [before, began] = [finished, performance.now()];
  await pause(seconds * 1000);
  const perSecond = (finished - before) / ((performance.now() - began) / 1000);
  if (finished >= jobs) throw new Error("graphile-worker finished all jobs that were there");
  await runner.stop();
  return { perSecond, latencies: [] };
}

/** `fetch` of one job and `complete`, by sixteen at once. */
export async function pgBoss(url: string): Promise<{ subject: Subject; stop(): Promise<void> }> {
  // A pool of its own in place of pg-boss's: the same library, as many connections as callers.
  const pool = new pg.Pool({ connectionString: url, max: 16 });
  const db = { executeSql: (text: string, values?: unknown[]) => pool.query(text, values) };
  const boss = new PgBoss({ db, supervise: false, schedule: false });
  boss.on("error", () => {});
  await boss.start();
  let queues = 0;
  const slice = async (seconds: number): Promise<Slice> => {
    queues += 1;
    const queue = `nothing-${queues}`;
    await boss.createQueue(queue);
    const jobs = Math.ceil(JOBS_PER_SECOND * (seconds + 0.5));
    await boss.insert(
      queue,
      Array.from({ length: jobs }, () => ({})),
    );
    await query(url, "vacuum analyze");
    const measured = await measure(16, seconds, async () => {
      const [job] = await boss.fetch(queue);
      if (!job) throw new Error("pg-boss had no job left");
      await boss.complete(queue, job.id);
    });
    await boss.deleteQueue(queue);
    return measured;
  };
  return {
    subject: { group: "pg-boss", name: "fetch and complete, 16", slice },
    stop: async () => {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

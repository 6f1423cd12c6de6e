/**
 * `npm run bench:backfill`: a large repository is taken up. How many requests it costs, how long it takes, and whether
 * the memory that Leasehold needs grows with what it reads.
 */

import { fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { median } from "../claims/measure.ts";
import { query, setStage } from "../claims/stage.ts";
import { startLeasehold } from "../webhooks/leasehold.ts";
import type { Answer, Order } from "./github.ts";

const SAMPLE_MS = 100;
/** Each so many samples what nobody holds is collected first. */
const COLLECT_EACH = 20;
const PROGRESS_MS = 5_000;

const { values: options } = parseArgs({
  options: {
    issues: { type: "string", default: "50000" },
    comments: { type: "string", default: "200000" },
    enrolled: { type: "string", default: "1000" },
    // The bench ends then, however far it came, and says so.
    within: { type: "string", default: "3600" },
    json: { type: "string" },
  },
});

interface Sample {
  /** Of the heap, after everything that nobody holds was collected; null: it was not. */
  readonly keptMb: number | null;
  readonly heapMb: number;
  readonly rssMb: number;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * Of each fifth of the time: what is left after a collection is what is kept, the peak what is needed. Without asking for
 * collections it would say when V8 finds one worth its while.
 */
function fifths(samples: readonly Sample[]) {
  const size = Math.ceil(samples.length / 5);
  return Array.from({ length: 5 }, (_, place) => {
    const part = samples.slice(place * size, (place + 1) * size);
    const heap = part.map(({ heapMb }) => heapMb);
    const kept = part.flatMap(({ keptMb }) => keptMb ?? []);
    return {
      keptMb: Math.round(median(kept)),
      heapPeakMb: Math.round(Math.max(...heap)),
      rssPeakMb: Math.round(Math.max(...part.map(({ rssMb }) => rssMb))),
    };
  });
}

const github = fork(new URL("github.ts", import.meta.url));
const ask = <Kind extends Answer["kind"]>(
  order: Order,
  kind: Kind,
): Promise<Extract<Answer, { kind: Kind }>> =>
  new Promise((resolve, reject) => {
    github.once("exit", (code) => reject(new Error(`the fake GitHub ended with ${code}`)));
    github.once("message", (answer: Answer) => {
      if (answer.kind === kind) resolve(answer as Extract<Answer, { kind: Kind }>);
      else reject(new Error(`asked for ${kind}, and got ${answer.kind}`));
    });
    github.send(order);
  });

const stage = await setStage(null);
try {
  const [issues, comments, enrolled] = [options.issues, options.comments, options.enrolled].map(Number);
  const filled = await ask(
    { kind: "fill", issues: issues ?? 0, comments: comments ?? 0, enrolled: enrolled ?? 0 },
    "ready",
  );
  const url = await stage.empty("backfill");
  const app = await startLeasehold(url, {
    appId: filled.appId,
    privateKey: filled.privateKey,
    secret: filled.secret,
    githubApiUrl: filled.url,
  });
  const samples: Sample[] = [];
  const sampler = setInterval(() => {
    const { heapUsed, rss } = process.memoryUsage();
    const isTime = samples.length % COLLECT_EACH === 0;
    if (isTime) collect();
    const keptMb = isTime ? process.memoryUsage().heapUsed / 2 ** 20 : null;
    samples.push({ keptMb, heapMb: heapUsed / 2 ** 20, rssMb: rss / 2 ** 20 });
  }, SAMPLE_MS);
  const began = performance.now();
  await ask({ kind: "install", webhooks: `${app.address}/api/github/webhooks` }, "installed");
  let [isDone, told] = [false, began];
  const isOver = (): boolean => performance.now() - began > Number(options.within) * 1000;
  while (!isDone && !isOver()) {
    const { rows } = await query<{ state: string; said: string }>(
      url,
      `select backfill_state as state, coalesce(backfill_error, backfill_cursor::text, 'not begun') as said,
         (select count(*) from issue) as issues, (select count(*) from issue_comment) as comments from repository`,
    );
    isDone = rows[0]?.state === "done";
    if (performance.now() - told > PROGRESS_MS) {
      told = performance.now();
      process.stderr.write(`${JSON.stringify(rows[0] ?? "not heard of")}\n`);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const seconds = (performance.now() - began) / 1000;
  clearInterval(sampler);
  const { requests } = await ask({ kind: "count" }, "counted");
  const stored = await query<Record<string, number>>(
    url,
    `select (select count(*)::int from issue) as issues, (select count(*)::int from issue_comment) as comments,
       (select count(*)::int from item) as items`,
  );
  await app.stop();
  const total = Object.values(requests).reduce((sum, count) => sum + count, 0);
  const found = {
    load: loadavg()[0],
    isDone,
    seconds,
    total,
    requests,
    stored: stored.rows[0],
    memory: fifths(samples),
  };
  process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(found, null, 2)}\n`);
} finally {
  github.removeAllListeners("exit");
  github.kill();
  await stage.end();
}

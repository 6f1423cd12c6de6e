/** After the race: the lines empty, records can be claimed again, and the history of every claimed one is read. */

import { setTimeout as delay } from "node:timers/promises";
import { ask, type Journal } from "./ask.ts";
import { nowMs } from "./clock.ts";
import type { Call, Exchange, RecordName } from "./history.ts";
import type { Stage } from "./stage.ts";

/** Waiters are gone, dead replicas forgotten and leases over long before, even on a slow machine. */
const QUIET_MS = 30_000;
const AT_ONCE = 12;
/** Of the items that were not fought over. */
const SOME = 20;

/** Answers what is wrong with the records now that all is quiet. */
export async function settle(
  stage: Stage,
  journal: Journal,
  hot: readonly RecordName[],
  granted: Iterable<RecordName>,
): Promise<readonly string[]> {
  const asker = stage.caller("settler");
  const until = nowMs() + QUIET_MS;
  const send = (call: Call, server = 0): Promise<Exchange> => ask(asker, journal, server, call);
  const problems: string[] = [];
  for (const record of hot) {
    const depth = await emptyLine(() => send({ kind: "status", record }), until);
    if (depth !== 0) problems.push(`${record}: after ${QUIET_MS} ms of quiet, ${depth} are said to wait`);
  }
  await eachOf([...hot, ...stage.items.slice(-SOME)], async (record, index) => {
    const server = index % 2;
    const outcome = await claimed(
      () => send({ kind: "claim", record, leaseSeconds: 60, maxWaitSeconds: 0 }, server),
      until,
    );
    if (outcome.kind !== "granted")
      problems.push(`${record} cannot be claimed although all is quiet: ${JSON.stringify(outcome)}`);
    else await send({ kind: "release", record, token: outcome.token }, 1 - server);
  });
  await eachOf(granted, async (record, index) => {
    await send({ kind: "grants", record }, index % 2);
  });
  return problems;
}

/** Claims it as soon as the last lease has run out; answers what came of it at last. */
async function claimed(claim: () => Promise<Exchange>, until: number): Promise<Exchange["outcome"]> {
  for (;;) {
    const { outcome } = await claim();
    if (outcome.kind === "granted" || nowMs() > until) return outcome;
    await delay(100);
  }
}

/** How many are left in line when it is empty, or when that takes too long. */
async function emptyLine(look: () => Promise<Exchange>, until: number): Promise<number | string> {
  for (;;) {
    const { outcome } = await look();
    const depth = outcome.kind === "status" ? outcome.queueDepth : outcome.kind;
    if (depth === 0 || nowMs() > until) return depth;
    await delay(100);
  }
}

async function eachOf<T>(all: Iterable<T>, work: (one: T, index: number) => Promise<void>): Promise<void> {
  const left = [...new Set(all)].entries();
  const hand = async (): Promise<void> => {
    for (const [index, one] of left) await work(one, index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, hand));
}

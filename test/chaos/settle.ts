/** After the race: the lines empty, records can be claimed again, and the history of every claimed one is read. */

import { setTimeout as delay } from "node:timers/promises";
import { ask, type Journal } from "./ask.ts";
import { nowMs } from "./clock.ts";
import type { Call, Exchange, RecordName } from "./history.ts";
import type { Stage } from "./stage.ts";

/** Waiters are gone, and dead replicas forgotten, long before. */
const EMPTY_MS = 20_000;
/** The longest lease of the race, and a little. */
const LONGEST_LEASE_MS = 8_500;
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
  const began = nowMs();
  const send = (call: Call, server = 0): Promise<Exchange> => ask(asker, journal, server, call);
  const problems: string[] = [];
  for (const record of hot) {
    const depth = await emptyLine(() => send({ kind: "status", record }));
    if (depth !== 0) problems.push(`${record}: after ${EMPTY_MS} ms of quiet, ${depth} are said to wait`);
  }
  await delay(Math.max(0, LONGEST_LEASE_MS - (nowMs() - began)));
  await eachOf([...hot, ...stage.items.slice(-SOME)], async (record, index) => {
    const server = index % 2;
    const call: Call = { kind: "claim", record, leaseSeconds: 60, maxWaitSeconds: 0 };
    const { outcome } = await send(call, server);
    if (outcome.kind !== "granted")
      problems.push(`${record} cannot be claimed although all is quiet: ${JSON.stringify(outcome)}`);
    else await send({ kind: "release", record, token: outcome.token }, 1 - server);
  });
  await eachOf(granted, async (record, index) => {
    await send({ kind: "grants", record }, index % 2);
  });
  return problems;
}

/** How many are left in line when it is empty, or when that takes too long. */
async function emptyLine(look: () => Promise<Exchange>): Promise<number | string> {
  const until = nowMs() + EMPTY_MS;
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

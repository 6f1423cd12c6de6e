/** Whether a claim costs the same whether the backlog has a thousand items or a million. */

import { itemRef } from "../../src/domain/record-key.ts";
import { openDatabase } from "../../src/store/database.ts";
import { takeClaim } from "../../src/store/take-claim.ts";
import type { Slice, Subject } from "./measure.ts";
import { clearClaims, REPOSITORY } from "./stage.ts";

/** As many as the small backlog has: so both are claimed from in the same state, with nothing claimed before. */
const BATCH = 1_000;
const CALLERS = 16;

/** Batches of first claims, each of a thousand items that lie anywhere in the backlog. */
export function claimsAmong(url: string, items: number): Subject {
  return {
    group: "sizes",
    name: `first claims among ${items} items`,
    slice: async (seconds): Promise<Slice> => {
      const database = openDatabase(url, CALLERS, () => {});
      const latencies: number[] = [];
      let [claimed, spent] = [0, -1];
      try {
        while (spent < seconds * 1000) {
          await clearClaims(url);
          const numbers = choose(items);
          const began = performance.now();
          const caller = async (): Promise<void> => {
            for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
              const before = performance.now();
              await take(database.db, number);
              if (spent >= 0) latencies.push(performance.now() - before);
            }
          };
          await Promise.all(Array.from({ length: CALLERS }, caller));
          // The first batch warms the connections up.
          if (spent < 0) spent = 0;
          else [claimed, spent] = [claimed + BATCH, spent + performance.now() - began];
        }
      } finally {
        await database.close();
      }
      return { perSecond: claimed / (spent / 1000), latencies };
    },
  };
}

/** Different items, one in each part of the backlog, in any order. */
function choose(items: number): number[] {
  const part = Math.floor(items / BATCH);
  const numbers = Array.from(
    { length: BATCH },
    (_, index) => index * part + 1 + Math.floor(Math.random() * part),
  );
  return numbers.sort(() => Math.random() - 0.5);
}

async function take(db: Parameters<typeof takeClaim>[0], number: number): Promise<void> {
  const answer = await takeClaim(db, {
    ref: itemRef(REPOSITORY, number),
    owner: "worker/7f3a",
    actor: "admin",
    region: "local",
    deploymentRegion: "local",
    leaseSeconds: 900,
    scope: "item",
    takeover: false,
    wait: false,
    ticket: null,
    replica: "bench",
    markAfterSeconds: 0,
  });
  if (!answer.granted) throw new Error(`item ${number} was refused: ${answer.reason}`);
}

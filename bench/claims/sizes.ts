/** Whether a claim costs the same whether the backlog has a thousand items or a million. */

import pg from "pg";
import { itemRef } from "../../src/domain/record-key.ts";
import { openDatabase } from "../../src/store/database.ts";
import { takeClaim } from "../../src/store/take-claim.ts";
import type { Slice, Subject } from "./measure.ts";
import { makeReference } from "./reference.ts";
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
      try {
        return await inBatches(url, items, seconds, async (numbers) => {
          const latencies: number[] = [];
          const caller = async (): Promise<void> => {
            for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
              const before = performance.now();
              await take(database.db, number);
              latencies.push(performance.now() - before);
            }
          };
          await Promise.all(Array.from({ length: CALLERS }, caller));
          return latencies;
        });
      } finally {
        await database.close();
      }
    },
  };
}

/**
 * The same of the reference, sixteen in a transaction as Leasehold's come to be: what a larger table costs PostgreSQL,
 * whoever asks.
 */
export function referenceAmong(url: string, items: number): Subject {
  return {
    group: "sizes",
    name: `reference claims among ${items} items`,
    slice: async (seconds): Promise<Slice> => {
      await makeReference(url);
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        return await inBatches(url, items, seconds, async (numbers) => {
          for (let begin = 0; begin < BATCH; begin += CALLERS) {
            const { rows } = await client.query<{ token: string | null }>({
              name: "reference_claims",
              text: `select reference_claim(${REPOSITORY}, n, 'worker/7f3a', 900) as token from unnest($1::integer[]) n`,
              values: [numbers.slice(begin, begin + CALLERS)],
            });
            if (rows.some(({ token }) => token === null))
              throw new Error("the reference was refused an item");
          }
          return [];
        });
      } finally {
        await client.end();
      }
    },
  };
}

/** Batch after batch, each from a state without claims. `claimAll` answers how long single claims took. */
async function inBatches(
  url: string,
  items: number,
  seconds: number,
  claimAll: (numbers: number[]) => Promise<number[]>,
): Promise<Slice> {
  const latencies: number[] = [];
  let [claimed, spent] = [0, -1];
  while (spent < seconds * 1000) {
    await clearClaims(url);
    const numbers = choose(items);
    const began = performance.now();
    const took = await claimAll(numbers);
    // The first batch warms the connections up.
    if (spent < 0) {
      spent = 0;
      continue;
    }
    latencies.push(...took);
    claimed += BATCH;
    spent += performance.now() - began;
  }
  return { perSecond: claimed / (spent / 1000), latencies };
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

/** Sixteen racers on one item: one grant per lease, and those who lose write nothing. */

import type { App } from "../../src/app.ts";
import type { Slice, Subject } from "./measure.ts";
import { measure } from "./measure.ts";
import { serviceClient } from "./service-client.ts";
import { clearClaims, query } from "./stage.ts";

const ITEM = 7;
/** How long a winner holds before it releases. */
const HELD_MS = 20;

export interface HotItemFacts {
  readonly grants: number;
  readonly refusals: number;
  /** Fencing tokens that were taken from the sequence. */
  readonly tokens: number;
  /** Transactions that wrote something: a grant is one, a release another; a few are the program's own. */
  readonly writes: number;
  /** How many held the item at once at most. */
  readonly mostHolders: number;
}

export function hotItem(app: App, url: string, facts: HotItemFacts[]): Subject {
  const client = serviceClient(app.deps);
  return {
    group: "hot item",
    name: "refusals, 16 racers",
    slice: async (seconds): Promise<Slice> => {
      await clearClaims(url);
      const before = await counters(url);
      let [grants, refusals, holders, mostHolders] = [0, 0, 0, 0];
      const slice = await measure(16, seconds, async () => {
        const token = await client.claim(ITEM, 60);
        if (token === null) {
          refusals += 1;
          return;
        }
        grants += 1;
        holders += 1;
        mostHolders = Math.max(mostHolders, holders);
        await new Promise((resolve) => setTimeout(resolve, HELD_MS));
        holders -= 1;
        await client.release(ITEM, token);
      });
      const after = await counters(url);
      facts.push({
        grants,
        refusals,
        tokens: after.tokens - before.tokens,
        writes: after.transactions - before.transactions,
        mostHolders,
      });
      return slice;
    },
  };
}

async function counters(url: string): Promise<{ tokens: number; transactions: number }> {
  const { rows } = await query<{ tokens: string; transactions: string }>(
    url,
    "select (select last_value from fence) as tokens, pg_snapshot_xmax(pg_current_snapshot())::text as transactions",
  );
  return { tokens: Number(rows[0]?.tokens), transactions: Number(rows[0]?.transactions) };
}

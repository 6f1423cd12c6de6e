/** What it costs to keep on the items' rows what makes reading fast. Each change is made, timed and rolled back. */

import { sql } from "kysely";
import type { App } from "../../src/app.ts";
import { completeItem } from "../../src/services/item-changes.ts";
import { repositoryByName } from "../../src/services/repository-by-name.ts";
import { inTransaction, type Trx } from "../../src/store/database.ts";
import { addLinks } from "../../src/store/records.ts";
import { percentile } from "../claims/measure.ts";
import { REPOSITORY } from "../claims/stage.ts";
import { muchAwaited } from "./backlog.ts";
import type { Answers } from "./questions.ts";

class RolledBack extends Error {}

export async function upkeep(app: App, items: number, times: number): Promise<Answers[]> {
  const { deps } = app;
  const repository = await repositoryByName(deps, { owner: "acme", name: "widgets" });
  const awaited = muchAwaited(items);
  const timed = async (prepare: string | null, change: (trx: Trx) => Promise<unknown>): Promise<number> => {
    let spent = Number.NaN;
    await inTransaction(deps.db, async (trx) => {
      if (prepare !== null) await sql.raw(prepare).execute(trx);
      const before = performance.now();
      await change(trx);
      spent = performance.now() - before;
      throw new RolledBack();
    }).catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
    return spent;
  };
  const addEdge = (trx: Trx) =>
    addLinks(trx, { repositoryId: REPOSITORY, topic: "backlog", id: `issue-${awaited + 1}` }, [
      { relation: "blockedBy", repositoryId: REPOSITORY, target: `mem/backlog/issue-${awaited + 2}` },
    ]);
  const complete = (trx: Trx) =>
    completeItem(trx, { repository, number: awaited }, { human: "ann" }, new Date());
  const bare = "set local session_replication_role = replica";
  const changes: [string, string | null, (trx: Trx) => Promise<unknown>][] = [
    ["an edge is added", null, addEdge],
    ["the same, nothing kept", bare, addEdge],
    ["an item is completed, 1,000 wait for it", null, complete],
    ["the same, nothing kept", bare, complete],
  ];
  const answers: Answers[] = [];
  for (const [what, prepare, change] of changes) {
    const spent: number[] = [];
    for (let time = 0; time < times; time += 1) spent.push(await timed(prepare, change));
    answers.push({
      what,
      p50: percentile(spent, 0.5) ?? Number.NaN,
      p99: percentile(spent, 0.99) ?? Number.NaN,
      calls: times,
    });
  }
  return answers;
}

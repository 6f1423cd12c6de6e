/** What hangs on who did what: the items as the store has them against the model, and what was written on GitHub. */

import type pg from "pg";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { Issue } from "../fake-github/state/model.ts";
import { isConverted } from "./actions.ts";
import { expectedOf } from "./model.ts";
import type { TrueHistory } from "./true-history.ts";

interface ItemRow {
  readonly number: number;
  readonly enrolled: boolean;
  readonly admitted: boolean;
  readonly state: string | null;
  readonly grants: number;
  /** In review: a human's park waits until that is over (protocol 5). */
  readonly parkWaits: boolean;
  /** Something is part of it: a container, which no merge completes. */
  readonly isContainer: boolean;
}

/** What was decided otherwise than the true history says, in words. */
export async function wrongDecisions(
  pool: pg.Pool,
  repos: readonly FakeRepository[],
  history: TrueHistory,
): Promise<string[]> {
  const found: string[] = [];
  for (const repo of repos) {
    const items = await itemsOf(pool, repo.id);
    for (const issue of repo.record.issues.values()) {
      if (issue.pull !== null || isConverted(issue)) continue;
      const told = (what: string): void => void found.push(`${repo.name}#${issue.number}: ${what}`);
      judge(issue, items.get(issue.number) ?? null, history, told);
      // What was promised where it was before a transfer, GitHub takes to where it is.
      const places = history.moved.has(issue) ? repos : [repo];
      await doubled(
        pool,
        places.map(({ id }) => id),
        issue,
        told,
      );
    }
  }
  return found;
}

async function itemsOf(pool: pg.Pool, repositoryId: number): Promise<Map<number, ItemRow>> {
  const { rows } = await pool.query<ItemRow>(
    `select number, enrolled, admitted, state, park_by is not null and review = 'in_review' as "parkWaits",
       (select count(*)::int from claim_grant g where g.repository_id = i.repository_id and g.topic = 'backlog'
          and g.id = 'issue-' || i.number) as grants,
       exists (select 1 from native_link l where l.relation = 'partOf' and l.target_repository_id = i.repository_id
          and l.target = 'mem/backlog/issue-' || i.number) as "isContainer"
     from item i where repository_id = $1`,
    [repositoryId],
  );
  return new Map(rows.map((row) => [row.number, row]));
}

function judge(issue: Issue, item: ItemRow | null, history: TrueHistory, told: (what: string) => void): void {
  const has = (name: string): boolean => issue.labels.some((label) => label.name.toLowerCase() === name);
  const expected = expectedOf(issue, history);
  if (item === null) {
    if (issue.state === "open" && has("backlog")) told("is no item");
    return;
  }
  if (item.enrolled !== has("backlog") && issue.state === "open") told(`enrolled: ${item.enrolled}`);
  if (!item.enrolled || expected === null) return;
  const isLive = issue.state === "open" && item.state === null;
  if (isLive && !item.admitted && !has("needs-specification")) told("is not admitted and does not say so");
  if (item.state === "parked" && issue.state === "open" && !has("stale"))
    told("is parked and does not say so");
  // Where a transfer took it, its history is read anew, by the rights that people have there.
  if (history.moved.has(issue)) {
    if (item.admitted && has("needs-specification")) told("is admitted under the gate");
    return;
  }
  // GitHub lists no edits: one that was not heard of closes the gate, and none leaves it open.
  const isClosedInDoubt = history.hasLost && expected.mayBeClosed && expected.admitted;
  if (item.admitted !== expected.admitted && !expected.isVague && !isClosedInDoubt)
    told(`admitted: ${item.admitted}, by its history ${expected.admitted}`);
  if (expected.isVague || item.isContainer) return;
  const isParkedByAttempts = item.grants >= 3 && item.state === "parked" && expected.state === null;
  const isParkedSoon = item.parkWaits && item.state === null && expected.state === "parked";
  if (item.state !== expected.state && !isParkedByAttempts && !isParkedSoon)
    told(`state: ${item.state}, by its history ${expected.state}`);
}

/** Of the App's own comments no more stand than were promised: one for each promise. */
async function doubled(
  pool: pg.Pool,
  repositoryIds: readonly number[],
  issue: Issue,
  told: (what: string) => void,
): Promise<void> {
  const names = issue.comments
    .filter(({ author }) => author.login === "leasehold[bot]")
    .map(({ body }) => promiseOf(body.split("\n")[0] ?? ""));
  for (const [name, all] of Object.entries(Object.groupBy(names, (each) => each))) {
    const { rows } = await pool.query(
      "select 1 from outbox where repository_id = any ($1) and promise = $2",
      [repositoryIds, name],
    );
    if ((all?.length ?? 0) > rows.length)
      told(`${name} was promised ${rows.length} times and stands ${all?.length}`);
  }
}

function promiseOf(line: string): string {
  const fields = /item=issue-(?<number>\d+) .*fence=(?<fence>\d+)(?: result=(?<result>\w+))?/.exec(
    line,
  )?.groups;
  if (!fields) return line;
  const { number, fence, result } = fields;
  return result === undefined ? `claim:${fence}` : `outcome:${number}:${fence}:${result}`;
}

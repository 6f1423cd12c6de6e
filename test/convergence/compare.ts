/** GitHub and the store, field by field, by SQL and the fake's own memory: nothing of the program is used. */

import type pg from "pg";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { isoTime } from "../fake-github/payloads/times-and-ids.ts";
import type { Issue } from "../fake-github/state/model.ts";
import { isConverted } from "./actions.ts";

type Row = Record<string, unknown>;

/** What differs, in words; nothing if the store equals GitHub. */
export async function differences(pool: pg.Pool, repos: readonly FakeRepository[]): Promise<string[]> {
  const found: string[] = [];
  for (const repo of repos) {
    const rows = async (sql: string): Promise<Row[]> => (await pool.query<Row>(sql, [repo.id])).rows;
    const told = (what: string, stored: unknown, github: unknown): void => {
      const [has, is] = [JSON.stringify(stored), JSON.stringify(github)];
      if (has !== is) found.push(`${repo.name} ${what}: stored ${has}, GitHub ${is}`);
    };
    const issues = [...repo.record.issues.values()];
    await compareIssues(issues, rows, told);
    await compareComments(issues, rows, told);
    await comparePulls(issues, rows, told);
    await compareReviews(issues, rows, told);
    await compareBranches(repo, rows, told);
    await compareLinks(repo, repos, rows, told);
    const labels = await rows("select id, name from label where repository_id = $1 order by id");
    told("labels", labels, definitions(repo));
  }
  return found;
}

/** What differs of the issues' texts, states and labels: for when no reading has put them right. */
export async function textsAndLabels(pool: pg.Pool, repos: readonly FakeRepository[]): Promise<string[]> {
  const found: string[] = [];
  for (const repo of repos) {
    const { rows } = await pool.query<Row>("select * from issue where repository_id = $1 and gone is null", [
      repo.id,
    ]);
    for (const row of rows) {
      const issue = repo.record.issues.get(Number(row.number));
      if (issue === undefined || isConverted(issue)) continue;
      const [has, is] = [storedIssue(row), githubIssue(issue)].map(({ title, body, state, labels }) =>
        JSON.stringify({ title, body, state, labels }),
      );
      if (has !== is) found.push(`${repo.name} #${row.number}: stored ${has}, GitHub ${is}`);
    }
  }
  return found;
}

type Rows = (sql: string) => Promise<Row[]>;
type Told = (what: string, stored: unknown, github: unknown) => void;

async function compareIssues(all: readonly Issue[], rows: Rows, told: Told): Promise<void> {
  const github = new Map(all.filter(({ pull }) => pull === null).map((issue) => [issue.number, issue]));
  const stored = await rows("select * from issue where repository_id = $1 order by number");
  for (const row of stored) {
    const number = Number(row.number);
    const issue = github.get(number);
    github.delete(number);
    if (issue === undefined || isConverted(issue)) {
      // One that was closed by it and never was an item's is as good as any closed one.
      if (issue === undefined || row.state === "open") told(`#${number} is gone`, row.gone !== null, true);
      continue;
    }
    told(`#${number}`, storedIssue(row), githubIssue(issue));
  }
  // A closed one of which nothing was ever heard need not be known.
  for (const issue of github.values())
    if (issue.state === "open") told(`#${issue.number}`, null, githubIssue(issue));
}

const storedIssue = (row: Row) => ({
  gone: row.gone,
  id: row.id,
  title: row.title,
  body: row.body,
  state: row.state,
  reason: row.state_reason,
  labels: sorted(row.labels as string[]),
  assignees: sorted(row.assignees as string[]),
  milestone: row.milestone,
  locked: row.locked,
  author: row.author_login,
  updated: isoTime(row.updated_at as Date),
  closed: row.closed_at === null ? null : isoTime(row.closed_at as Date),
});

const githubIssue = (issue: Issue) => ({
  gone: null,
  id: issue.id,
  title: issue.title,
  body: issue.body,
  state: issue.state,
  reason: issue.stateReason,
  labels: sorted(issue.labels.map(({ name }) => name)),
  assignees: sorted(issue.assignees.map(({ login }) => login)),
  milestone: issue.milestone,
  locked: issue.locked,
  author: issue.author.login,
  updated: isoTime(issue.updatedAt),
  closed: issue.closedAt === null ? null : isoTime(issue.closedAt),
});

async function compareComments(all: readonly Issue[], rows: Rows, told: Told): Promise<void> {
  const stored = await rows(
    `select c.id, c.issue_number, c.body, c.author_login from issue_comment c
     join issue i on i.repository_id = c.repository_id and i.number = c.issue_number
     where c.repository_id = $1 and not c.deleted and i.gone is null order by c.id`,
  );
  const known = new Set(
    (await rows("select number from issue where repository_id = $1 and gone is null")).map(
      ({ number }) => number,
    ),
  );
  const github = all
    .filter((issue) => issue.pull === null && known.has(issue.number))
    .flatMap((issue) =>
      issue.comments.map(({ id, body, author }) => ({
        id,
        issue_number: issue.number,
        body,
        author_login: author.login,
      })),
    )
    .sort((one, other) => one.id - other.id);
  told("comments", stored, github);
}

async function comparePulls(all: readonly Issue[], rows: Rows, told: Told): Promise<void> {
  const stored = new Map(
    (await rows("select * from pull_request where repository_id = $1")).map((row) => [row.number, row]),
  );
  for (const { pull, ...issue } of all) {
    if (pull === null) continue;
    const row = stored.get(issue.number);
    if (row === undefined) {
      if (issue.state === "open") told(`pull #${issue.number}`, null, "open");
      continue;
    }
    const of = (has: Row) => ({
      title: has.title,
      body: has.body,
      state: has.state,
      draft: has.draft,
      merged: has.merged,
      base: has.base,
      head: has.head,
    });
    told(
      `pull #${issue.number}`,
      of({ ...row, merged: row.merged_at !== null, base: row.base_ref, head: row.head_sha }),
      of({
        title: issue.title,
        body: issue.body,
        state: issue.state,
        draft: pull.draft,
        merged: pull.merged !== null,
        base: pull.baseRef,
        head: pull.headSha,
      }),
    );
  }
}

/** Reviews decide about items' own pull requests that are open and no drafts; those of others need not be known. */
async function compareReviews(all: readonly Issue[], rows: Rows, told: Told): Promise<void> {
  const own = new Set(
    (await rows("select distinct pull_number as number from own_pull where repository_id = $1")).map(
      ({ number }) => number,
    ),
  );
  const stored = await rows(
    `select id, pull_number, reviewer_login, state, commit_sha from pull_request_review
     where repository_id = $1 order by id`,
  );
  for (const { number, state, pull } of all) {
    if (pull === null || state !== "open" || pull.draft || !own.has(number)) continue;
    told(
      `reviews of #${number}`,
      stored.filter((row) => row.pull_number === number),
      pull.reviews.map(({ id, author, state: verdict, commitId }) => ({
        id,
        pull_number: number,
        reviewer_login: author.login,
        state: verdict,
        commit_sha: commitId,
      })),
    );
  }
}

async function compareBranches(repo: FakeRepository, rows: Rows, told: Told): Promise<void> {
  const stored = await rows(
    "select name, head_sha as sha from branch where repository_id = $1 and head_sha is not null order by name",
  );
  const github = [...repo.record.branches].map(([name, sha]) => ({ name, sha }));
  told(
    "branches",
    stored,
    github.sort((one, other) => (one.name < other.name ? -1 : 1)),
  );
}

async function compareLinks(
  repo: FakeRepository,
  all: readonly FakeRepository[],
  rows: Rows,
  told: Told,
): Promise<void> {
  const stored = await rows(
    `select number, relation, target_repository_id as repo, target from native_link
     where repository_id = $1 and present order by number, relation, target_repository_id, target`,
  );
  const github = [...repo.record.issues.values()]
    .flatMap((issue) => [
      ...(issue.parent ? [edge(issue, "partOf", issue.parent)] : []),
      ...issue.blockedBy.map((blocker) => edge(issue, "blockedBy", blocker)),
    ])
    .map((row) => JSON.stringify(row));
  // An edge to a tombstone stays, and stalls; and a tombstone keeps its own for the record.
  const gone = all.flatMap(({ record }) =>
    [...record.gone.keys()].map((number) => `${record.id} ${targetOf(number)}`),
  );
  const live = stored.filter(
    (row) => repo.record.issues.has(Number(row.number)) && !gone.includes(`${row.repo} ${row.target}`),
  );
  told("links", sorted(live.map((row) => JSON.stringify(row))), sorted(github));
}

const edge = (issue: Issue, relation: string, target: Issue) => ({
  number: issue.number,
  relation,
  repo: target.repository.id,
  target: targetOf(target.number),
});

const targetOf = (number: number): string => `mem/backlog/issue-${number}`;

const definitions = (repo: FakeRepository): Row[] =>
  [...repo.record.labels.values()]
    .map(({ id, name }) => ({ id, name }))
    .sort((one, other) => one.id - other.id);

const sorted = (texts: readonly string[]): string[] => [...texts].sort();

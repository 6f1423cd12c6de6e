/** What people, agents and bots do in a random history. Each action is one that GitHub allows, or nothing. */

import type { SeededRandom } from "../chaos/seeded-random.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { HttpError } from "../fake-github/http-error.ts";
import type { Person } from "../fake-github/person.ts";
import type { Issue } from "../fake-github/state/model.ts";
import { EVERYBODY, isHuman, type Someone } from "./people.ts";
import type { TrueHistory } from "./true-history.ts";

export interface Scene {
  readonly random: SeededRandom;
  /** Two repositories of one owner. */
  readonly repos: readonly [FakeRepository, FakeRepository];
  readonly history: TrueHistory;
}

const OWN_LABELS = ["backlog", "needs-specification", "stale"];
const LABELS = [...OWN_LABELS, "needs-specification", "stale", "bug", "P1", "priority:P2"];
const REASONS = ["completed", "completed", "not_planned", "duplicate", null] as const;

/** What somebody is about to do. */
interface Turn extends Scene {
  readonly repo: FakeRepository;
  readonly who: Someone;
  readonly by: Person;
}

type Action = (turn: Turn) => string | null;

/** Does one thing and answers what, or null where there was nothing to do it to. */
export function act(scene: Scene): string | null {
  const { random, repos } = scene;
  const repo = random.chance(0.8) ? repos[0] : repos[1];
  const who = random.pick(EVERYBODY);
  const by = repo.as(who.login, who.viaApp === undefined ? {} : { viaApp: who.viaApp });
  const [name, action] = random.pick(DEALT);
  try {
    const what = action({ ...scene, repo, who, by });
    if (what === null) return null;
    const told = `${repo.fullName}: ${who.login}${who.viaApp ? ` via ${who.viaApp}` : ""} ${name} ${what}`;
    scene.history.tell(told);
    return told;
  } catch (error) {
    if (error instanceof HttpError) return null;
    throw error;
  }
}

/** Opened with the label that makes it an item: most rules are about those. */
const openIssue: Action = ({ random, by }) => {
  const labels = random.chance(0.8) ? ["backlog"] : [];
  if (random.chance(0.2)) labels.push(random.pick(LABELS));
  return `#${by.openIssue({ title: "Work", body: "As opened.", labels })} ${labels}`;
};

const edit: Action = (turn) =>
  onIssue(turn, (issue) => {
    const { random, by, who, history } = turn;
    if (random.chance(0.5)) by.editIssue(issue.number, { title: `Work ${random.whole(1, 99)}` });
    else {
      // Only who opened it, or may write, edits a text.
      const mayEdit = issue.author.login === who.login || ["alice", "smith"].includes(who.login);
      if (!mayEdit) return null;
      // No list tells of an App between: whoever has the rights counts.
      history.note(issue, { kind: "body", human: isHuman(who.login, null) });
      by.editIssue(issue.number, { body: `Text ${random.whole(1, 1_000_000)}` });
      return "the body";
    }
    return "the title";
  });

const label: Action = (turn) =>
  onIssue(turn, (issue) => {
    const name = turn.random.pick(LABELS);
    turn.by.label(issue.number, name);
    return name;
  });

const unlabel: Action = (turn) =>
  onIssue(turn, (issue) => {
    // Mostly what a rule is about, and seldom what makes it an item.
    const wanted = issue.labels.filter(({ name }) => name !== "backlog" || turn.random.chance(0.1));
    if (wanted.length === 0) return null;
    const { name } = turn.random.pick(wanted);
    turn.by.unlabel(issue.number, name);
    return name;
  });

const close: Action = (turn) =>
  onIssue(turn, (issue) => {
    const reason = turn.random.pick(REASONS);
    turn.by.close(issue.number, reason);
    return `${reason}`;
  });

const reopen: Action = (turn) =>
  onIssue(turn, (issue) => {
    if (issue.state === "open") return null;
    turn.by.reopen(issue.number);
    return "";
  });

const comment: Action = (turn) =>
  onIssue(turn, (issue) => {
    const { random } = turn;
    const fence = random.whole(1, 5);
    const marker = `<!-- backlog-worker: claim item=issue-${issue.number} owner=worker/x region=local fence=${fence} at=2026-09-06T00:12:44Z -->`;
    turn.by.comment(issue.number, random.chance(0.3) ? `${marker}\nMine.` : `Words ${random.whole(1, 99)}`);
    return "";
  });

const editComment: Action = (turn) =>
  onIssue(turn, (issue) => {
    const own = issue.comments.filter(({ author }) => author.login !== "leasehold[bot]");
    if (own.length === 0) return null;
    turn.by.editComment(turn.random.pick(own).id, `Other words ${turn.random.whole(1, 99)}`);
    return "";
  });

const deleteComment: Action = (turn) =>
  onIssue(turn, (issue) => {
    if (issue.comments.length === 0) return null;
    turn.by.deleteComment(turn.random.pick(issue.comments).id);
    return "";
  });

const assign: Action = (turn) =>
  onIssue(turn, (issue) => {
    if (issue.assignees.length > 0 && turn.random.chance(0.5)) turn.by.unassign(issue.number, "tess");
    else turn.by.assign(issue.number, "tess");
    return "";
  });

const milestone: Action = (turn) =>
  onIssue(turn, (issue) => {
    const title = turn.random.pick(["Soon", "Later", null]);
    turn.by.setMilestone(issue.number, title);
    return `${title}`;
  });

const lock: Action = (turn) =>
  onIssue(turn, (issue) => {
    turn.by.lock(issue.number);
    return "";
  });

const subIssue: Action = (turn) =>
  onTwo(turn, (one, other) => {
    if (other.parent) turn.by.removeSubIssue(at(other.parent), at(other));
    else turn.by.addSubIssue(at(one), at(other));
    return "";
  });

const blocker: Action = (turn) =>
  onTwo(turn, (one, other) => {
    if (one.blockedBy.includes(other)) turn.by.unblock(at(one), at(other));
    else turn.by.blockBy(at(one), at(other));
    return "";
  });

const openPull: Action = (turn) => {
  const { random, repo, by } = turn;
  const issue = random.chance(0.8) ? pick(turn, issuesOf(repo)) : null;
  const number = `${random.whole(1, 1_000_000)}`;
  const head = issue && random.chance(0.2) ? `feat/issue-${issue.number}` : `topic/${number}`;
  if (repo.record.branches.has(head)) return null;
  const base = random.chance(0.75) ? "main" : "dev";
  const body = issue && random.chance(0.8) ? `Fixes #${issue.number}` : null;
  const pull = by.openPull({ head, base, body, draft: random.chance(0.15), fork: random.chance(0.15) });
  return `#${pull} into ${base}: ${body}`;
};

const changePull: Action = (turn) =>
  onPull(turn, (pull) => {
    const { random, by } = turn;
    switch (random.whole(1, 7)) {
      case 1:
        by.editPull(pull.number, { base: random.pick(["main", "dev"]) });
        return "the base";
      case 2:
        by.editPull(pull.number, { title: `Pull ${random.whole(1, 99)}` });
        return "the title";
      case 3:
        if (pull.state === "open") by.closePull(pull.number);
        else by.reopenPull(pull.number);
        return pull.state;
      case 4:
        if (pull.pull?.draft) by.readyForReview(pull.number);
        else by.convertToDraft(pull.number);
        return "draft";
      case 5:
        by.review(pull.number, random.pick(["approved", "changes_requested", "commented", "dismissed"]));
        return "a review";
      case 6:
        by.requestReview(pull.number, "tess");
        return "whose review is asked for";
      default: {
        const { headRepository, headRef } = pull.pull ?? {};
        if (headRepository !== turn.repo.record || headRef === undefined) return null;
        by.push(headRef);
        return "what is pushed";
      }
    }
  });

const merge: Action = (turn) =>
  onPull(turn, (pull) => {
    const { history, repo, random, by } = turn;
    const part = pull.pull;
    if (pull.state !== "open" || !part || part.draft) return null;
    for (const issue of namedBy(repo, pull)) history.note(issue, { kind: "merged", base: part.baseRef });
    by.merge(pull.number, { method: random.pick(["merge", "squash", "rebase"]) });
    return `into ${part.baseRef}`;
  });

const transfer: Action = (turn) =>
  onIssue(turn, (issue) => {
    const { repos, repo, by, history } = turn;
    const target = repo === repos[0] ? repos[1] : repos[0];
    const from = issue.number;
    const to = by.transfer(from, target);
    history.moved.add(issue);
    return `#${from} to ${target.fullName}#${to}`;
  });

const deleteIssue: Action = (turn) =>
  onIssue(turn, (issue) => {
    turn.by.deleteIssue(issue.number);
    return "";
  });

const convert: Action = (turn) =>
  onIssue(turn, (issue) => {
    if (isConverted(issue)) return null;
    turn.by.convertToDiscussion(issue.number);
    return "";
  });

/** Of the three labels of its own only the gate and the park label: without the first nothing is an item. */
const labelDefinition: Action = ({ random, repo, by, history }) => {
  const name = random.pick(["needs-specification", "stale", "bug", "P1"]);
  if (!repo.labels().includes(name)) return null;
  if (random.chance(0.5) && !OWN_LABELS.includes(name)) {
    by.renameLabel(name, `${name}-${random.whole(1, 99)}`);
    return `renamed ${name}`;
  }
  for (const issue of issuesOf(repo)) {
    if (issue.labels.some((has) => has.name === name))
      history.note(issue, { kind: "label_deleted", label: name });
  }
  by.deleteLabel(name);
  return `deleted ${name}`;
};

/** How often each is done, of all that is. */
const DEALT: readonly (readonly [string, Action])[] = Object.entries({
  open: [openIssue, 6],
  edit: [edit, 5],
  label: [label, 10],
  unlabel: [unlabel, 14],
  close: [close, 5],
  reopen: [reopen, 5],
  comment: [comment, 5],
  editComment: [editComment, 2],
  deleteComment: [deleteComment, 2],
  assign: [assign, 2],
  milestone: [milestone, 2],
  lock: [lock, 1],
  subIssue: [subIssue, 4],
  blocker: [blocker, 4],
  openPull: [openPull, 5],
  changePull: [changePull, 7],
  merge: [merge, 4],
  transfer: [transfer, 1],
  deleteIssue: [deleteIssue, 1],
  convert: [convert, 1],
  labelDefinition: [labelDefinition, 2],
} satisfies Record<string, [Action, number]>).flatMap(([name, [action, times]]) =>
  Array.from({ length: times }, () => [name, action] as const),
);

/** The issues that a merge of the pull request is about: by its text, or by its branch. */
function namedBy(repo: FakeRepository, pull: Issue): Issue[] {
  const numbers = [
    /^Fixes #(\d+)$/.exec(pull.body ?? "")?.[1],
    pull.pull?.headRepository === repo.record
      ? /^feat\/issue-(\d+)$/.exec(pull.pull.headRef)?.[1]
      : undefined,
  ];
  const found = numbers.flatMap((number) => repo.record.issues.get(Number(number)) ?? []);
  return [...new Set(found)].filter((issue) => issue.pull === null);
}

export const isConverted = (issue: Issue): boolean =>
  issue.events.some(({ event }) => event === "converted_to_discussion");

const issuesOf = (repo: FakeRepository): Issue[] =>
  [...repo.record.issues.values()].filter((issue) => issue.pull === null && !isConverted(issue));

const at = (issue: Issue) => ({ repository: issue.repository, number: issue.number });

const pick = <T>({ random }: Turn, from: readonly T[]): T | null =>
  from.length === 0 ? null : random.pick(from);

function onIssue(turn: Turn, work: (issue: Issue) => string | null): string | null {
  const issue = pick(turn, issuesOf(turn.repo));
  if (issue === null) return null;
  const number = issue.number;
  const what = work(issue);
  return what === null ? null : `#${number} ${what}`;
}

/** Two different ones, seldom in two repositories. */
function onTwo(turn: Turn, work: (one: Issue, other: Issue) => string | null): string | null {
  const one = pick(turn, issuesOf(turn.repo));
  const other = pick(turn, issuesOf(turn.random.chance(0.8) ? turn.repo : turn.random.pick(turn.repos)));
  if (one === null || other === null || one === other) return null;
  const what = work(one, other);
  return what === null ? null : `#${one.number} and ${other.repository.name}#${other.number} ${what}`;
}

function onPull(turn: Turn, work: (pull: Issue) => string | null): string | null {
  const pull = pick(
    turn,
    [...turn.repo.record.issues.values()].filter((issue) => issue.pull !== null),
  );
  if (pull === null) return null;
  const what = work(pull);
  return what === null ? null : `#${pull.number} ${what}`;
}

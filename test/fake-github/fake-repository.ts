import { isoTime } from "./payloads/times-and-ids.ts";
import { Person } from "./person.ts";
import { setCheckSuite, setCommitStatus } from "./state/checks.ts";
import { findIssue } from "./state/issues.ts";
import {
  type CheckStatus,
  type CommitStatus,
  fullName,
  type Issue,
  type Repository,
  type Role,
} from "./state/model.ts";
import { findPull } from "./state/pulls.ts";
import { branchTip, push } from "./state/pushes.ts";
import { ownerPerson } from "./state/repositories.ts";
import type { World } from "./state/world.ts";

export type IssueSnapshot = {
  id: number;
  number: number;
  title: string;
  body: string | null;
  author: string;
  state: "open" | "closed";
  stateReason: string | null;
  labels: string[];
  assignees: string[];
  locked: boolean;
  comments: { id: number; body: string; author: string; createdAt: string }[];
  parent: number | null;
  subIssues: number[];
  blockedBy: number[];
  createdAt: string;
  updatedAt: string;
  closedAt: string | null;
};

export type PullSnapshot = IssueSnapshot & {
  head: string;
  headSha: string;
  base: string;
  draft: boolean;
  merged: boolean;
  mergeCommitSha: string | null;
};

export type EventSnapshot = {
  event: string;
  actor: string;
  viaApp: string | null;
  label: string | null;
  createdAt: string;
};

/** A repository as a test holds it: people to act in it, and snapshots of what is there. */
export class FakeRepository {
  readonly record: Repository;
  #world: World;

  constructor(world: World, record: Repository) {
    this.#world = world;
    this.record = record;
  }

  get id(): number {
    return this.record.id;
  }

  get owner(): string {
    return this.record.owner.login;
  }

  get name(): string {
    return this.record.name;
  }

  get fullName(): string {
    return fullName(this.record);
  }

  get defaultBranch(): string {
    return this.record.defaultBranch;
  }

  /** `viaApp` names an App through which a user acts; null hides that a bot is an App's. */
  as(login: string, options: { viaApp?: string | null } = {}): Person {
    const { viaApp } = options;
    const app = typeof viaApp === "string" ? this.#world.otherApp(viaApp) : viaApp;
    return new Person(this.#world, this.record, this.#world.actor(login, app));
  }

  /** Changes happen and nobody hears of them. */
  silently<T>(change: () => T): T {
    return this.#world.silently(change);
  }

  setRole(login: string, role: Role): void {
    this.record.collaborators.set(this.#world.account(login).login.toLowerCase(), role);
  }

  /** A commit pushed by the owner (or `by`); null removes the file. Answers its sha. */
  setFile(branch: string, path: string, text: string | null, options: { by?: string } = {}): string {
    const person = this.#world.actor(options.by ?? ownerPerson(this.#world, this.record.owner).login);
    const commit = { message: `Change ${path}`, changes: new Map([[path, text]]) };
    const how = { forced: false, from: this.record.defaultBranch };
    return push(this.#world, person, this.record, branch, [commit], how);
  }

  /** Another App's verdict on a commit, or on a pull request's head. */
  checkSuite(
    shaOrNumber: string | number,
    verdict: { status: CheckStatus; conclusion?: string | null; app?: string },
  ): void {
    const app = this.#world.otherApp(verdict.app ?? "ci");
    const by = this.#world.actor(`${app.slug}[bot]`);
    const sha = this.#sha(shaOrNumber);
    const conclusion = verdict.conclusion ?? (verdict.status === "completed" ? "success" : null);
    setCheckSuite(this.#world, by, this.record, sha, app, verdict.status, conclusion);
  }

  status(shaOrNumber: string | number, state: CommitStatus["state"], context = "ci"): void {
    const by = this.#world.actor("status-bot[bot]");
    setCommitStatus(this.#world, by, this.record, this.#sha(shaOrNumber), state, context);
  }

  /** Overrides what would be computed: `{ mergeable: false, state: "dirty" }` is a conflict. Null computes. */
  setMergeability(number: number, mergeability: { mergeable: boolean | null; state: string } | null): void {
    findPull(this.record, number).pull.mergeability = mergeability;
  }

  issue(number: number): IssueSnapshot {
    return snapshot(findIssue(this.record, number));
  }

  pull(number: number): PullSnapshot {
    const issue = findPull(this.record, number);
    const { pull } = issue;
    return {
      ...snapshot(issue),
      head: pull.headRef,
      headSha: pull.headSha,
      base: pull.baseRef,
      draft: pull.draft,
      merged: pull.merged !== null,
      mergeCommitSha: pull.merged?.sha ?? null,
    };
  }

  /** Numbers of the issues, without the pull requests. */
  issueNumbers(): number[] {
    return [...this.record.issues.values()].filter(({ pull }) => pull === null).map(({ number }) => number);
  }

  labels(): string[] {
    return [...this.record.labels.values()].map(({ name }) => name);
  }

  branches(): string[] {
    return [...this.record.branches.keys()];
  }

  tip(branch: string): string {
    return branchTip(this.record, branch);
  }

  events(number: number): EventSnapshot[] {
    return findIssue(this.record, number).events.map(({ event, actor, viaApp, details, createdAt }) => {
      const { label } = details;
      const isLabel = label && typeof label === "object" && !Array.isArray(label);
      return {
        event,
        actor: actor.login,
        viaApp: viaApp?.slug ?? null,
        label: isLabel ? String(label.name) : null,
        createdAt: isoTime(createdAt),
      };
    });
  }

  /** Check runs on a commit or a pull request's head, with the App that made each. */
  checkRuns(shaOrNumber: string | number) {
    const sha = this.#sha(shaOrNumber);
    return this.record.checkSuites
      .filter(({ headSha }) => headSha === sha)
      .flatMap(({ app, runs }) =>
        runs.map(({ id, name, status, conclusion, output }) => ({
          id,
          app: app.slug,
          name,
          status,
          conclusion,
          ...output,
        })),
      );
  }

  #sha(shaOrNumber: string | number): string {
    return typeof shaOrNumber === "number" ? findPull(this.record, shaOrNumber).pull.headSha : shaOrNumber;
  }
}

function snapshot(issue: Issue): IssueSnapshot {
  return {
    id: issue.id,
    number: issue.number,
    title: issue.title,
    body: issue.body,
    author: issue.author.login,
    state: issue.state,
    stateReason: issue.stateReason,
    labels: issue.labels.map(({ name }) => name),
    assignees: issue.assignees.map(({ login }) => login),
    locked: issue.locked,
    comments: issue.comments.map(({ id, body, author, createdAt }) => ({
      id,
      body,
      author: author.login,
      createdAt: isoTime(createdAt),
    })),
    parent: issue.parent?.number ?? null,
    subIssues: issue.subIssues.map(({ number }) => number),
    blockedBy: issue.blockedBy.map(({ number }) => number),
    createdAt: isoTime(issue.createdAt),
    updatedAt: isoTime(issue.updatedAt),
    closedAt: issue.closedAt ? isoTime(issue.closedAt) : null,
  };
}

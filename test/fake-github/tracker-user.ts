import { createComment, deleteComment, editComment } from "./state/comments.ts";
import { convertToDiscussion, deleteIssue, transferIssue } from "./state/departures.ts";
import { labelIssue, unlabelIssue } from "./state/issue-labels.ts";
import { addBlocker, addSubIssue, removeBlocker, removeSubIssue } from "./state/issue-links.ts";
import {
  assign,
  closeIssue,
  editIssue,
  findIssue,
  lockIssue,
  type NewIssue,
  openIssue,
  reopenIssue,
  setMilestone,
  unassign,
} from "./state/issues.ts";
import type { Actor, Issue, Repository, StateReason } from "./state/model.ts";
import {
  createLabel,
  deleteLabel,
  editLabel,
  findLabel,
  type LabelFields,
} from "./state/repository-labels.ts";
import type { World } from "./state/world.ts";

export type RepositoryReference = { readonly id: number };

/** A number in the same repository, or an issue of another. */
export type IssueReference = number | { repository: RepositoryReference; number: number };

/** Somebody at work in one repository: what they do with its issues. */
export class TrackerUser {
  readonly login: string;
  protected readonly world: World;
  protected readonly repository: Repository;
  protected readonly by: Actor;

  constructor(world: World, repository: Repository, by: Actor) {
    this.world = world;
    this.repository = repository;
    this.by = by;
    this.login = by.account.login;
  }

  openIssue(from: NewIssue): number {
    return openIssue(this.world, this.by, this.repository, from).number;
  }

  editIssue(number: number, edit: { title?: string; body?: string | null }): void {
    editIssue(this.world, this.by, this.issue(number), edit);
  }

  label(number: number, ...names: string[]): void {
    labelIssue(this.world, this.by, this.issue(number), ...names);
  }

  unlabel(number: number, name: string): void {
    unlabelIssue(this.world, this.by, this.issue(number), name);
  }

  close(number: number, reason: Exclude<StateReason, "reopened"> | null = "completed"): void {
    closeIssue(this.world, this.by, this.issue(number), reason);
  }

  reopen(number: number): void {
    reopenIssue(this.world, this.by, this.issue(number));
  }

  assign(number: number, login: string): void {
    assign(this.world, this.by, this.issue(number), login);
  }

  unassign(number: number, login: string): void {
    unassign(this.world, this.by, this.issue(number), login);
  }

  setMilestone(number: number, title: string | null): void {
    setMilestone(this.world, this.by, this.issue(number), title);
  }

  lock(number: number): void {
    lockIssue(this.world, this.by, this.issue(number));
  }

  comment(number: number, body: string): number {
    return createComment(this.world, this.by, this.issue(number), body).id;
  }

  editComment(id: number, body: string): void {
    editComment(this.world, this.by, this.repository, id, body);
  }

  deleteComment(id: number): void {
    deleteComment(this.world, this.by, this.repository, id);
  }

  createLabel(name: string, fields: LabelFields = {}): void {
    createLabel(this.world, this.by, this.repository, { ...fields, name });
  }

  renameLabel(from: string, to: string): void {
    editLabel(this.world, this.by, this.repository, findLabel(this.repository, from), { name: to });
  }

  deleteLabel(name: string): void {
    deleteLabel(this.world, this.by, this.repository, findLabel(this.repository, name));
  }

  deleteIssue(number: number): void {
    deleteIssue(this.world, this.by, this.issue(number));
  }

  /** Answers the number that the issue has there. */
  transfer(number: number, to: RepositoryReference): number {
    const target = this.world.repositories.get(to.id);
    if (!target) throw new Error(`there is no repository ${to.id}`);
    return transferIssue(this.world, this.by, this.issue(number), target);
  }

  convertToDiscussion(number: number): void {
    convertToDiscussion(this.world, this.by, this.issue(number));
  }

  addSubIssue(parent: IssueReference, sub: IssueReference, options: { replaceParent?: boolean } = {}): void {
    addSubIssue(this.world, this.by, this.at(parent), this.at(sub), options.replaceParent);
  }

  removeSubIssue(parent: IssueReference, sub: IssueReference): void {
    removeSubIssue(this.world, this.by, this.at(parent), this.at(sub));
  }

  blockBy(blocked: IssueReference, blocker: IssueReference): void {
    addBlocker(this.world, this.by, this.at(blocked), this.at(blocker));
  }

  unblock(blocked: IssueReference, blocker: IssueReference): void {
    removeBlocker(this.world, this.by, this.at(blocked), this.at(blocker));
  }

  protected issue(number: number): Issue {
    return findIssue(this.repository, number);
  }

  private at(reference: IssueReference): Issue {
    if (typeof reference === "number") return this.issue(reference);
    const repository = this.world.repositories.get(reference.repository.id);
    if (!repository) throw new Error(`there is no repository ${reference.repository.id}`);
    return findIssue(repository, reference.number);
  }
}

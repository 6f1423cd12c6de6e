import { deleteBranch, renameBranch } from "./state/branches.ts";
import type { FileChanges } from "./state/git.ts";
import { closeIssue } from "./state/issues.ts";
import { type MergeMethod, mergePull } from "./state/merges.ts";
import type { ReviewState } from "./state/model.ts";
import { editPull, findPull, openPull, reopenPull, requestReview, review, setDraft } from "./state/pulls.ts";
import { branchTip, createBranch, push, pushTags } from "./state/pushes.ts";
import { addFork } from "./state/repositories.ts";
import { TrackerUser } from "./tracker-user.ts";

/** Paths to touch, or the text for each path; null removes the file. */
export type Files = readonly string[] | Readonly<Record<string, string | null>>;

export type CommitOptions = { message?: string; files?: Files };

/** Somebody at work in one repository: with its issues, its branches and its pull requests. */
export class Person extends TrackerUser {
  /**
   * One push, of one commit or of several `commits`. A new branch starts at the branch or sha `from`, or at
   * the default branch. `forced` rewrites the last commit.
   */
  push(
    branch: string,
    options: CommitOptions & { forced?: boolean; from?: string; commits?: readonly CommitOptions[] } = {},
  ): string {
    const { forced = false, from = this.repository.defaultBranch, commits = [options] } = options;
    const made = commits.map(({ message = `Work on ${branch}`, files }) => ({
      message,
      changes: this.changes(files ?? [`work/${branch.replaceAll("/", "-")}.txt`]),
    }));
    return push(this.world, this.by, this.repository, branch, made, { forced, from });
  }

  pushTags(...tags: string[]): void {
    pushTags(this.world, this.by, this.repository, tags);
  }

  /** A branch at the tip of another, without a commit of its own. */
  createBranch(branch: string, from = this.repository.defaultBranch): void {
    const sha = this.repository.branches.get(from) ?? from;
    createBranch(this.world, this.by, this.repository, branch, sha);
  }

  deleteBranch(branch: string): void {
    deleteBranch(this.world, this.by, this.repository, branch);
  }

  renameBranch(from: string, to: string): void {
    renameBranch(this.world, this.by, this.repository, from, to);
  }

  /** From a branch here, or with `fork` from one in this person's fork. A missing branch gets one commit. */
  openPull(from: {
    head: string;
    base?: string;
    title?: string;
    body?: string | null;
    draft?: boolean;
    fork?: boolean;
    labels?: string[];
  }): number {
    const { head, base = this.repository.defaultBranch, title = `Work on ${head}`, body = null } = from;
    const headRepository = from.fork ? addFork(this.world, this.repository, this.login) : this.repository;
    if (!headRepository.branches.has(head)) {
      const from = branchTip(this.repository, base);
      new Person(this.world, headRepository, this.by).push(head, { from });
    }
    return openPull(this.world, this.by, this.repository, {
      head,
      headRepository,
      base,
      title,
      body,
      draft: from.draft ?? false,
      labels: from.labels,
    }).number;
  }

  editPull(number: number, edit: { base?: string; title?: string; body?: string | null }): void {
    editPull(this.world, this.by, findPull(this.repository, number), edit);
  }

  closePull(number: number): void {
    closeIssue(this.world, this.by, findPull(this.repository, number), null);
  }

  reopenPull(number: number): void {
    reopenPull(this.world, this.by, findPull(this.repository, number));
  }

  readyForReview(number: number): void {
    setDraft(this.world, this.by, findPull(this.repository, number), false);
  }

  convertToDraft(number: number): void {
    setDraft(this.world, this.by, findPull(this.repository, number), true);
  }

  requestReview(number: number, login: string): void {
    requestReview(this.world, this.by, findPull(this.repository, number), login);
  }

  /** `dismissed` takes back the latest verdict. */
  review(number: number, state: ReviewState, body = ""): number {
    return review(this.world, this.by, findPull(this.repository, number), state, body).id;
  }

  /** Answers the sha that the base branch has then. */
  merge(number: number, options: { method?: MergeMethod } = {}): string {
    const pull = findPull(this.repository, number);
    return mergePull(this.world, this.by, pull, options.method ?? "merge");
  }

  /** A path without a text gets one that no file had before. */
  private changes(files: Files): FileChanges {
    if (!Array.isArray(files)) return new Map(Object.entries(files));
    return new Map(files.map((path: string) => [path, `${path}, revision ${this.world.nextId()}\n`]));
  }
}

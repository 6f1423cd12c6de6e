/** What really happened on GitHub, beside what it lists itself: edits of bodies and merges, placed among the listed events. */

import type { Issue } from "../fake-github/state/model.ts";

export interface Unlisted {
  /** So many of the issue's listed events came before it. */
  readonly after: number;
  readonly at: Date;
  readonly what:
    | { readonly kind: "body"; readonly human: boolean }
    /** A pull request that is about the issue was merged into this branch. */
    | { readonly kind: "merged"; readonly base: string }
    /** The definition of a label was deleted, which takes it off: a number of events at once. */
    | { readonly kind: "label_deleted"; readonly label: string };
}

export class TrueHistory {
  readonly #now: () => Date;
  readonly #unlisted = new Map<Issue, Unlisted[]>();
  /** Issues that a transfer took to another repository at some time. */
  readonly moved = new Set<Issue>();
  /** Some delivery never came. */
  hasLost = false;
  /** What was done, in words, for whoever must understand a failure. */
  readonly told: string[] = [];

  constructor(now: () => Date) {
    this.#now = now;
  }

  note(issue: Issue, what: Unlisted["what"]): void {
    const known = this.#unlisted.get(issue) ?? [];
    this.#unlisted.set(issue, [...known, { after: issue.events.length, at: this.#now(), what }]);
  }

  unlistedOf(issue: Issue): readonly Unlisted[] {
    return this.#unlisted.get(issue) ?? [];
  }

  tell(what: string): void {
    this.told.push(what);
  }
}

/**
 * What should have become of an item, worked out from what truly happened and in which order: small, written apart from
 * the program, and without a clock, a queue or a database (protocol 3, 5 and 8).
 */

import type { Issue, IssueEvent } from "../fake-github/state/model.ts";
import { isHuman } from "./people.ts";
import type { TrueHistory, Unlisted } from "./true-history.ts";

export interface Expected {
  readonly admitted: boolean;
  readonly state: "complete" | "cancelled" | "parked" | null;
  /** A human edited the admitted item's text: where the news of it is lost, nobody can tell who it was. */
  readonly mayBeClosed: boolean;
  /** It was no item while something happened that decides items' states: nothing is claimed about its state. */
  readonly isVague: boolean;
}

const GATE = "needs-specification";
const STALE = "stale";
const BASE = "main";
const OWN = "leasehold[bot]";

type Happening = { readonly event: IssueEvent } | { readonly unlisted: Unlisted };

/** The item's fate; null if the issue never was an item's. */
export function expectedOf(issue: Issue, history: TrueHistory): Expected | null {
  const fate = new Fate(issue);
  for (const happening of inOrder(issue, history)) fate.take(happening);
  return fate.answer();
}

function inOrder(issue: Issue, history: TrueHistory): Happening[] {
  const happenings: Happening[] = [];
  const unlisted = history.unlistedOf(issue);
  for (let place = 0; place <= issue.events.length; place += 1) {
    for (const each of unlisted) if (each.after === place) happenings.push({ unlisted: each });
    const event = issue.events[place];
    if (event) happenings.push({ event });
  }
  return happenings;
}

class Fate {
  readonly #author: boolean;
  #labels = new Set<string>();
  #open = true;
  #isItem = false;
  #admitted = false;
  #isEdited = false;
  #lastGate: { readonly by: "human" | "other" } | "on" | null = null;
  #parked = false;
  #ended: "complete" | "cancelled" | null = null;
  #isVague = false;
  /** The next removal of this label is its definition's. */
  #deleted: string | null = null;
  /** The next close is that of this merge. */
  #merge: "right" | "wrong" | null = null;

  #mergedAt: Date | null = null;

  constructor(issue: Issue) {
    this.#author = isHuman(issue.author.login, issue.viaApp?.slug ?? null);
  }

  answer(): Expected | null {
    if (!this.#isItem) return null;
    const state = this.#ended ?? (this.#parked ? "parked" : null);
    return { admitted: this.#admitted, state, mayBeClosed: this.#isEdited, isVague: this.#isVague };
  }

  take(happening: Happening): void {
    if ("unlisted" in happening) this.#takeUnlisted(happening.unlisted);
    else this.#takeEvent(happening.event);
    if (!this.#isItem && this.#open && this.#labels.has("backlog")) this.#becomeItem();
  }

  #takeUnlisted({ what, at }: Unlisted): void {
    switch (what.kind) {
      case "body":
        if (this.#isItem && !what.human) this.#admitted = false;
        this.#isEdited = true;
        return;
      case "merged":
        this.#mergedAt = at;
        this.#merge = what.base === BASE ? "right" : "wrong";
        if (!this.#isItem || !this.#labels.has("backlog")) this.#isVague = true;
        else if (this.#merge === "right") this.#ended = "complete";
        return;
      case "label_deleted":
        this.#deleted = what.label;
    }
  }

  #takeEvent({ event, actor, viaApp, details, createdAt }: IssueEvent): void {
    const human = isHuman(actor.login, viaApp?.slug ?? null);
    const label = nameOfLabel(details.label);
    switch (event) {
      case "labeled":
        this.#labeled(label, actor.login, human);
        return;
      case "unlabeled":
        this.#unlabeled(label, human);
        return;
      case "closed":
        this.#closed(String(details.state_reason ?? "none"), human);
        return;
      case "reopened":
        // In one second with a merge, GitHub's times do not tell which came first.
        if (this.#mergedAt?.getTime() === createdAt.getTime()) this.#isVague = true;
        this.#open = true;
        this.#merge = null;
        // An agent's reopening brings nothing back (protocol 8).
        if (human) this.#ended = null;
        return;
      case "converted_to_discussion":
        this.#ended = "cancelled";
    }
  }

  #labeled(label: string, login: string, human: boolean): void {
    this.#labels.add(label);
    if (label === GATE) {
      this.#lastGate = "on";
      this.#admitted = false;
    }
    // Its own label is the second half of a park.
    if (label === STALE && this.#isItem && this.#ended === null && (human || login === OWN))
      this.#parked = true;
    if (label === STALE && !this.#isItem && human) this.#isVague = true;
  }

  #unlabeled(label: string, human: boolean): void {
    this.#labels.delete(label);
    const isDefinition = this.#deleted === label;
    this.#deleted = null;
    if (isDefinition) {
      if (label === GATE) this.#lastGate = { by: "other" };
      // Taken off before anybody looked, it is as if it never was on: the list shows no difference.
      if (label === STALE) this.#isVague = true;
      return;
    }
    if (label === GATE) {
      this.#lastGate = { by: human ? "human" : "other" };
      if (human) {
        this.#admitted = true;
        this.#isEdited = false;
      }
    }
    if (label === STALE && human && this.#ended === null) this.#parked = false;
    if (label === "backlog") this.#isVague = true;
  }

  #closed(reason: string, human: boolean): void {
    this.#open = false;
    const isByMerge = this.#merge !== null;
    this.#merge = null;
    if (!this.#isItem || isByMerge || !human) return;
    this.#ended = reason === "not_planned" || reason === "duplicate" ? "cancelled" : "complete";
  }

  #becomeItem(): void {
    this.#isItem = true;
    if (this.#lastGate === "on") this.#admitted = false;
    else this.#admitted = this.#lastGate === null ? this.#author : this.#lastGate.by === "human";
  }
}

function nameOfLabel(label: unknown): string {
  const name = label && typeof label === "object" && "name" in label ? label.name : "";
  return String(name).toLowerCase();
}

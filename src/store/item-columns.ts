/** What is read of items, as it is read: their own rows, and what belongs to each of them. Times are ISO 8601. */

import type { Anchor } from "../domain/anchors.ts";
import type { DefectCode } from "../domain/defects.ts";
import type { GroupingShape } from "../domain/grouping-defects.ts";
import type { ItemState } from "../domain/item-state.ts";
import type { ItemReview } from "../domain/review.ts";
import type { GroupingFacts } from "../domain/why-not.ts";
import type { ResumeRow } from "./handover.ts";

/** What an item's own rows tell: its own, its record's, its issue's and its claim's. Times are ISO 8601. */
export interface OwnRow {
  number: number;
  enrolled: boolean;
  admitted: boolean;
  admitted_by: string | null;
  state: ItemState;
  state_at: string | null;
  park_reason: string | null;
  ruling_owner: string | null;
  question: string | null;
  park_by: string | null;
  park_at: string | null;
  created_at: string;
  active_at: string | null;
  own_threshold: number | null;
  ancestors: readonly number[];
  integrates: number | null;
  started_under: number | null;
  hold: { by: string; at: string; note: string | null } | null;
  review: ItemReview | null;
  tags: string[];
  expires_at: string | null;
  title: string;
  html_url: string;
  labels: string[];
  issue_open: boolean;
  state_reason: string | null;
  author_login: string | null;
  updated_at: string;
  fence: number | null;
  live: boolean | null;
  owner: string | null;
  actor: string | null;
  region: string | null;
  lease_expires_at: string | null;
  reclaims: number | null;
}

export interface ItemViewRow extends OwnRow {
  parts: number;
  open_parts: number;
  integrated: boolean;
  grants: readonly number[];
  markers: readonly number[];
  unposted: readonly number[];
  links: readonly LinkRow[];
  blockers: readonly BlockerRow[];
  cycles: readonly CycleRow[];
  anchors: readonly AnchorRow[];
  resume: ResumeBlockRow | null;
  incidents: readonly IncidentRow[];
  grouping: GroupingFacts;
  shape: GroupingShape;
  started_above: boolean;
  /** Open leases of what it needs, and those that it holds. */
  leases: readonly LeaseRow[];
}

export interface LinkRow {
  relation: string;
  repositoryId: number;
  target: string;
}

export type AnchorRow = Omit<Anchor, "driftedAt"> & { driftedAt: string | null };

export type ResumeBlockRow = Omit<ResumeRow, "writtenAt"> & { writtenAt: string };

export interface IncidentRow {
  code: DefectCode;
  value: string;
  detail: string;
  since: string;
}

export interface LeaseRow {
  key: string;
  repositoryId: number;
  number: number;
  expiresAt: string;
}

export interface BlockerRow {
  repositoryId: number;
  target: string;
  isItem: boolean;
  state: ItemState;
  /** Null also where none of them tells of a state. */
  tags: string[] | null;
  issueOpen: boolean | null;
  issueReason: string | null;
  rulingOwner: string | null;
  question: string | null;
  /** `owner/name` of the blocker's repository, where it is known, and whether its mirror may be believed. */
  repository: string | null;
  heard: boolean | null;
  /** Where the App is not: what GitHub's list of the item's blockers tells of it; null: nothing. */
  told: { readonly open: boolean; readonly stateReason: string | null } | null;
}

export interface CycleRow {
  relation: "blockedBy" | "partOf";
  since: string;
  /** In order. */
  members: { repositoryId: number; repository: string | null; number: number }[];
}

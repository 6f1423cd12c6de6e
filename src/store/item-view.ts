/** An item as the rules see it, made of the row that `item-facts.ts` reads. */

import { type Anchor, type Anchoring, anchoringOf, pathOf } from "../domain/anchors.ts";
import { type AttemptFacts, type Attempts, countAttempts } from "../domain/attempts.ts";
import { blastRadius } from "../domain/blast-radius.ts";
import { type Blocker, type BlockerFacts, blockerStatus, stallOf } from "../domain/blockers.ts";
import { startingAt } from "../domain/cycles.ts";
import { type Cycle, type Defect, defectsOf } from "../domain/defects.ts";
import { itemOfTarget } from "../domain/record-key.ts";
import {
  type ItemLease,
  itemLeases,
  type OpenLease,
  resourceNeeds,
  takenByOthers,
} from "../domain/resources.ts";
import type { RepositorySettings } from "../domain/settings.ts";
import { tagValue } from "../domain/tags.ts";
import type { ItemFacts } from "../domain/why-not.ts";
import type { ResumeRow } from "./handover.ts";
import type { AnchorRow, BlockerRow, CycleRow, ItemViewRow, LeaseRow } from "./item-columns.ts";

/** An item with its facts, its mirror and its record: what every reader of items gets. */
export interface ItemView {
  readonly facts: ItemFacts;
  readonly attempts: Attempts & { readonly grants: number; readonly markers: number };
  readonly defects: readonly Defect[];
  readonly anchoring: Anchoring;
  readonly title: string;
  readonly url: string;
  readonly labels: readonly string[];
  readonly stateReason: string | null;
  readonly admittedBy: string | null;
  readonly author: string | null;
  readonly links: readonly { relation: string; repositoryId: number; target: string }[];
  readonly updatedAt: Date;
  readonly parkReason: string | null;
  /** The resources that it needs, and who holds them. */
  readonly resources: readonly ItemLease[];
  readonly resume: ResumeRow | null;
}

/** What a repository's settings say about its items. */
export type Limits = Pick<
  RepositorySettings,
  "poisonThreshold" | "quarantineSeconds" | "requireAnchors" | "resources" | "traits"
>;

/** A promise to GitHub that is this old and still unkept is a defect, not a delay. */
export const SETTLE_SECONDS = 300;

const timeOf = (text: string | null): Date | null => (text === null ? null : new Date(text));

/** `now`: when the rows were read, by the database's clock. */
export function toView(row: ItemViewRow, now: Date, repositoryId: number, settings: Limits): ItemView {
  const attemptFacts: AttemptFacts = { grants: row.grants, markers: row.markers, unposted: row.unposted };
  const attempts = countAttempts(attemptFacts);
  const needs = resourceNeeds(row.tags, settings);
  const holder = { repositoryId, number: row.number };
  const leases = row.leases.map(toLease);
  const facts: ItemFacts = {
    number: row.number,
    enrolled: row.enrolled,
    admitted: row.admitted,
    state: row.state,
    issueOpen: row.issue_open,
    tags: row.tags,
    createdAt: new Date(row.created_at),
    parts: row.parts,
    openParts: row.open_parts,
    integrated: row.integrated,
    blockers: row.blockers.map((blocker) => toBlocker(blocker, repositoryId)),
    attempts: attempts.count,
    threshold: row.own_threshold ?? settings.poisonThreshold,
    claim: toClaim(row),
    rulingOwner: row.ruling_owner,
    question: row.question,
    grouping: row.grouping,
    hold: row.hold && { ...row.hold, at: new Date(row.hold.at) },
    startedAbove: row.started_above,
    radius: radiusOf(row, repositoryId, settings),
    review: row.review,
    activeAt: timeOf(row.active_at),
    quarantineSeconds: settings.quarantineSeconds,
    parkAsked:
      row.park_by === null || row.park_at === null ? null : { by: row.park_by, at: new Date(row.park_at) },
    takenResources: takenByOthers(needs, leases, holder),
  };
  const updatedAt = new Date(row.updated_at);
  const anchoring = anchoringOf(row.links, row.anchors.map(toAnchor));
  const derived = defectsOf({
    item: facts,
    drifted: anchoring.drifted,
    expiresAt: timeOf(row.expires_at),
    reading: attempts.reading,
    relations: [...new Set(row.links.map((link) => link.relation))],
    cycles: row.cycles.map((cycle) => toCycle(cycle, repositoryId, row.number)),
    shape: row.shape,
    since: updatedAt,
    stateAt: timeOf(row.state_at),
    settledBefore: new Date(now.getTime() - SETTLE_SECONDS * 1000),
  });
  const incidents = row.incidents.map(({ code, value, detail, since }) => ({
    code,
    number: row.number,
    value,
    detail,
    since: new Date(since),
  }));
  return {
    facts,
    attempts: { ...attempts, grants: row.grants.length, markers: row.markers.length },
    defects: [...derived, ...incidents],
    anchoring,
    title: row.title,
    url: row.html_url,
    labels: row.labels,
    stateReason: row.state_reason,
    admittedBy: row.admitted_by,
    author: row.author_login,
    links: row.links,
    updatedAt,
    parkReason: row.park_reason,
    resources: itemLeases(needs, leases, holder),
    resume: row.resume && { ...row.resume, writtenAt: new Date(row.resume.writtenAt) },
  };
}

const toAnchor = ({ repositoryId, target, branch, captured, current, driftedAt }: AnchorRow): Anchor => ({
  repositoryId,
  target,
  branch,
  captured,
  current,
  driftedAt: timeOf(driftedAt),
});

const toLease = ({ key, repositoryId, number, expiresAt }: LeaseRow): OpenLease => ({
  key,
  holder: { repositoryId, number },
  expiresAt: new Date(expiresAt),
});

/** Of the files of its own repository. */
function radiusOf(
  { tags, links }: ItemViewRow,
  repositoryId: number,
  { requireAnchors }: Limits,
): readonly string[] {
  const paths = links
    .filter(
      ({ relation, repositoryId: at, target }) =>
        relation === "anchoredTo" && at === repositoryId && target.startsWith("file/"),
    )
    .map(pathOf);
  return blastRadius(paths, { isResearch: tagValue(tags, "phase:") === "research", requireAnchors });
}

function toClaim(row: ItemViewRow): ItemFacts["claim"] {
  const { fence, live, owner, actor, region, lease_expires_at, reclaims } = row;
  if (fence === null || live === null || owner === null || actor === null) return null;
  if (region === null || lease_expires_at === null || reclaims === null) return null;
  return { fence, live, owner, actor, region, leaseExpiresAt: new Date(lease_expires_at), reclaims };
}

export function toBlocker(row: BlockerRow, repositoryId: number): Blocker {
  const number = itemOfTarget(row.target);
  const isHere = row.repositoryId === repositoryId;
  const isElsewhere = !isHere && !row.heard;
  const told = isElsewhere && row.told !== null ? ({ kind: "issue", ...row.told } as const) : null;
  const status = blockerStatus(told ?? toBlockerFacts(row, number));
  // Of a repository that the App left nobody hears any more; what was completed before stays so.
  const isUnheard = isElsewhere && told === null && status !== "satisfied";
  return {
    number: isHere ? number : null,
    target: isHere || row.repository === null ? row.target : `repo/${row.repository}/${row.target}`,
    status: isUnheard ? "unknown" : status,
    stall:
      status !== "stalled"
        ? null
        : stallOf(
            told ? { state: null, reason: told.stateReason } : { state: row.state, reason: row.issueReason },
          ),
    rulingOwner: row.rulingOwner,
    question: row.question,
  };
}

function toCycle({ relation, since, members }: CycleRow, repositoryId: number, number: number): Cycle {
  const first = members.findIndex(
    (member) => member.repositoryId === repositoryId && member.number === number,
  );
  const names = startingAt(members, Math.max(first, 0)).map((member) =>
    member.repositoryId === repositoryId
      ? `#${member.number}`
      : `${member.repository ?? member.repositoryId}#${member.number}`,
  );
  return { relation, members: names, since: new Date(since) };
}

function toBlockerFacts(row: BlockerRow, number: number | null): BlockerFacts {
  if (row.repositoryId === 0) return { kind: "unknown" };
  if (number === null || row.issueOpen === null) return { kind: "missing" };
  if (row.isItem) return { kind: "item", state: row.state, tags: row.tags ?? [] };
  return { kind: "issue", open: row.issueOpen, stateReason: row.issueReason };
}

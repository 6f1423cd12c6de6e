/**
 * GitHub's events about its own links (github-cases 62, 63): a sub-issue is a `partOf` edge, "blocked by" a
 * `blockedBy` edge. Each edge causes two, one in either end's repository; either suffices.
 */

import {
  type IssueDependenciesPayload,
  type LinkedIssue,
  type SubIssuesPayload,
  wholeIssue,
} from "../contract/link-payloads.ts";
import { decideEdge, type EdgeNews, type NativeRelation } from "../domain/native-edges.ts";
import type { LinkTarget } from "../domain/record-key.ts";
import { isDeleted } from "../github/failure.ts";
import { listBlockedBy, listBlocking, listSubIssues, readParent } from "../github/link-reads.ts";
import { type NativeEdge, nativeEdgesOf } from "../store/native-links.ts";
import type { Deps } from "./deps.ts";
import { knownRepository } from "./known-repository.ts";
import {
  askable,
  findPlace,
  hiddenTarget,
  issueAt,
  type NamedEnd,
  type Place,
  targetOf,
} from "./link-ends.ts";
import { introduceClosed, lockIssueEdges, putEdges } from "./native-edges.ts";
import { ChangedMeanwhile, settleDelivery } from "./settle-delivery.ts";
import { clientOf } from "./supervise-requests.ts";

/** What a delivery says: whose edge, and what it points at. */
interface LinkNews {
  readonly relation: NativeRelation;
  readonly present: boolean;
  /** The sub-issue, or the blocked issue. */
  readonly end: NamedEnd;
  /** The parent, or the blocker. */
  readonly target: NamedEnd;
}

export function applySubIssues(deps: Deps, seq: number, payload: SubIssuesPayload): Promise<void> {
  const here = payload.repository ?? null;
  const isOfParent = payload.action.startsWith("sub_issue_");
  return applyLink(deps, seq, payload, {
    relation: "partOf",
    present: payload.action.endsWith("_added"),
    end: namedEnd(
      payload.sub_issue_id,
      payload.sub_issue,
      isOfParent ? (payload.sub_issue_repo ?? null) : here,
    ),
    target: namedEnd(
      payload.parent_issue_id,
      payload.parent_issue,
      isOfParent ? here : (payload.parent_issue_repo ?? null),
    ),
  });
}

export function applyDependencies(deps: Deps, seq: number, payload: IssueDependenciesPayload): Promise<void> {
  const here = payload.repository ?? null;
  const isOfBlocked = payload.action.startsWith("blocked_by_");
  return applyLink(deps, seq, payload, {
    relation: "blockedBy",
    present: payload.action.endsWith("_added"),
    end: namedEnd(
      payload.blocked_issue_id,
      payload.blocked_issue,
      isOfBlocked ? here : (payload.blocked_issue_repo ?? null),
    ),
    target: namedEnd(
      payload.blocking_issue_id,
      payload.blocking_issue,
      isOfBlocked ? (payload.blocking_issue_repo ?? null) : here,
    ),
  });
}

const namedEnd = (
  id: number | null | undefined,
  issue: LinkedIssue | null | undefined,
  repository: NamedEnd["repository"],
): NamedEnd => ({ id: id ?? issue?.id ?? null, issue: issue ?? null, repository });

const ACTIONS = /^(sub_issue|parent_issue|blocked_by|blocking)_(added|removed)$/;

/** Doing it again, late or out of order changes nothing more. */
async function applyLink(
  deps: Deps,
  seq: number,
  payload: SubIssuesPayload | IssueDependenciesPayload,
  news: LinkNews,
): Promise<void> {
  const repository = await knownRepository(deps, payload);
  const found = ACTIONS.test(payload.action) && repository ? await findEdge(deps, news) : null;
  // A pull request is no item, and GitHub links none; an end of which nothing is known makes no edge.
  if (found === null || news.end.issue?.pull_request || news.target.issue?.pull_request) {
    return settleDelivery(deps, seq, async () => {});
  }
  const { from, target, targetPlace } = found;
  // The id of an issue that was transferred since is not its id any more.
  const targetId = targetPlace?.moved ? null : news.target.id;
  const said: EdgeNews = { relation: news.relation, present: news.present, ...timesOf(news) };
  const before = await nativeEdgesOf(deps.db, from, news.relation);
  const to = { ...target, targetId };
  const isAsked = decide(said, to, before, null).kind === "ask";
  const answer = isAsked ? await askWhether(deps, news, found) : null;

  await settleDelivery(deps, seq, async (trx) => {
    await lockIssueEdges(trx, from);
    const known = await nativeEdgesOf(trx, from, news.relation);
    const isAsBefore = JSON.stringify(known) === JSON.stringify(before);
    const decision = decide(said, to, known, isAsBefore ? answer : null);
    if (decision.kind === "ask") throw new ChangedMeanwhile();
    if (targetPlace) {
      await introduceClosed(trx, targetPlace, news.target.issue && wholeIssue(news.target.issue));
    }
    const { replacesOthers, present, saidAt, endAt } = decision;
    const replaced = known.filter(
      (edge) =>
        edge.present &&
        !isTo(edge, to) &&
        (replacesOthers || (targetId !== null && edge.targetId === targetId)),
    );
    await putEdges(trx, from, [
      ...replaced.map((edge) => ({ ...edge, present: false, endAt, saidAt: newest(edge.saidAt, saidAt) })),
      { relation: news.relation, ...to, present, saidAt, endAt },
    ]);
  });
}

const isTo = (edge: LinkTarget, target: LinkTarget): boolean =>
  edge.repositoryId === target.repositoryId && edge.target === target.target;

const newest = (a: Date, b: Date): Date => (a > b ? a : b);

type Aim = LinkTarget & Pick<NativeEdge, "targetId">;

/** The same edge may be known under another address: its repository was renamed, or where it is was hidden. */
function decide(said: EdgeNews, to: Aim, known: readonly NativeEdge[], answer: boolean | null) {
  const isAlias = (edge: NativeEdge) => to.targetId !== null && edge.targetId === to.targetId;
  const same = known.find((edge) => isTo(edge, to)) ?? known.find(isAlias) ?? null;
  return decideEdge(
    said,
    same,
    known.filter((edge) => edge !== same),
    answer,
  );
}

/** An end without a time counts as very old: anything else said of the edge is then settled by asking. */
function timesOf({ end, target }: LinkNews): { saidAt: Date; endAt: Date } {
  const timeOf = ({ issue }: NamedEnd) => new Date(issue?.updated_at ?? 0);
  return { saidAt: newest(timeOf(end), timeOf(target)), endAt: timeOf(end) };
}

interface FoundEdge {
  readonly from: { readonly repositoryId: number; readonly number: number };
  readonly fromPlace: Place;
  readonly target: LinkTarget;
  readonly targetPlace: Place | null;
}

/** Finds both ends, asking GitHub for one that the payload left out. Null: it cannot be known whose edge it is. */
async function findEdge(deps: Deps, news: LinkNews): Promise<FoundEdge | null> {
  const direct = await findPlace(deps.db, news.target);
  const fromPlace = (await findPlace(deps.db, news.end)) ?? (await listedEnd(deps, news, direct));
  const from = fromPlace && issueAt(fromPlace);
  if (!fromPlace || !from) return null;
  const targetPlace = direct ?? (await listedTarget(deps, news, fromPlace));
  if (targetPlace) return { from, fromPlace, target: targetOf(targetPlace), targetPlace };
  if (news.target.id === null) return null;
  const known = await nativeEdgesOf(deps.db, from, news.relation);
  const stored = known.find((edge) => edge.targetId === news.target.id);
  const { repositoryId, target } = stored ?? hiddenTarget(news.target.id);
  // A parent that nobody can see groups nothing.
  if (!stored && news.relation === "partOf") return null;
  return { from, fromPlace, target: { repositoryId, target }, targetPlace: null };
}

async function listedTarget(deps: Deps, news: LinkNews, from: Place): Promise<Place | null> {
  const at = askable(from);
  if (!at || !news.present) return null;
  const client = await clientOf(deps, at.installationId);
  const listed =
    news.relation === "blockedBy"
      ? await listBlockedBy(client, at.repository, at.number)
      : [await readParent(client, at.repository, at.number)];
  return placeListed(deps, listed, news.target.id);
}

async function listedEnd(deps: Deps, news: LinkNews, target: Place | null): Promise<Place | null> {
  const at = askable(target);
  if (!at) return null;
  const client = await clientOf(deps, at.installationId);
  const list = news.relation === "blockedBy" ? listBlocking : listSubIssues;
  return placeListed(deps, await list(client, at.repository, at.number), news.end.id);
}

async function placeListed(
  deps: Deps,
  listed: readonly (LinkedIssue | null)[],
  id: number | null,
): Promise<Place | null> {
  const issue = listed.find((row) => row !== null && row.id === id);
  return issue ? findPlace(deps.db, { id, issue, repository: null }) : null;
}

/** Whether GitHub has the edge now. Asked in the repository of either end, wherever the App is. */
async function askWhether(
  deps: Deps,
  news: LinkNews,
  { fromPlace, targetPlace }: FoundEdge,
): Promise<boolean> {
  const near = askable(fromPlace);
  const far = askable(targetPlace);
  const at = near ?? far;
  if (at === null) return news.present;
  const client = await clientOf(deps, at.installationId);
  const { repository, number } = at;
  const isBlocked = news.relation === "blockedBy";
  try {
    if (near === null) {
      const rows = await (isBlocked ? listBlocking : listSubIssues)(client, repository, number);
      return isListed(rows, news.end.id, fromPlace);
    }
    const rows = isBlocked
      ? await listBlockedBy(client, repository, number)
      : [await readParent(client, repository, number)];
    return isListed(rows, news.target.id, targetPlace);
  } catch (error) {
    if (isDeleted(error)) return false;
    throw error;
  }
}

const isListed = (rows: readonly (LinkedIssue | null)[], id: number | null, place: Place | null): boolean =>
  rows.some(
    (row) =>
      row !== null &&
      (row.id === id ||
        (row.number === place?.number &&
          (row.repository_url ?? "").toLowerCase().endsWith(`/repos/${place.fullName.toLowerCase()}`))),
  );

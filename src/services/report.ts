/** "Where are we?": the ready set with its reasons, who works on what, and what needs a human. */

import { MOST_COUNTED } from "../contract/items.ts";
import type { Report, ReportQuery } from "../contract/report.ts";
import type { Defect } from "../domain/defects.ts";
import { isHeld } from "../domain/lease.ts";
import { recordedPulls } from "../domain/own-pull.ts";
import { checksOf } from "../domain/pull-checks.ts";
import { type ReadySet, readySet } from "../domain/ready-set.ts";
import { namesOf, reportSentences } from "../domain/report.ts";
import type { View } from "../domain/scope.ts";
import { tagValue } from "../domain/tags.ts";
import type { ItemFacts } from "../domain/why-not.ts";
import { databaseNow } from "../store/clock.ts";
import { findHandover } from "../store/handover.ts";
import { listDefects } from "../store/item-checks.ts";
import { openItems } from "../store/item-facts.ts";
import type { ItemView } from "../store/item-view.ts";
import type { Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { defectBody, reasonBodies } from "./item-body.ts";
import { flightElsewhere } from "./ready-below.ts";
import { ownOf } from "./resume-pack.ts";
import { withhold, withholdDefects } from "./withhold.ts";

export async function report(
  deps: Deps,
  repository: Repository,
  { limit }: ReportQuery,
  view: View,
): Promise<Report> {
  const page = await openItems(deps.db, repository.id, repository.settings, view);
  const items = await withhold(deps.db, view, repository.id, page.items);
  const views = new Map(items.map((item) => [item.facts.number, item]));
  const asker = { now: page.now, region: null };
  const { elsewhere, isSeen } = await flightElsewhere(deps, repository, view);
  const whole = readySet(
    items.map(({ facts }) => facts),
    items.flatMap((item) => item.defects),
    asker,
    elsewhere,
  );
  const overlapping = whole.overlapping.map((item) => ({ ...item, with: item.with.filter(isSeen) }));
  const set: ReadySet = { ...whole, overlapping };
  const named = (number: number) => {
    const view = views.get(number);
    return { number, title: view?.title ?? "", url: view?.url ?? "" };
  };
  const parked = items.filter(({ facts }) => facts.enrolled && facts.state === "parked");
  const [kept, apart] = await Promise.all([
    defectsSeen(deps, repository, limit, view),
    defectsSeen(deps, repository, limit, view, Object.keys(SIDES)),
  ]);
  const anchored = items.filter(
    ({ facts, anchoring }) => facts.state === null && anchoring.state !== "none",
  ).length;
  const total = (rows: readonly unknown[]): number => Math.min(rows.length, MOST_COUNTED);
  return {
    repository: `${repository.owner}/${repository.name}`,
    // No item, and nobody told the time.
    at: (page.items.length === 0 ? await databaseNow(deps.db) : page.now).toISOString(),
    verdict: set.verdict,
    summary: reportSentences({
      ...set,
      parked: parked.map(({ facts }) => ({ number: facts.number, question: facts.question })),
      defects: kept.defects,
    }),
    inFlight: await Promise.all(
      set.inFlight.slice(0, limit).flatMap(({ number }) => {
        const view = views.get(number);
        return view ? [flight(deps, repository, view, page.now)] : [];
      }),
    ),
    ready: set.ready.slice(0, limit).map((facts, index) => ({
      ...named(facts.number),
      priority: tagValue(facts.tags, "priority:"),
      why: whyHere(facts, index),
    })),
    overlapping: set.overlapping
      .slice(0, limit)
      .map((item) => ({ ...named(item.number), with: [...item.with] })),
    blocked: set.waiting.slice(0, limit).flatMap(({ number, reasons }) => {
      const facts = views.get(number)?.facts;
      if (!facts) return [];
      const bodies = reasonBodies(repository, facts, reasons, page.now);
      const told = new Set(blockerDefects(views.get(number)));
      const why = bodies.flatMap(({ detail }) => (told.has(detail) ? [] : detail)).join("; ");
      return { ...named(number), reasons: bodies, why };
    }),
    parked: parked.slice(0, limit).map((view) => ({
      ...named(view.facts.number),
      reason: view.parkReason,
      rulingOwner: view.facts.rulingOwner,
      question: view.facts.question,
      attempts: view.attempts.count,
    })),
    awaitingAdmission: set.awaitingAdmission.slice(0, limit).map((number) => {
      const view = views.get(number);
      const since = (view?.facts.createdAt ?? page.now).toISOString();
      return { ...named(number), author: view?.author ?? null, since };
    }),
    defects: kept.defects.map(defectBody),
    divergences: apart.defects.flatMap(divergenceOf),
    anchors: {
      anchored,
      pending: set.pending,
      percent: set.pending === 0 ? 100 : Math.floor((100 * anchored) / set.pending),
    },
    totals: {
      ...countsOf(set, total),
      parked: total(parked),
      defects: kept.total,
      divergences: apart.total,
    },
  };
}

/** What these say of a blocker is said with the reason that it is in the way. */
const blockerDefects = (item: ItemView | undefined): string[] =>
  (item?.defects ?? [])
    .filter(({ code }) => code === "stalled_blocker" || code === "dangling_blocker")
    .map(({ detail }) => detail);

async function defectsSeen(
  { db }: Deps,
  { id }: Repository,
  limit: number,
  view: View,
  codes: readonly string[] | null = null,
) {
  const { defects, total } = await listDefects(db, id, limit, MOST_COUNTED, view, codes);
  return { defects: await withholdDefects(db, view, id, defects), total };
}

const countsOf = (set: ReadySet, total: (rows: readonly unknown[]) => number) => ({
  pending: Math.min(set.pending, MOST_COUNTED),
  ready: total(set.ready),
  overlapping: total(set.overlapping),
  waiting: total(set.waiting),
  inFlight: total(set.inFlight),
  awaitingAdmission: total(set.awaitingAdmission),
});

async function flight(deps: Deps, repository: Repository, view: ItemView, now: Date) {
  const { facts } = view;
  const { resume, pulls } = await findHandover(deps.db, repository.id, facts.number);
  const recorded = recordedPulls(pulls, { ...facts, location: resume }, repository);
  const item = { repositoryId: repository.id, number: facts.number, recorded };
  const own = await ownOf(deps.db, item, pulls);
  return {
    number: facts.number,
    title: view.title,
    url: view.url,
    owner: facts.claim?.owner ?? "",
    attempt: view.attempts.count,
    leaseExpiresAt: (facts.claim?.leaseExpiresAt ?? now).toISOString(),
    isHeld: isHeld(facts.claim, now),
    branch: resume?.branch ?? own?.headRef ?? null,
    resumeNote: resume?.note ?? null,
    pullRequest: own ? { number: own.number, url: own.url, checks: checksOf(own.checks) } : null,
  };
}

/** Why it stands where it does in the list. */
function whyHere(facts: ItemFacts, index: number): string {
  const priority = tagValue(facts.tags, "priority:") ?? "no priority";
  const age = `filed ${facts.createdAt.toISOString().slice(0, 10)}`;
  const freed = facts.blockers.flatMap(({ number }) => (number === null ? [] : [number]));
  const because = freed.length > 0 ? `, freed by ${namesOf(freed)}` : "";
  return `${index === 0 ? "first: " : ""}${priority}, ${age}${because}`;
}

/** Where the two stores disagree: what each of them says. */
const SIDES: Readonly<Record<string, readonly [github: string, leasehold: string]>> = {
  issue_closed_item_live: ["closed", "live"],
  item_complete_issue_open: ["open", "complete or cancelled"],
  claimed_but_unmarked: ["no claim marker", "granted claims"],
  marker_without_grant: ["claim markers", "fewer grants"],
  complete_with_open_pr: ["an open pull request", "complete"],
  doubtful_merge: ["what looks like its merge", "live"],
};

function divergenceOf({ code, number, detail }: Defect): Report["divergences"] {
  const both = SIDES[code];
  return both ? [{ number, github: both[0], leasehold: both[1], detail }] : [];
}

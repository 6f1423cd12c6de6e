/** An item as callers see it. */

import type { ItemBody, ReasonBody } from "../contract/items.ts";
import { staleness } from "../domain/anchors.ts";
import { isPoison } from "../domain/attempts.ts";
import type { Defect } from "../domain/defects.ts";
import { roleOf } from "../domain/item-state.ts";
import { isHeld } from "../domain/lease.ts";
import { isResumable, type ReadyReason, whyNotReady } from "../domain/ready-set.ts";
import { reasonText } from "../domain/reason-text.ts";
import { itemOfTarget, itemRef, recordKey } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import { isPhase, isPriority, tagValue } from "../domain/tags.ts";
import { type Asker, type ItemFacts, roleFacts } from "../domain/why-not.ts";
import type { Db } from "../store/database.ts";
import { defectTimes } from "../store/item-checks.ts";
import type { Repository } from "../store/repositories.ts";
import { placeOf, visibleItems } from "../store/resources.ts";
import { printAnchors, printLinks } from "./record-links.ts";
import { resumeBlock } from "./resume-pack.ts";
import type { SeenItem } from "./withhold.ts";

export const defectBody = (defect: Defect) => ({ ...defect, since: defect.since.toISOString() });

export async function itemBody(
  db: Db,
  repository: Repository,
  item: SeenItem,
  asker: Asker,
  view: View | null = null,
): Promise<ItemBody> {
  const [body] = await itemBodies(db, repository, [item], asker, view);
  if (body === undefined) throw new Error("an item has one body");
  return body;
}

/** Several items: what is asked besides their views is asked of all at once. */
export async function itemBodies(
  db: Db,
  repository: Repository,
  items: readonly SeenItem[],
  asker: Asker,
  view: View | null = null,
): Promise<ItemBody[]> {
  const flawed = items.filter(({ defects }) => defects.length > 0).map(({ facts }) => facts.number);
  const times = await defectTimes(db, repository.id, flawed);
  return Promise.all(items.map((item) => bodyOf(db, repository, item, asker, { times, view })));
}

interface Around {
  readonly times: ReadonlyMap<string, Date>;
  /** Null: nobody in particular, who is told of no other item. */
  readonly view: View | null;
}

async function bodyOf(
  db: Db,
  repository: Repository,
  item: SeenItem,
  asker: Asker,
  { times, view }: Around,
): Promise<ItemBody> {
  const { facts } = item;
  const held = isHeld(facts.claim, asker.now);
  const reasons = whyNotReady(facts, item.defects, asker);
  const priority = tagValue(facts.tags, "priority:");
  const phase = tagValue(facts.tags, "phase:");
  const ref = itemRef(repository.id, facts.number);
  const since = (defect: Defect): Defect => ({
    ...defect,
    since: times.get(`${facts.number} ${defect.code} ${defect.value}`) ?? defect.since,
  });
  const epic = item.links.find((link) => link.relation === "partOf" && link.repositoryId === repository.id);
  return {
    key: recordKey(repository, ref.topic, ref.id),
    number: facts.number,
    title: item.title,
    url: item.url,
    state: facts.state,
    role: roleOf(roleFacts(facts, asker.now)),
    issueState: facts.issueOpen ? "open" : "closed",
    stateReason: item.stateReason,
    labels: [...item.labels],
    tags: [...facts.tags],
    links: await printLinks(db, repository, item.links),
    priority: priority !== null && isPriority(priority) ? priority : null,
    phase: phase !== null && isPhase(phase) ? phase : null,
    baseBranch: tagValue(facts.tags, "baseBranch:"),
    homeRegion: tagValue(facts.tags, "homeRegion:"),
    epic: epic ? itemOfTarget(epic.target) : null,
    admitted: facts.admitted,
    admittedBy: item.admittedBy,
    author: item.author,
    isClaimed: held,
    attempts: {
      markers: item.attempts.markers,
      grants: item.attempts.grants,
      threshold: facts.threshold,
      poison: isPoison(item.attempts.count, facts.threshold),
      reading: item.attempts.reading,
    },
    resume: item.resume && resumeBlock(item.resume),
    // Of use only to who may claim it now.
    resumable: isResumable(facts) && reasons.length === 0,
    stale: staleness(item.anchoring),
    staleLinks: await printAnchors(db, repository, item.anchoring.drifted),
    anchors: item.anchoring.state,
    resourceLeases: await leasesOf(db, repository, item, view),
    defects: item.defects.map((defect) => defectBody(since(defect))),
    reasons: reasonBodies(repository, facts, reasons, asker.now),
    createdAt: facts.createdAt.toISOString(),
    updatedAt: item.updatedAt.toISOString(),
  };
}

async function leasesOf(db: Db, repository: Repository, { facts, resources }: SeenItem, view: View | null) {
  const others = resources.flatMap(({ held, lease }) => (held || lease === null ? [] : lease));
  const isAsked = view !== null && others.length > 0;
  const seen = isAsked ? await visibleItems(db, view, others) : new Map<string, string>();
  const ref = itemRef(repository.id, facts.number);
  return resources.map(({ key, mode, held, lease }) => ({
    key,
    mode,
    held,
    holderItem: held
      ? recordKey(repository, ref.topic, ref.id)
      : ((lease && seen.get(placeOf(lease.holder))) ?? null),
    expiresAt: lease?.expiresAt.toISOString() ?? null,
  }));
}

/** Reasons as callers see them: each with what a person has to know of it. */
export const reasonBodies = (
  { settings }: Pick<Repository, "settings">,
  facts: ItemFacts,
  reasons: readonly ReadyReason[],
  now: Date,
): ReasonBody[] =>
  reasons.map((reason) => {
    const detail = reasonText(reason, facts, { now, labels: settings.labels });
    if (reason.reason === "defect") return { ...reason, detail };
    const { on, resources, ...rest } = reason;
    return {
      ...rest,
      ...(on ? { on: [...on] } : {}),
      ...(resources ? { resources: [...resources] } : {}),
      detail,
    };
  });

/** What happened, as those who follow it are told (api.md, "Resources, tokens, events"). */

import type { ItemAt } from "./scope.ts";

export const EVENT_TYPES = [
  "item.enrolled",
  "item.updated",
  "item.admitted",
  "item.unadmitted",
  "item.claimed",
  "item.released",
  "item.parked",
  "item.unparked",
  "item.completed",
  "item.cancelled",
  "item.reopened",
  "item.role_changed",
  "dependency.added",
  "dependency.removed",
  "memory.written",
  "memory.forgotten",
  "resource.acquired",
  "resource.released",
  "defect.opened",
  "defect.closed",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** An event of the log. */
export interface LogEvent {
  /** Its place in the log: a later event has a higher one, over all repositories. */
  readonly id: number;
  readonly type: EventType;
  readonly repositoryId: number;
  /** `owner/name`, as it is now. */
  readonly repo: string;
  /** The item, or the pull request of a defect; null for memory. */
  readonly number: number | null;
  readonly at: Date;
  /** What its type tells besides (docs/design.md, "Events"). */
  readonly data: Readonly<Record<string, unknown>>;
  /** The item at the other end of an edge, which must be reached too; `null`: it tells of no other item. */
  readonly other: ItemAt | "not_known" | null;
}

/** What a client gets of it. */
export function eventBody({ id, type, repo, number, at, data }: LogEvent): Record<string, unknown> {
  return { ...data, id, type, repo, number, at: at.toISOString() };
}

const nameOf = ({ repositoryId, number }: ItemAt): string => `${repositoryId}/${number}`;

/** The items that must be reached by whoever is told of the events. */
export function itemsOf(events: readonly LogEvent[]): ItemAt[] {
  const items = events.flatMap(({ repositoryId, number, other }) => [
    ...(number === null ? [] : [{ repositoryId, number }]),
    ...(other === null || other === "not_known" ? [] : [other]),
  ]);
  return [...new Map(items.map((item) => [nameOf(item), item])).values()];
}

/**
 * Those of the events that a scope may be told of, given the items of them that it reaches: both ends of an edge, and
 * nothing that is about no item.
 */
export function within(events: readonly LogEvent[], reached: readonly ItemAt[]): LogEvent[] {
  const names = new Set(reached.map(nameOf));
  return events.filter(
    ({ repositoryId, number, other }) =>
      number !== null &&
      names.has(nameOf({ repositoryId, number })) &&
      (other === null || (other !== "not_known" && names.has(nameOf(other)))),
  );
}

/** Those of the events that tell of nothing outside of these repositories; null: of any. */
export function tellsOnlyOf(
  events: readonly LogEvent[],
  repositories: ReadonlySet<number> | null,
): readonly LogEvent[] {
  if (repositories === null) return events;
  return events.filter(
    ({ repositoryId, other }) =>
      repositories.has(repositoryId) &&
      (other === null || (other !== "not_known" && repositories.has(other.repositoryId))),
  );
}

/** Who may be told of an event: both ends of an edge must be reached, and a scope reaches items only. */

import { describe, expect, it } from "vitest";
import {
  type EventType,
  eventBody,
  itemsOf,
  type LogEvent,
  tellsOnlyOf,
  within,
} from "../../src/domain/events.ts";

const event = (more: Partial<LogEvent>): LogEvent => ({
  id: 1,
  type: "item.updated" as EventType,
  repositoryId: 10,
  repo: "acme/widgets",
  number: 7,
  at: new Date("2026-01-06T00:00:00Z"),
  data: {},
  other: null,
  ...more,
});
const at = (repositoryId: number, number: number) => ({ repositoryId, number });

describe("within a scope", () => {
  it.each<[string, Partial<LogEvent>, ReturnType<typeof at>[], boolean]>([
    ["a reached item", {}, [at(10, 7)], true],
    ["an item that is not reached", {}, [at(10, 8)], false],
    ["the same number of another repository", {}, [at(11, 7)], false],
    ["what is about no item", { number: null }, [at(10, 7)], false],
    ["an edge of which both ends are reached", { other: at(10, 8) }, [at(10, 7), at(10, 8)], true],
    ["an edge of which the other end is not", { other: at(10, 8) }, [at(10, 7)], false],
    ["an edge of which this end is not", { other: at(10, 8) }, [at(10, 8)], false],
    ["an edge to a repository that is not known", { other: "not_known" }, [at(10, 7)], false],
  ])("%s", (_, more, reached, is) => expect(within([event(more)], reached)).toHaveLength(is ? 1 : 0));
});

describe("of some repositories", () => {
  it.each<[string, Partial<LogEvent>, number[] | null, boolean]>([
    ["of all", {}, null, true],
    ["one of them", {}, [10], true],
    ["another", {}, [11], false],
    ["memory of one of them", { number: null }, [10], true],
    ["an edge within them", { other: at(11, 8) }, [10, 11], true],
    ["an edge out of them", { other: at(11, 8) }, [10], false],
    ["an edge to one that is not known", { other: "not_known" }, [10], false],
    ["an edge to one that is not known, for who sees all", { other: "not_known" }, null, true],
  ])("%s", (_, more, repositories, is) =>
    expect(tellsOnlyOf([event(more)], repositories && new Set(repositories))).toHaveLength(is ? 1 : 0),
  );
});

it("asks about each item once, the other ends too", () => {
  const events = [
    event({}),
    event({ other: at(11, 8) }),
    event({ number: null }),
    event({ other: "not_known" }),
  ];
  expect(itemsOf(events)).toEqual([at(10, 7), at(11, 8)]);
});

it("what an event is cannot be overwritten by what it tells", () => {
  expect(
    eventBody(event({ data: { id: 99, type: "x", repo: "y", number: 3, at: "never", owner: "w" } })),
  ).toEqual({
    owner: "w",
    id: 1,
    type: "item.updated",
    repo: "acme/widgets",
    number: 7,
    at: "2026-01-06T00:00:00.000Z",
  });
});

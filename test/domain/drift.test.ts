/** Where two sides differ, field by field. */

import { expect, it } from "vitest";
import { fieldDrift } from "../../src/domain/drift.ts";

it.each<[string, object, object, object[]]>([
  ["the same", { a: 1, b: null }, { a: 1, b: null }, []],
  ["another value", { a: 1 }, { a: 2 }, [{ field: "a", store: 1, github: 2 }]],
  ["nothing on one side", {}, { a: "x" }, [{ field: "a", store: null, github: "x" }]],
  ["names in another order", { labels: ["a", "b"] }, { labels: ["b", "a"] }, []],
  [
    "a name more",
    { labels: ["a"] },
    { labels: ["b", "a"] },
    [{ field: "labels", store: ["a"], github: ["a", "b"] }],
  ],
  ["the same time", { at: new Date(5) }, { at: new Date(5) }, []],
  [
    "another time",
    { at: new Date(0) },
    { at: new Date(1000) },
    [{ field: "at", store: "1970-01-01T00:00:00.000Z", github: "1970-01-01T00:00:01.000Z" }],
  ],
  ["parts, in any order", { of: { x: 1, y: 2 } }, { of: { y: 2, x: 1 } }, []],
  ["what GitHub does not tell is no difference", { more: 1 }, {}, []],
])("%s", (_, store, github, expected) => {
  expect(fieldDrift({ ...store }, { ...github })).toEqual(expected);
});

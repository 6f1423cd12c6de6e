import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BodyEdit, type BodyTrail, followBody, UNOPENED } from "../../src/domain/body-trail.ts";

const T1 = new Date("2026-09-06T10:00:00Z");
const T2 = new Date("2026-09-06T10:05:00Z");

const untold = (told: string, edits: readonly BodyEdit[], untoldAsOf: Date | null = T1): BodyTrail => ({
  told,
  edits,
  untoldAsOf,
});
const step = (from: string, to: string): BodyEdit => ({ from, to });

describe("the trail of a text", () => {
  const cases: readonly {
    what: string;
    trail: BodyTrail | null;
    news: { before: string; after: string; edit?: BodyEdit; at?: Date };
    left: BodyTrail | null;
  }[] = [
    {
      what: "an edit that tells of the text that the mirror gets",
      trail: null,
      news: { before: "a", after: "b", edit: step("a", "b") },
      left: null,
    },
    {
      what: "another event brings a text",
      trail: null,
      news: { before: "a", after: "b" },
      left: untold("a", []),
    },
    {
      what: "the edit comes after the event that brought its text",
      trail: untold("a", []),
      news: { before: "b", after: "b", edit: step("a", "b"), at: T2 },
      left: null,
    },
    {
      what: "an edit before the one that was heard of is missing",
      trail: null,
      news: { before: "a", after: "c", edit: step("b", "c") },
      left: untold("a", [step("b", "c")]),
    },
    {
      what: "the missing one comes",
      trail: untold("a", [step("b", "c")]),
      news: { before: "c", after: "c", edit: step("a", "b"), at: T2 },
      left: null,
    },
    {
      what: "only the later of two missing ones comes",
      trail: untold("a", []),
      news: { before: "c", after: "c", edit: step("b", "c"), at: T2 },
      left: untold("a", [step("b", "c")]),
    },
    {
      what: "a later text does not make the earlier one told of",
      trail: untold("a", []),
      news: { before: "b", after: "c", edit: step("b", "c"), at: T2 },
      left: untold("a", [step("b", "c")]),
    },
    {
      what: "the text is again what was told of",
      trail: untold("a", []),
      news: { before: "b", after: "a", edit: step("b", "a"), at: T2 },
      left: null,
    },
    {
      what: "an edit comes twice, long after",
      trail: null,
      news: { before: "c", after: "c", edit: step("a", "b") },
      left: null,
    },
    {
      what: "an edit leads beyond the text that the mirror has yet",
      trail: untold("a", [step("b", "c")]),
      news: { before: "c", after: "b", edit: step("a", "b"), at: T2 },
      left: untold("b", [step("b", "c")], null),
    },
    {
      what: "and the mirror gets there",
      trail: untold("b", [step("b", "c")], null),
      news: { before: "b", after: "c", at: T2 },
      left: null,
    },
  ];
  const unheard = [
    {
      what: "an issue is heard of by something else than its opening",
      trail: null,
      news: { before: UNOPENED, after: "a" },
      left: untold(UNOPENED, [], null),
    },
    {
      what: "and then of its opening",
      trail: untold(UNOPENED, [], null),
      news: { before: "a", after: "a", edit: step(UNOPENED, "a"), at: T2 },
      left: null,
    },
    {
      what: "it was opened with another text",
      trail: untold(UNOPENED, [], null),
      news: { before: "b", after: "b", edit: step(UNOPENED, "a"), at: T2 },
      left: untold(UNOPENED, [step(UNOPENED, "a")], T2),
    },
    {
      what: "an edit is the first that is heard of it",
      trail: null,
      news: { before: UNOPENED, after: "c", edit: step("b", "c") },
      left: untold(UNOPENED, [step("b", "c")]),
    },
    {
      what: "an edit in its order follows the text that was heard of first",
      trail: untold(UNOPENED, [], null),
      news: { before: "a", after: "b", edit: step("a", "b"), at: T2 },
      left: untold(UNOPENED, [step("a", "b")], null),
    },
    {
      what: "another event brings another text than the one that was heard of first",
      trail: untold(UNOPENED, [], null),
      news: { before: "a", after: "b", at: T2 },
      left: untold(UNOPENED, [], T2),
    },
    {
      what: "nothing new is heard of a text that nobody told of",
      trail: untold(UNOPENED, [], T1),
      news: { before: "c", after: "c", at: T2 },
      left: untold(UNOPENED, [], T1),
    },
  ];
  for (const { what, trail, news, left } of [...cases, ...unheard]) {
    it(what, () => {
      const found = followBody(trail, { edit: null, at: T1, ...news });
      expect(found).toEqual(left);
    });
  }

  /** Texts one after the other, the last of which another event has brought; the edits arrive in any order, some twice. */
  const histories = fc.integer({ min: 1, max: 12 }).chain((count) =>
    fc.record({
      count: fc.constant(count),
      order: fc.shuffledSubarray(
        Array.from({ length: count }, (_, place) => place),
        { minLength: count, maxLength: count },
      ),
      lost: fc.integer({ min: 0, max: count - 1 }),
    }),
  );
  const arrive = (count: number, order: readonly number[]): BodyTrail | null => {
    const last = `text ${count}`;
    let trail = followBody(null, { before: "text 0", after: last, edit: null, at: T1 });
    for (const place of [...order, ...order.slice(0, 2)]) {
      const edit = step(`text ${place}`, `text ${place + 1}`);
      trail = followBody(trail, { before: last, after: last, edit, at: T2 });
    }
    return trail;
  };

  it("is whole when every edit was told of, in whatever order", () => {
    fc.assert(fc.property(histories, ({ count, order }) => arrive(count, order) === null));
  });

  it("is not whole while one edit is missing", () => {
    fc.assert(
      fc.property(histories, ({ count, order, lost }) => {
        const heard = order.filter((place) => place !== lost);
        return arrive(count, heard)?.untoldAsOf?.getTime() === T1.getTime();
      }),
    );
  });

  it("keeps no more than the fifty newest of an issue that is edited without end", () => {
    let trail: BodyTrail | null = null;
    for (let n = 1; n <= 80; n += 1)
      trail = followBody(trail, { before: `${n - 1}`, after: `${n}`, edit: step(`${n}-`, `${n}`), at: T1 });
    expect(trail?.edits).toHaveLength(50);
    expect(trail?.edits.at(-1)).toEqual(step("80-", "80"));
  });
});

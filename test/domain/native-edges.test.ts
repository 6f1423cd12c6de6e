import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compareWithList,
  decideEdge,
  type EdgeDecision,
  type EdgeNews,
  type KnownEdge,
} from "../../src/domain/native-edges.ts";
import { at } from "./facts.ts";

const news = (present: boolean, seconds: number, relation: EdgeNews["relation"] = "blockedBy"): EdgeNews => ({
  relation,
  present,
  saidAt: at(seconds),
  endAt: at(seconds),
});
const known = (present: boolean, seconds: number): KnownEdge => ({
  present,
  saidAt: at(seconds),
  endAt: at(seconds),
});
const set = (present: boolean, seconds: number, replacesOthers = false) => ({
  kind: "set",
  present,
  saidAt: at(seconds),
  endAt: at(seconds),
  replacesOthers,
});

describe("row 62: what a delivery says of an edge", () => {
  it.each<[string, EdgeNews, KnownEdge | null, KnownEdge[], boolean | null, object]>([
    ["unknown so far", news(true, 5), null, [], null, set(true, 5)],
    ["removed before it was heard of", news(false, 5), null, [], null, set(false, 5)],
    ["the second of two events", news(true, 5), known(true, 5), [], null, set(true, 5)],
    ["newer", news(false, 6), known(true, 5), [], null, set(false, 6)],
    ["said again, older", news(true, 4), known(true, 5), [], null, set(true, 5)],
    ["otherwise, within a second", news(false, 5), known(true, 5), [], null, { kind: "ask" }],
    ["otherwise, older", news(true, 4), known(false, 5), [], null, { kind: "ask" }],
    ["otherwise, older, and GitHub has it", news(true, 4), known(false, 5), [], true, set(true, 5)],
    ["otherwise, older, and GitHub has it not", news(true, 4), known(false, 5), [], false, set(false, 5)],
    ["several blockers do no harm to each other", news(true, 4), null, [known(true, 5)], null, set(true, 4)],
  ])("%s", (_, said, same, others, answer, decision) =>
    expect(decideEdge(said, same, others, answer)).toEqual(decision),
  );

  it.each<[string, EdgeNews, KnownEdge[], boolean | null, object]>([
    [
      "a newer one takes the place of the other",
      news(true, 6, "partOf"),
      [known(true, 5)],
      null,
      set(true, 6, true),
    ],
    ["an older one is asked about", news(true, 4, "partOf"), [known(true, 5)], null, { kind: "ask" }],
    ["one of the same second too", news(true, 5, "partOf"), [known(true, 5)], null, { kind: "ask" }],
    [
      "one that GitHub has not replaces nothing",
      news(true, 4, "partOf"),
      [known(true, 5)],
      false,
      set(false, 4),
    ],
    ["a removal replaces nothing", news(false, 6, "partOf"), [known(true, 5)], null, set(false, 6)],
    [
      "one that is gone is in nobody's way",
      news(true, 4, "partOf"),
      [known(false, 5)],
      null,
      set(true, 4, true),
    ],
  ])("of parents: %s", (_, said, others, answer, decision) =>
    expect(decideEdge(said, null, others, answer)).toEqual(decision),
  );

  it("in whatever order and however often, the end is what was said last, when no two are of one second", () => {
    const history = fc.uniqueArray(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(history, fc.infiniteStream(fc.nat()), (seconds, picks) => {
        const sorted = seconds.toSorted((a, b) => a - b);
        const events = sorted.map((second, index) => news(index % 2 === 0, second));
        const truth = events.at(-1)?.present ?? false;
        const arriving = [...events, ...events];
        let state: KnownEdge | null = null;
        while (arriving.length > 0) {
          const [event] = arriving.splice((picks.next().value ?? 0) % arriving.length, 1);
          if (!event) break;
          const first = decideEdge(event, state, [], null);
          const decided: EdgeDecision = first.kind === "ask" ? decideEdge(event, state, [], truth) : first;
          if (decided.kind === "set") state = decided;
        }
        expect(state).toMatchObject({ present: truth });
      }),
    );
  });
});

describe("a list that GitHub gives", () => {
  type Named = KnownEdge & { name: string };
  const edge = (name: string, present: boolean, seconds: number): Named => ({
    name,
    ...known(present, seconds),
  });
  const compare = (stored: Named[], listed: Named[], kept: string[] = []) =>
    compareWithList(
      stored,
      listed,
      at(5),
      (a, b) => a.name === b.name,
      ({ name }) => kept.includes(name),
    ).map(({ name, present }) => [name, present]);

  it.each<[string, Named[], Named[], string[], [string, boolean][]]>([
    ["adds what is new", [], [edge("a", true, 5)], [], [["a", true]]],
    ["changes nothing the second time", [edge("a", true, 5)], [edge("a", true, 5)], [], []],
    ["takes away what it lacks", [edge("a", true, 4)], [], [], [["a", false]]],
    ["takes nothing away that was said since", [edge("a", true, 6)], [], [], []],
    ["brings nothing back that was removed since", [edge("a", false, 6)], [edge("a", true, 5)], [], []],
    ["brings back what was removed before", [edge("a", false, 4)], [edge("a", true, 5)], [], [["a", true]]],
    ["leaves what is to be kept", [edge("tomb", true, 4)], [], ["tomb"], []],
  ])("%s", (_, stored, listed, kept, changes) => expect(compare(stored, listed, kept)).toEqual(changes));
});

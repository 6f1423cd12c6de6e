import { expect, it } from "vitest";
import { isStillAsked, type StateActs } from "../../src/domain/park-by-label.ts";

it.each<[string, StateActs, boolean]>([
  ["a label on an issue that nobody ever closed", { before: null, isReopened: false }, true],
  ["one that was put on before the issue was closed and reopened", { before: null, isReopened: true }, true],
  ["one that was put on after a reopening", { before: "reopened", isReopened: false }, true],
  ["between two of them", { before: "reopened", isReopened: true }, true],
  ["one on an issue that a human closed", { before: "closed", isReopened: false }, true],
  ["which a human reopened since", { before: "closed", isReopened: true }, false],
])("asks for a park: %s", (_, acts, asked) => expect(isStillAsked(acts)).toBe(asked));

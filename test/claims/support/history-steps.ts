/** What may happen to an item and a note, one step after the other; and histories that come to every rule. */

import fc from "fast-check";
import type { Who } from "./claim-model.ts";

/** The mark, another token that was granted here, one that was not, below or above the mark, or none. */
export type TokenChoice = "mark" | "older" | "below" | "above" | "none";
type On = "item" | "note";

export type Step =
  | {
      readonly kind: "claim";
      readonly record: On;
      readonly who: Who;
      readonly region: string | undefined;
      readonly leaseSeconds: number | undefined;
    }
  | {
      readonly kind: "renew";
      readonly record: On;
      readonly who: Who;
      readonly token: TokenChoice;
      readonly leaseSeconds: number | undefined;
    }
  | {
      readonly kind: "release" | "write";
      readonly record: On;
      readonly who: Who;
      readonly token: TokenChoice;
    }
  /** The note is forgotten. */
  | { readonly kind: "forget"; readonly who: Who; readonly token: TokenChoice }
  /** The database's clock moves on. */
  | { readonly kind: "pass"; readonly ms: number }
  /** A human parks the item, or unparks it. */
  | { readonly kind: "park" }
  | { readonly kind: "unpark" };

const aToken: fc.Arbitrary<TokenChoice> = fc.constantFrom(
  "mark",
  "mark",
  "mark",
  "older",
  "below",
  "above",
  "none",
);

const aWho: fc.Arbitrary<Who> = fc.record({
  owner: fc.constantFrom("w/a", "w/b"),
  actor: fc.constantFrom("actor-a", "actor-a", "actor-b"),
  deployment: fc.constantFrom("local", "local", "local", "eu"),
});
const seconds = fc.constantFrom(1, 30, 600, 5000, undefined);
const record = fc.constantFrom<On>("item", "note");

const aStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      record,
      who: aWho,
      region: fc.constantFrom(undefined, undefined, undefined, "local", "eu"),
      leaseSeconds: seconds,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("renew" as const),
      record,
      who: aWho,
      token: aToken,
      leaseSeconds: seconds,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("release" as const), record, who: aWho, token: aToken }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("write" as const), record, who: aWho, token: aToken }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("forget" as const), who: aWho, token: aToken }) },
  // Also to the very millisecond at which the usual leases end, and one before.
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      ms: fc.constantFrom(1, 999, 1000, 29_999, 30_000, 600_000, 1_799_999, 1_800_000),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: "park" }, { kind: "unpark" }) },
);

export const aHistory: fc.Arbitrary<readonly Step[]> = fc.array(aStep, {
  minLength: 5,
  maxLength: 40,
  size: "max",
});

const A: Who = { owner: "w/a", actor: "actor-a", deployment: "local" };
const B: Who = { ...A, owner: "w/b" };
const IMPOSTOR: Who = { ...A, actor: "actor-b" };
const ABROAD: Who = { ...A, deployment: "eu" };
const taking = (who: Who, on: On = "item", region?: string): Step => ({
  kind: "claim",
  record: on,
  who,
  region,
  leaseSeconds: 30,
});
const renewing = (who: Who, token: TokenChoice, on: On = "item"): Step => ({
  kind: "renew",
  record: on,
  who,
  token,
  leaseSeconds: 30,
});
const releasing = (who: Who, token: TokenChoice, on: On = "item"): Step => ({
  kind: "release",
  record: on,
  who,
  token,
});
const writing = (who: Who, token: TokenChoice, on: On = "item"): Step => ({
  kind: "write",
  record: on,
  who,
  token,
});
const lapse: Step = { kind: "pass", ms: 30_000 };
/** Chance may miss a rule; these histories come to every one. */
export const CERTAIN: readonly (readonly Step[])[] = [
  [
    writing(A, "none"),
    renewing(A, "mark"),
    releasing(A, "mark"),
    taking(A),
    taking(B),
    taking(A, "item", "eu"),
  ],
  [
    taking(A),
    writing(A, "mark"),
    writing(A, "none"),
    writing(IMPOSTOR, "mark"),
    writing(A, "above"),
    lapse,
    writing(A, "mark"),
  ],
  [
    taking(A),
    lapse,
    taking(A),
    lapse,
    taking(A),
    lapse,
    taking(B),
    lapse,
    taking(B),
    taking(A),
    { kind: "park" },
    taking(A),
  ],
  [
    taking(A),
    lapse,
    taking(B),
    lapse,
    taking(A),
    lapse,
    taking(B),
    releasing(A, "mark"),
    { kind: "unpark" },
    taking(B),
  ],
  [
    taking(A),
    lapse,
    taking(B),
    writing(A, "older"),
    renewing(A, "older"),
    releasing(A, "older"),
    renewing(IMPOSTOR, "mark"),
  ],
  [
    taking(A),
    releasing(IMPOSTOR, "mark"),
    releasing(A, "mark"),
    releasing(A, "mark"),
    writing(A, "mark"),
    writing(A, "none"),
  ],
  [
    taking(ABROAD),
    taking(ABROAD, "note"),
    writing(A, "mark", "note"),
    writing(ABROAD, "mark", "note"),
    taking(A, "note", "eu"),
  ],
  [
    { kind: "forget", who: A, token: "none" },
    taking(A, "note"),
    renewing(A, "above", "note"),
    releasing(A, "above", "note"),
  ],
  [
    taking(A, "note"),
    { kind: "forget", who: A, token: "mark" },
    releasing(A, "mark", "note"),
    taking(B, "note"),
    writing(B, "none", "note"),
    taking(B, "note"),
  ],
];

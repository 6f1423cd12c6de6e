import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideWrite, type FenceState, type FenceVerdict } from "../../src/domain/fence.ts";

/**
 * The protocol's table ("The fence on the write path"), its rows in its order; the first that fits decides.
 * `not_holder` is the sentence above it ("a token is honoured only from the API actor that it was granted to"):
 * it is about the current token, so it stands where that token would otherwise be looked at further.
 */
type RecordRow = "never" | "live" | "released";
type TokenRow = "none" | "below" | "at" | "above";
interface Row {
  readonly record: readonly RecordRow[];
  readonly token: readonly TokenRow[];
  readonly actor?: "other";
  readonly region?: "other";
  readonly outcome: string;
}
const ANY: readonly TokenRow[] = ["none", "below", "at", "above"];
const TABLE: readonly Row[] = [
  { record: ["never"], token: ANY, outcome: "accepted" },
  { record: ["live"], token: ["none"], outcome: "claim_required" },
  { record: ["released"], token: ["none"], outcome: "accepted" },
  { record: ["live", "released"], token: ["below"], outcome: "stale_token" },
  { record: ["live", "released"], token: ["above"], outcome: "unissued_token" },
  { record: ["released"], token: ["at"], outcome: "claim_released" },
  { record: ["live"], token: ["at"], actor: "other", outcome: "not_holder" },
  { record: ["live"], token: ["at"], region: "other", outcome: "foreign_region" },
  { record: ["live"], token: ["at"], outcome: "accepted" },
];

const SIDES = ["same", "other"] as const;
type Side = (typeof SIDES)[number];

function expected(record: RecordRow, token: TokenRow, region: Side, actor: Side): string {
  const row = TABLE.find(
    (each) =>
      each.record.includes(record) &&
      each.token.includes(token) &&
      (each.actor === undefined || each.actor === actor) &&
      (each.region === undefined || each.region === region),
  );
  if (row === undefined) throw new Error("the table has a hole");
  return row.outcome;
}

const RECORDS: readonly RecordRow[] = ["never", "live", "released"];
const MARK = 41;
const TOKENS: Record<TokenRow, readonly (number | null)[]> = {
  none: [null],
  below: [0, 1, MARK - 1],
  at: [MARK],
  above: [MARK + 1, Number.MAX_SAFE_INTEGER],
};

const cells = RECORDS.flatMap((record) =>
  ANY.flatMap((token) =>
    SIDES.flatMap((region) =>
      SIDES.map((actor) => ({
        record,
        token,
        region,
        actor,
        outcome: expected(record, token, region, actor),
      })),
    ),
  ),
);

const stateOf = (record: RecordRow): FenceState | null =>
  record === "never" ? null : { mark: MARK, live: record === "live", region: "eu", actor: "a" };
const said = (verdict: FenceVerdict): string => (verdict.accepted ? "accepted" : verdict.code);

describe("decideWrite", () => {
  it("is asked about every cell", () => expect(cells).toHaveLength(3 * 4 * 2 * 2));

  it.each(cells)("$record, token $token, $region region, $actor actor: $outcome", (cell) => {
    for (const token of TOKENS[cell.token]) {
      const attempt = {
        token,
        region: cell.region === "same" ? "eu" : "us",
        actor: cell.actor === "same" ? "a" : "b",
      };
      expect(said(decideWrite(stateOf(cell.record), attempt))).toBe(cell.outcome);
    }
  });

  it("agrees with the table for every small mark, token, region and actor", () => {
    for (let mark = 1; mark <= 3; mark++) {
      for (const live of [true, false]) {
        for (const token of [null, 0, 1, 2, 3, 4]) {
          for (const region of SIDES) {
            for (const actor of SIDES) {
              const where =
                token === null ? "none" : token < mark ? "below" : token === mark ? "at" : "above";
              expect(
                said(decideWrite({ mark, live, region: "same", actor: "same" }, { token, region, actor })),
              ).toBe(expected(live ? "live" : "released", where, region, actor));
            }
          }
        }
      }
    }
  });

  it("never lets an overtaken holder write again, whatever happens to the record after", () => {
    const aToken = fc.integer({ min: 1, max: 1_000_000 });
    const who = fc.constantFrom("a", "b");
    fc.assert(
      fc.property(
        aToken,
        fc.integer({ min: 1, max: 1000 }),
        fc.boolean(),
        who,
        who,
        (token, ahead, live, region, actor) => {
          const state = { mark: token + ahead, live, region, actor };
          expect(said(decideWrite(state, { token, region, actor }))).toBe("stale_token");
        },
      ),
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ClaimMarker,
  type Marker,
  type OutcomeMarker,
  parseMarker,
  printMarker,
} from "../../src/domain/marker.ts";
import { isOwner } from "../../src/domain/owner.ts";
import { isRegion } from "../../src/domain/region.ts";

const CLAIM =
  "<!-- backlog-worker: claim item=issue-7 owner=worker/7f3a region=local fence=41 at=2026-09-06T00:12:44Z -->";
const OUTCOME = "<!-- backlog-worker: outcome item=issue-7 owner=worker/7f3a fence=41 result=complete -->";

const claim: ClaimMarker = {
  verb: "claim",
  item: "issue-7",
  number: 7,
  owner: "worker/7f3a",
  region: "local",
  fence: 41,
  at: "2026-09-06T00:12:44Z",
};
const outcome: OutcomeMarker = {
  verb: "outcome",
  item: "issue-7",
  number: 7,
  owner: "worker/7f3a",
  fence: 41,
  result: "complete",
};

const characters = (alphabet: string, maxLength: number) =>
  fc.array(fc.constantFrom(...alphabet), { minLength: 1, maxLength }).map((chosen) => chosen.join(""));
const ALPHANUMERIC = "ABCXYZabcxyz0189";
const anOwner = characters(`${ALPHANUMERIC}._:@/+-`, 128);
const aRegion = characters(`${ALPHANUMERIC}._-`, 64);
const aNumber = fc.integer({ min: 1, max: 2_147_483_647 });
const aTime = fc
  .date({ min: new Date("1970-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true })
  .chain((date) => fc.constantFrom(date.toISOString(), date.toISOString().replace(/\.\d+/, "")));

const aClaim: fc.Arbitrary<Marker> = fc
  .record({ number: aNumber, owner: anOwner, region: aRegion, fence: aNumber, at: aTime })
  .map((fields) => ({ verb: "claim", item: `issue-${fields.number}`, ...fields }));
const anOutcome: fc.Arbitrary<Marker> = fc
  .record({
    number: aNumber,
    owner: anOwner,
    fence: fc.oneof(fc.constant(0), aNumber),
    result: fc.constantFrom("complete", "released", "parked"),
  })
  .map((fields) => ({ verb: "outcome", item: `issue-${fields.number}`, ...fields }));
const aMarker = fc.oneof(aClaim, anOutcome);

describe("parseMarker", () => {
  it("reads a claim", () => expect(parseMarker(CLAIM)).toEqual(claim));
  it("reads an outcome", () => expect(parseMarker(OUTCOME)).toEqual(outcome));

  it.each([
    ["CRLF and more below", `${CLAIM}\r\nmore`],
    ["LF and more below", `${CLAIM}\nmore`],
    ["CRLF at the end", `${CLAIM}\r\n`],
    ["another marker below, which is only text", `${CLAIM}\n${OUTCOME}`],
    ["a comment as long as GitHub takes", `${CLAIM}\n${"x".repeat(65_000)}`],
  ])("row 38: %s", (_, body) => expect(parseMarker(body)).toEqual(claim));

  it.each([
    ["quoted", `> ${CLAIM}`],
    ["fenced", `\`\`\`\n${CLAIM}\n\`\`\``],
    ["indented by four", `    ${CLAIM}`],
    ["indented by one", ` ${CLAIM}`],
    ["on line 2", `look:\n${CLAIM}`],
    ["below a blank line", `\n${CLAIM}`],
    ["below a blank CRLF line", `\r\n${CLAIM}`],
    ["after a BOM", `\uFEFF${CLAIM}`],
    ["in a code span", `\`${CLAIM}\``],
    ["behind text", `see ${CLAIM}`],
    ["within another comment", `<!-- ${CLAIM}`],
  ])("row 40: a marker that is %s is none", (_, body) => expect(parseMarker(body)).toBeNull());

  const changed = (line: string, from: string, to: string) => {
    expect(line).toContain(from);
    return line.replace(from, to);
  };

  it.each([
    ["nothing", "claim", ""],
    ["an unknown verb", "claim", "renew"],
    ["a verb in capitals", "claim", "Claim"],
    ["a verb of the prototype", "claim", "constructor"],
    ["an issue number 0", "issue-7", "issue-0"],
    ["a negative issue number", "issue-7", "issue--7"],
    ["an issue number with a leading zero", "issue-7", "issue-07"],
    ["an issue number that is none", "issue-7", "issue-7x"],
    ["an issue number past the safe integers", "issue-7", "issue-9007199254740992"],
    ["an item without its prefix", "issue-7", "7"],
    ["an item in capitals", "issue-7", "ISSUE-7"],
    ["digits of another script", "issue-7", "issue-٧"],
    ["fence 0", "fence=41", "fence=0"],
    ["a negative fence", "fence=41", "fence=-41"],
    ["a signed fence", "fence=41", "fence=+41"],
    ["a fence with a leading zero", "fence=41", "fence=041"],
    ["a fence with an exponent", "fence=41", "fence=4e1"],
    ["a fractional fence", "fence=41", "fence=41.0"],
    ["a hexadecimal fence", "fence=41", "fence=0x29"],
    ["a fence past the safe integers", "fence=41", "fence=9007199254740993"],
    ["no fence", "fence=41", "fence="],
    ["no owner", "owner=worker/7f3a", "owner="],
    ["an owner that is too long", "worker/7f3a", "w".repeat(129)],
    ["an owner outside its alphabet", "worker/7f3a", "wörker"],
    ["an owner with a bracket", "worker/7f3a", "a--b>c"],
    ["a region that is too long", "region=local", `region=${"r".repeat(65)}`],
    ["a region with a slash", "region=local", "region=eu/west"],
    ["a key twice", "owner=worker/7f3a", "owner=a owner=b"],
    ["an unknown key", "fence=41", "fence=41 ttl=9"],
    ["a missing key", " region=local", ""],
    ["keys in another order", "region=local fence=41", "fence=41 region=local"],
    ["a key in capitals", "owner=", "Owner="],
    ["two spaces", "claim item", "claim  item"],
    ["a tab", "claim item", "claim\titem"],
    ["a no-break space", "claim item", "claim\u00A0item"],
    ["two spaces before the end", " -->", "  -->"],
    ["no space before the end", " -->", "-->"],
    ["two spaces after the opening", "<!-- ", "<!--  "],
    ["no end", " -->", ""],
    ["a day that does not exist", "2026-09-06", "2026-02-30"],
    ["a month that does not exist", "2026-09-06", "2026-13-06"],
    ["an hour that does not exist", "T00:12:44Z", "T24:00:00Z"],
    ["a local time", "44Z", "44+02:00"],
    ["a date only", "T00:12:44Z", ""],
    ["text behind it", " -->", " --> taken"],
    ["a space behind it", " -->", " --> "],
    ["a second comment behind it", " -->", " --> <!-- -->"],
    ["a lone CR", " -->", " -->\r"],
    ["a lone CR within", "claim item", "claim\ritem"],
    ["a line separator", " -->", " -->\u2028"],
    ["a NUL", "local", "lo\0cal"],
  ])("row 43: a claim with %s is malformed", (_, from, to) => {
    expect(parseMarker(changed(CLAIM, from, to))).toBeNull();
  });

  it.each([
    ["an unknown result", "result=complete", "result=done"],
    ["no result", " result=complete", ""],
    ["a claim's key", "fence=41", "region=local fence=41"],
    ["fence 00", "fence=41", "fence=00"],
    ["fence -0", "fence=41", "fence=-0"],
  ])("row 43: an outcome with %s is malformed", (_, from, to) => {
    expect(parseMarker(changed(OUTCOME, from, to))).toBeNull();
  });

  it("row 43: a claim for another issue is read as that issue's, for the caller to refuse", () => {
    expect(parseMarker(CLAIM.replace("issue-7", "issue-9999"))?.number).toBe(9999);
  });

  it("row 43: an outcome may carry fence 0, that of an item parked unclaimed", () => {
    expect(parseMarker(OUTCOME.replace("fence=41", "fence=0"))).toEqual({ ...outcome, fence: 0 });
  });

  it("reads a fraction of a second", () => {
    expect(parseMarker(CLAIM.replace("44Z", "44.123Z"))).toEqual({
      ...claim,
      at: "2026-09-06T00:12:44.123Z",
    });
  });

  it.each([
    [""],
    ["<!-- backlog-worker: -->"],
    ["<!-- backlog-worker:  -->"],
    ["<!-- backlog-worker: claim -->"],
  ])("reads nothing in %j", (body) => expect(parseMarker(body)).toBeNull());
});

describe("printMarker", () => {
  it("prints a claim", () => expect(printMarker(claim)).toBe(CLAIM));
  it("prints an outcome", () => expect(printMarker(outcome)).toBe(OUTCOME));

  it("is undone by the parser", () => {
    fc.assert(
      fc.property(aMarker, (marker) => {
        expect(parseMarker(printMarker(marker))).toEqual(marker);
      }),
    );
  });

  it("is what the parser undoes: a line that parses is the line that is printed", () => {
    const aMutation = fc.record({
      at: fc.nat(200),
      remove: fc.nat(3),
      insert: fc.string({ maxLength: 2, unit: fc.constantFrom(..." \t\r\n-=>0179azZ.:/é") }),
    });
    fc.assert(
      fc.property(aMarker, aMutation, fc.string(), (marker, { at, remove, insert }, below) => {
        const printed = printMarker(marker);
        const body = `${printed.slice(0, at)}${insert}${printed.slice(at + remove)}\n${below}`;
        const read = parseMarker(body);
        if (read !== null) expect(printMarker(read)).toBe(body.split(/\r?\n/)[0]);
      }),
      { numRuns: 1_000 },
    );
  });

  it("makes one comment, which ends where the line ends", () => {
    fc.assert(
      fc.property(aMarker, (marker) => {
        const line = printMarker(marker);
        expect(line.indexOf("-->")).toBe(line.length - 3);
        expect(line.lastIndexOf("<!--")).toBe(0);
      }),
    );
  });

  it.each<[string, Marker]>([
    ["an item that is not the number's", { ...claim, number: 8 }],
    ["an owner with a space", { ...claim, owner: "a b" }],
    ["an owner that brings its own field", { ...claim, owner: "a region=x" }],
    ["an owner that ends the comment", { ...claim, owner: "a-->" }],
    ["a time that ends the line", { ...claim, at: `${claim.at} -->\nevil` }],
    ["an owner that ends the line", { ...claim, owner: `a region=x fence=1 at=${claim.at} -->\n` }],
    ["an empty owner", { ...claim, owner: "" }],
    ["a claim with fence 0", { ...claim, fence: 0 }],
    ["a fractional fence", { ...claim, fence: 1.5 }],
    ["a fence that is too large", { ...claim, fence: 1e21 }],
    ["no fence at all", { ...outcome, fence: Number.NaN }],
  ])("refuses %s", (_, marker) => expect(() => printMarker(marker)).toThrow(RangeError));
});

describe("isOwner and isRegion", () => {
  it.each([["w"], ["worker/7f3a"], ["a--b"], ["--"], ["@team/x+y:z.1_2-3"], ["w".repeat(128)]])(
    "takes the owner %s",
    (owner) => {
      expect(isOwner(owner)).toBe(true);
      expect(parseMarker(printMarker({ ...claim, owner }))).toEqual({ ...claim, owner });
    },
  );

  it.each([[""], ["a b"], ["a\n"], ["a>"], ["<a"], ["é"], ["a=b"], ["w".repeat(129)]])(
    "refuses the owner %j",
    (owner) => expect(isOwner(owner)).toBe(false),
  );

  it.each([["local"], ["eu-west_1.b"], ["r".repeat(64)]])("takes the region %s", (region) =>
    expect(isRegion(region)).toBe(true),
  );

  it.each([[""], ["eu/west"], ["a b"], ["local\n"], ["r".repeat(65)]])("refuses the region %j", (region) =>
    expect(isRegion(region)).toBe(false),
  );
});

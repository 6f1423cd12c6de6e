import { isOwner } from "./owner.ts";
import { numberOfItemId } from "./record-key.ts";
import { isRegion } from "./region.ts";

/** Says on the issue that a claim was granted. One per attempt (protocol, section 4). */
export interface ClaimMarker {
  readonly verb: "claim";
  /** `issue-<number>`, the item's id. */
  readonly item: string;
  readonly number: number;
  readonly owner: string;
  readonly region: string;
  readonly fence: number;
  /** UTC, for people. It never orders events: the clocks of workers disagree. */
  readonly at: string;
}

/** Says on the issue how an attempt ended. */
export interface OutcomeMarker {
  readonly verb: "outcome";
  /** `issue-<number>`, the item's id. */
  readonly item: string;
  readonly number: number;
  readonly owner: string;
  /** The claim's token; 0 where the item was parked without ever having been claimed. */
  readonly fence: number;
  readonly result: "complete" | "released" | "parked";
}

export type Marker = ClaimMarker | OutcomeMarker;

const OPENING = "<!-- backlog-worker: ";
const CLOSING = " -->";
const CLAIM_FIELDS = ["item", "owner", "region", "fence", "at"] as const;
const OUTCOME_FIELDS = ["item", "owner", "fence", "result"] as const;

/**
 * Reads the marker that a comment begins with, or answers null (protocol, section 4).
 *
 * The marker is the whole first line, from the body's very first character: anything before it (a quote, a
 * fence, a blank line, a BOM) makes it somebody's quotation. Verb, fields, their order and their spacing are
 * fixed, and nothing may follow the closing `-->` on the line, not even a space, so that every marker has one
 * spelling. Being strict costs nothing: the grant itself counts as the attempt, so an unread marker loses
 * none, while one that was read too kindly could make one up.
 */
export function parseMarker(body: string): Marker | null {
  if (!body.startsWith(OPENING)) return null;
  const line = firstLineOf(body);
  if (!line.endsWith(CLOSING)) return null;

  const [verb, ...fields] = line.slice(OPENING.length, -CLOSING.length).split(" ");
  if (verb === "claim") return parseClaim(fields);
  if (verb === "outcome") return parseOutcome(fields);
  return null;
}

/**
 * Writes the line that {@link parseMarker} reads back as the same marker.
 *
 * @throws RangeError when no such line exists (an owner outside its alphabet, an item that is not the
 * number's): a line that nobody can read, or that says something else, must not reach GitHub.
 */
export function printMarker(marker: Marker): string {
  const line = `${OPENING}${marker.verb} ${printFields(marker)}${CLOSING}`;
  const isOneLine = !/[\r\n]/.test(line);
  if (!isOneLine || parseMarker(line)?.number !== marker.number) {
    throw new RangeError(`not a marker that could be read back: ${JSON.stringify(marker)}`);
  }
  return line;
}

/** Browsers save CRLF, the API keeps LF. A lone CR ends no line here, and the field it is in refuses it. */
function firstLineOf(body: string): string {
  const end = body.search(/\r?\n/);
  return end === -1 ? body : body.slice(0, end);
}

function parseClaim(fields: string[]): ClaimMarker | null {
  const values = readFields(fields, CLAIM_FIELDS);
  if (values === null) return null;
  const { item, owner, region, at } = values;
  const number = parseItem(item);
  const fence = parsePositive(values.fence);
  if (number === null || fence === null) return null;
  if (!isOwner(owner) || !isRegion(region) || !isTimestamp(at)) return null;
  return { verb: "claim", item, number, owner, region, fence, at };
}

function parseOutcome(fields: string[]): OutcomeMarker | null {
  const values = readFields(fields, OUTCOME_FIELDS);
  if (values === null) return null;
  const { item, owner, result } = values;
  const number = parseItem(item);
  const fence = values.fence === "0" ? 0 : parsePositive(values.fence);
  if (number === null || fence === null) return null;
  if (!isOwner(owner) || !isResult(result)) return null;
  return { verb: "outcome", item, number, owner, fence, result };
}

/** The values of exactly these keys in exactly this order; a doubled space shows up as an empty field. */
function readFields<Key extends string>(
  fields: string[],
  keys: readonly Key[],
): Readonly<Record<Key, string>> | null {
  if (fields.length !== keys.length) return null;
  const values: Partial<Record<Key, string>> = {};
  for (const [index, key] of keys.entries()) {
    const field = fields[index];
    if (!field?.startsWith(`${key}=`)) return null;
    values[key] = field.slice(key.length + 1);
  }
  return values as Record<Key, string>;
}

function printFields(marker: Marker): string {
  const { item, owner, fence } = marker;
  return marker.verb === "claim"
    ? `item=${item} owner=${owner} region=${marker.region} fence=${fence} at=${marker.at}`
    : `item=${item} owner=${owner} fence=${fence} result=${marker.result}`;
}

function parseItem(item: string): number | null {
  return numberOfItemId(item);
}

/** No sign, no exponent, no leading zero (`041` would be a second spelling of 41), no lost digits. */
function parsePositive(text: string): number | null {
  if (!/^[1-9]\d{0,15}$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

function isResult(text: string): text is OutcomeMarker["result"] {
  return text === "complete" || text === "released" || text === "parked";
}

/** A second that exists, in UTC, perhaps with a fraction. `Date` alone would roll 30 February over. */
function isTimestamp(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/.test(text)) return false;
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 19) === text.slice(0, 19);
}

/**
 * Whether edits have told of the text that an admitted item's issue has now (protocol 3). GitHub lists no edits, and the
 * delivery of one may be lost while a later event, of something else, brings the text that it made: then nobody decided
 * whether who edited it may. Each edit tells from which text it came and to which it led, so the edits that were heard
 * of make a trail, in whatever order they come; a text that the trail does not lead to was not told of.
 */

/** Stands for a text: equal texts have equal digests. */
export type Digest = string;

/** Before the issue had any text: whoever opens it tells of its first. No digest is empty. */
export const UNOPENED: Digest = "";

export interface BodyEdit {
  readonly from: Digest;
  readonly to: Digest;
}

/** As a delivery tells of it. */
export interface ToldText {
  /** Null: the issue was opened with it. Absent: the delivery leaves it out, and it was what was known. */
  readonly from: string | null | undefined;
  readonly to: string;
}

export interface BodyTrail {
  /** The last text that is known to be in order. */
  readonly told: Digest;
  /** Edits that were heard of and have not been walked yet, oldest first. */
  readonly edits: readonly BodyEdit[];
  /** When the issue had the text that no edit has told of, by GitHub's time; null: it was told of. */
  readonly untoldAsOf: Date | null;
}

export interface BodyNews {
  /** The text as the mirror had it, `UNOPENED` if it had not the issue; and as it has it now. */
  readonly before: Digest;
  readonly after: Digest;
  /** What the event says that was edited; null: it tells of something else. */
  readonly edit: BodyEdit | null;
  /** GitHub's time of the event. */
  readonly at: Date;
}

/** An issue that is edited more often than this while news of it is missing loses the oldest: it is told as untold. */
const MOST_EDITS = 50;

/**
 * The trail after an event. Null, as with every issue at rest: the text is told of, and no edit waits for another. As long
 * as nobody told of the opening, nor of any edit, the text that was heard of first is taken for the issue's own.
 */
export function followBody(trail: BodyTrail | null, { before, after, edit, at }: BodyNews): BodyTrail | null {
  const told = trail?.told ?? before;
  const edits = [...(trail?.edits ?? [])];
  if (edit !== null && !edits.some((known) => isSame(known, edit))) edits.push(edit);
  const way = wayBetween(told, after, edits);
  if (way !== null) {
    const left = edits.filter((each) => !way.includes(each) && each.from !== each.to);
    // What leads on from here may be ahead of the mirror; anything else was overtaken.
    const ahead = left.filter((each) => wayBetween(after, each.from, left) !== null);
    return ahead.length === 0 ? null : { told: after, edits: ahead, untoldAsOf: null };
  }
  const isOfFirst =
    trail === null ? edit === null : trail.untoldAsOf === null && wayBetween(before, after, edits) !== null;
  const isUnheard = told === UNOPENED && !edits.some(({ from }) => from === UNOPENED) && isOfFirst;
  return { told, edits: edits.slice(-MOST_EDITS), untoldAsOf: isUnheard ? null : (trail?.untoldAsOf ?? at) };
}

/** The edits that lead from one text to another; null: none do. */
function wayBetween(from: Digest, to: Digest, edits: readonly BodyEdit[]): BodyEdit[] | null {
  const ways = new Map<Digest, BodyEdit[]>([[from, []]]);
  for (const [text, way] of ways) {
    if (text === to) return way;
    for (const edit of edits) {
      if (edit.from === text && !ways.has(edit.to)) ways.set(edit.to, [...way, edit]);
    }
  }
  return null;
}

const isSame = (one: BodyEdit, other: BodyEdit): boolean => one.from === other.from && one.to === other.to;

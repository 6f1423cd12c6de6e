import { cleanText } from "./clean-text.ts";

/** The longest body GitHub takes for an issue or a comment; one character more is a 422. */
export const MAX_COMMENT_LENGTH = 65_536;

/** ZERO WIDTH SPACE: put between two characters it ends whatever they began, and the eye does not see it. */
const BREAK = "\u200B";

/**
 * Each pattern ends where the break goes. What they stop, in order: HTML of any kind, the opening of a comment
 * among it; the end of a comment; mentions of people and teams, and `owner/repo@sha`; character entities, since
 * GitHub looks for mentions after decoding `&#64;`; and the three spellings of an issue reference, which keep
 * closing keywords and "Duplicate of" from finding one.
 */
const TO_BREAK = [
  /<(?=[A-Za-z/!?])/g,
  /--(?=!?>)/g,
  /@(?!\u200B)/g,
  /&(?=#[\dXx]|[A-Za-z][A-Za-z\d]{0,31};)/g,
  /#(?=\d)/g,
  /\bGH-(?=\d)/gi,
  /\/(?:issues|pull|pulls|discussions)\/(?=\d)/gi,
];

/**
 * Makes text from a worker or a person safe to put into a comment of ours (protocol, section 4: it can carry no
 * marker, no `-->` and no mention). It mentions and references nobody and nothing, holds no HTML, and reads as it
 * was written, because each dangerous pair of characters only gets an invisible one in between. Doing it twice
 * is doing it once, and the result stays safe wherever it is cut.
 *
 * Two neutralised texts may be joined with white space between them, not directly: the first may end in `#` and
 * the second begin with `7`.
 */
export function neutralise(text: string): string {
  return TO_BREAK.reduce((safe, pattern) => safe.replace(pattern, `$&${BREAK}`), cleanText(text));
}

/**
 * Puts a comment together from its first line (a marker, mostly) and the rest, within what GitHub takes. The
 * first line is always whole, because a marker that is cut is no marker. Where the rest has to be cut, a
 * sentence directly below the first line says so: at the end it could land inside a code block that the cut
 * left open.
 *
 * Length is counted in UTF-16 units, of which a text never has fewer than characters.
 *
 * @throws RangeError when the first line is more than one line, or leaves no room for that sentence.
 */
export function fitComment(firstLine: string, rest: string): string {
  if (/[\r\n]/.test(firstLine)) throw new RangeError("the first line of a comment is one line");
  const whole = rest === "" ? firstLine : `${firstLine}\n${rest}`;
  if (whole.length <= MAX_COMMENT_LENGTH) return whole;

  const head = `${firstLine}\n${truncationNotice(whole.length)}\n\n`;
  const room = MAX_COMMENT_LENGTH - head.length;
  if (room < 0) throw new RangeError(`a first line of ${firstLine.length} characters fits no comment`);
  return head + cutAt(rest, room);
}

function truncationNotice(length: number): string {
  const [limit, had] = [MAX_COMMENT_LENGTH, length].map((count) => count.toLocaleString("en-US"));
  return `_Truncated: GitHub takes ${limit} characters in a comment and this one had ${had}; its end is missing._`;
}

/** The first `length` units of `text`, or one less where that would cut a surrogate pair. */
function cutAt(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

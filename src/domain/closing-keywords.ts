/**
 * Which issues a pull request's body or a commit's message closes by keyword.
 *
 * GitHub reads keywords only where the base is the default branch, so Leasehold reads them itself. Where GitHub's
 * own reading surprises people (it closes on "does not fix #7"), the issue is flagged instead, for a person to
 * see: work wrongly called complete is lost, work wrongly left open is found again through its branch.
 *
 * First the keywords and references, then, from `proseOf` on, what a reader sees as prose. Every expression is
 * anchored or scans forward only, because the text is anybody's and up to 256 KB long.
 */
import { cleanText } from "./clean-text.ts";

export interface ReferenceRepo {
  readonly owner: string;
  readonly name: string;
  /** Where GitHub's pages are: `https://github.com` unless it is a GitHub Enterprise Server. */
  readonly host?: string;
}

/** Why what looks like a closing reference is not taken as one. */
export type Doubt =
  /** The line says that it is not, not yet or only partly fixed (row 57). */
  | "negated"
  /** The link goes to a comment or another place within the issue's page (row 57). */
  | "comment_link"
  /** `Closes [#7](url)`: GitHub closes some of these and not others (row 58). */
  | "linked_form"
  /** It was repeated from what is being reverted (row 61). */
  | "reverted";

export interface FlaggedReference {
  readonly number: number;
  readonly why: Doubt;
  /** What is written around it, for the report; a long line is shortened. */
  readonly line: string;
}

export interface ClosingReferences {
  /** In order of appearance, each once. A pull request's number can be among them (row 47). */
  readonly closes: number[];
  /** Each number and reason once. A number can also be in `closes`, where one line denies what another says. */
  readonly flagged: FlaggedReference[];
  /** The pull request that this one reverts; `closes` is empty then. */
  readonly reverts: number | null;
}

/**
 * Finds the closing references to issues of `repo` in `text` (github-cases rows 56, 57, 58, 59 and 61).
 *
 * A keyword counts with white space and a reference right after it: `Fixes #6, #7` closes 6. References are `#7`,
 * `GH-7`, `o/r#7` and the issue's full URL; those to other repositories are ignored. Code, quoted lines, HTML
 * comments and struck-out text hold none. A negation anywhere on the line, before or after, flags the reference.
 */
export function closingReferences(text: string | null, repo: ReferenceRepo): ClosingReferences {
  const address = addressOf(repo);
  const paragraphs = proseOf(text ?? "");
  const reverts = revertedPull(paragraphs.flat(), address);

  const closes = new Set<number>();
  const flagged = new Map<string, FlaggedReference>();
  for (const { number, doubt, line } of paragraphs.flatMap((lines) => referencesIn(lines, address))) {
    const why = reverts === null ? doubt : "reverted";
    if (why === null) closes.add(number);
    else if (!flagged.has(`${number} ${why}`)) flagged.set(`${number} ${why}`, { number, why, line });
  }
  return { closes: [...closes], flagged: [...flagged.values()], reverts };
}

interface Reference {
  readonly number: number;
  readonly doubt: Doubt | null;
}

const KEYWORD = /close[sd]?|fix(?:es|ed)?|resolve[sd]?/gi;

/** An optional colon and white space. A soft line break is white space, the end of a paragraph is not. */
const GAP = /:?(?=\s)[^\S\n]*\n?[^\S\n]*/y;

const NEGATION =
  /(?<![a-z\d])(?:not|never|cannot|nor|neither|no\s+longer|rather\s+than|instead\s+of|partially|partly|[a-z]+n['’]t|(?:do|does|did|is|are|was|were|has|have|had|wo|ca|could|would|should)nt)(?![a-z\d])/i;

/** These deny only what follows at once; farther from the keyword they are about something else. */
const DENIAL = /(?<![a-z\d])(?:no|without|unable\s+to|fail(?:s|ed)?\s+to|yet\s+to|todo:?)[\s*_]*$/i;

/** `git revert` begins its subject so, and repeats the reverted commit's; a merge by squash carries it along. */
const REVERT_SUBJECT = /^\W{0,20}Revert "/;

function referencesIn(lines: ProseLine[], address: Address): (Reference & { line: string })[] {
  const denies = lines.map(({ prose }) => NEGATION.test(prose));
  return lines.flatMap(({ raw, prose }, index) => {
    const next = lines[index + 1];
    const reach = next === undefined ? prose : `${prose}\n${next.prose}`;
    const isRevert = REVERT_SUBJECT.test(prose);
    const found: (Reference & { line: string })[] = [];

    for (const keyword of prose.matchAll(KEYWORD)) {
      const start = endOfMatch(GAP, reach, keyword.index + keyword[0].length);
      if (start === null || !beginsWord(prose, keyword.index)) continue;
      const reference = referenceAt(reach, start, address);
      if (reference === null) continue;

      const isOnNextLine = start > prose.length;
      const isNegated =
        denies[index] ||
        (isOnNextLine && denies[index + 1]) ||
        DENIAL.test(prose.slice(Math.max(0, keyword.index - 40), keyword.index));
      const doubt = isRevert ? "reverted" : isNegated ? "negated" : reference.doubt;
      found.push({ number: reference.number, doubt, line: excerpt(raw, keyword.index) });
    }
    return found;
  });
}

/** `préfixes`, `my_fixes` and `auto-fixes` are other words; the underscores of `_fixes #7_` are emphasis. */
function beginsWord(text: string, index: number): boolean {
  const before = text.slice(Math.max(0, index - 5), index).replace(/_{1,3}$/, "");
  return !/[\p{L}\p{M}\p{N}_-]$/u.test(before);
}

function excerpt(line: string, index: number): string {
  return cleanText(line.slice(Math.max(0, index - 120), index + 120)).trim();
}

/** `[text](url)`, `[text][label]`, `[text]` and `<url>`. */
const LINK =
  /\[(?<text>[^[\]\n]{1,300})\](?:\(<?(?<url>[^\s()<>]{1,500}))?|<(?<auto>https?:[^\s<>]{1,500})>/iy;

/** `[Fixes #7](url)` has the reference, and the keyword with it, within a link. */
const LINK_TEXT_ENDS = /[^[\]\n]{0,300}\][([]/y;

/** The URL goes on into the issue's page. Punctuation that ends the sentence does not. */
const GOES_INTO_PAGE = /\/?[#?]\w|\/\w/y;

function referenceAt(text: string, start: number, address: Address): Reference | null {
  const target = targetAt(text, start, address);
  if (target?.kind === "issues") {
    const { number, end } = target;
    if (target.isUrl && endOfMatch(GOES_INTO_PAGE, text, end) !== null)
      return { number, doubt: "comment_link" };
    return { number, doubt: endOfMatch(LINK_TEXT_ENDS, text, end) === null ? null : "linked_form" };
  }

  const link = matchAt(LINK, text, start)?.groups;
  if (link === undefined) return null;
  const linked = targetAt(link.url ?? link.auto ?? "", 0, address) ?? targetAt(link.text ?? "", 0, address);
  return linked?.kind === "issues" ? { number: linked.number, doubt: "linked_form" } : null;
}

/** The line that GitHub's revert button writes, at its beginning. */
const REVERTS = /\s*Reverts\s+/iy;

/** The pull request in the first line that reads "Reverts o/r#12". */
function revertedPull(lines: ProseLine[], address: Address): number | null {
  for (const { prose } of lines) {
    const start = endOfMatch(REVERTS, prose, 0);
    const target = start === null ? null : targetAt(prose, start, address);
    if (target !== null) return target.number;
  }
  return null;
}

/** A repository's address, in the one form that all its spellings share. */
interface Address {
  readonly host: string;
  readonly path: string;
}

interface Target {
  readonly number: number;
  readonly kind: "issues" | "pull";
  readonly isUrl: boolean;
  readonly end: number;
}

/** `#70`, `#7th` and `#7.5` are not `#7`; in `_fixes #7_` the underscore is emphasis. */
const NUMBER = String.raw`(?<number>[1-9]\d{0,15})(?!_{0,3}[A-Za-z\d]|\.\d)`;
const PATH = String.raw`(?<path>[\w.-]{1,100}/[\w.-]{1,100})`;
const SHORT_REFERENCE = new RegExp(`(?:${PATH}?#|GH-)${NUMBER}`, "iy");
const URL_REFERENCE = new RegExp(
  `https?://(?<host>[^\\s/]{1,255})/${PATH}/(?<kind>issues|pull)/${NUMBER}`,
  "iy",
);

/** The issue or pull request of this repository that is named at `start`. A short reference may be to either. */
function targetAt(text: string, start: number, address: Address): Target | null {
  const url = matchAt(URL_REFERENCE, text, start);
  const match = url ?? matchAt(SHORT_REFERENCE, text, start);
  if (match === null) return null;

  const { host = address.host, path = address.path, kind = "issues" } = match.groups ?? {};
  if (host.toLowerCase() !== address.host || path.toLowerCase() !== address.path) return null;
  const number = Number(match.groups?.number);
  if (!Number.isSafeInteger(number)) return null;
  return {
    number,
    kind: kind.toLowerCase() === "pull" ? "pull" : "issues",
    isUrl: url !== null,
    end: start + match[0].length,
  };
}

function addressOf({ owner, name, host = "https://github.com" }: ReferenceRepo): Address {
  return {
    host: host
      .replace(/^https?:\/\//i, "")
      .replace(/\/$/, "")
      .toLowerCase(),
    path: `${owner}/${name}`.toLowerCase(),
  };
}

/** At `start` with a sticky expression, from `start` on with a global one. */
function matchAt(expression: RegExp, text: string, start: number): RegExpExecArray | null {
  expression.lastIndex = start;
  return expression.exec(text);
}

function endOfMatch(sticky: RegExp, text: string, start: number): number | null {
  const match = matchAt(sticky, text, start);
  return match && start + match[0].length;
}

interface ProseLine {
  /** As it was written. */
  readonly raw: string;
  /** The same with all that is no prose blotted out, in the same positions. */
  readonly prose: string;
}

/**
 * The paragraphs, headings and list items that a reader of the Markdown sees, by CommonMark's rules for blocks:
 * without fenced and indented code, quoted lines, HTML comments and `<pre>`.
 *
 * Two departures: only a line with its own `>` is quoted, since people answer directly below a quotation; and a
 * list item that begins empty may have its content after any number of blank lines.
 */
function proseOf(text: string): ProseLine[][] {
  const blocks: ProseLine[][] = [];
  let paragraph: ProseLine[] = [];
  let items: number[] = [];
  let fence: { run: string; column: number } | null = null;
  let htmlEnd: RegExp | null = null;

  const endParagraph = () => {
    if (paragraph.length > 0) blocks.push(withoutInlineCode(paragraph));
    paragraph = [];
  };
  const addHtml = (raw: string, from: number) => {
    const { prose, end } = blotHtml(raw, from, htmlEnd);
    htmlEnd = end;
    blocks.push(withoutInlineCode([{ raw, prose }]));
  };

  for (const raw of text.split(/\r\n|\r|\n/)) {
    const start = indentation(raw, 0, 0);
    const isBlank = start.index === raw.length;
    if (htmlEnd !== null) {
      addHtml(raw, 0);
      continue;
    }
    // A list item takes the fence within it along when it ends.
    if (fence !== null && (isBlank || start.column >= fence.column)) {
      if (closesFence(fence, raw, start)) fence = null;
      continue;
    }
    fence = null;
    if (isBlank) {
      endParagraph();
      continue;
    }

    const { at, open, isNew } = openItems(raw, start, items, paragraph.length > 0);
    const margin = open.at(-1) ?? 0;
    const carriesOn = paragraph.length > 0 && !isNew;
    const block = blockAt(raw, at, margin, carriesOn);
    // Text carries a paragraph on even where it is not indented for the paragraph's list item.
    if (block === "text" && carriesOn) {
      paragraph.push({ raw, prose: raw });
      continue;
    }
    items = open;
    endParagraph();
    if (block === "text") paragraph.push({ raw, prose: raw });
    if (block === "heading") blocks.push(withoutInlineCode([{ raw, prose: raw }]));
    if (block === "fence") fence = { run: matchAt(FENCE, raw, at.index)?.[0] ?? "", column: margin };
    if (block === "html") addHtml(raw, at.index);
  }
  endParagraph();
  return blocks;
}

interface Position {
  readonly index: number;
  /** Where `index` stands on a page, a tab reaching to the next multiple of four. */
  readonly column: number;
}

const LIST_MARKER = /(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/y;

/** What can begin a list in the middle of a paragraph; `10)` there is only how a line happens to begin. */
const INTERRUPTING_MARKER = /(?:[-*+]|1[.)])(?=[ \t]+[^ \t])/y;

/** cmark's limit too. It bounds the work for each line. */
const MAX_LIST_DEPTH = 100;

/**
 * The list items that hold the line's content, as the columns where their content begins: those of `items` that
 * the line is indented for, and those that it begins itself.
 */
function openItems(raw: string, start: Position, items: number[], isInParagraph: boolean) {
  const open = items.filter((column) => column <= start.column);
  const carriesOn = isInParagraph && open.length === items.length;
  let at = start;
  let isNew = false;
  while (
    at.column - (open.at(-1) ?? 0) < 4 &&
    open.length < MAX_LIST_DEPTH &&
    matchAt(RULE, raw, at.index) === null
  ) {
    const markerEnd = endOfMatch(carriesOn && !isNew ? INTERRUPTING_MARKER : LIST_MARKER, raw, at.index);
    if (markerEnd === null) break;
    const column = at.column + markerEnd - at.index;
    at = indentation(raw, markerEnd, column);
    // Far from its marker, the content is indented code that begins one space after the marker.
    open.push(at.index === raw.length || at.column - column > 4 ? column + 1 : at.column);
    isNew = true;
  }
  return { at, open, isNew };
}

const RULE = /([-*_])[ \t]*(?:\1[ \t]*){2,}$/y;
const UNDERLINE = /(?:-+|=+)[ \t]*$/y;
const FENCE = /`{3,}(?=[^`]*$)|~{3,}/y;
const HTML_BLOCK = /<!--|<pre\b/iy;
const HEADING = /#{1,6}(?:[ \t]|$)/y;

/** What the content at a position begins. An indented line is code, unless a paragraph goes on with it. */
function blockAt(raw: string, { index, column }: Position, margin: number, isInParagraph: boolean) {
  if (index === raw.length) return "nothing";
  if (column - margin >= 4) return isInParagraph ? "text" : "code";
  if (raw[index] === ">") return "quote";
  if (matchAt(FENCE, raw, index) !== null) return "fence";
  if (matchAt(HTML_BLOCK, raw, index) !== null) return "html";
  if (matchAt(HEADING, raw, index) !== null) return "heading";
  if (matchAt(RULE, raw, index) !== null) return "rule";
  if (isInParagraph && matchAt(UNDERLINE, raw, index) !== null) return "rule";
  return "text";
}

const FENCE_END = /(?<run>`{3,}|~{3,})[ \t]*$/y;

function closesFence(fence: { run: string; column: number }, raw: string, at: Position): boolean {
  if (at.column - fence.column >= 4) return false;
  return matchAt(FENCE_END, raw, at.index)?.groups?.run?.startsWith(fence.run) ?? false;
}

function indentation(raw: string, from: number, column: number): Position {
  const at = { index: from, column };
  for (; raw[at.index] === " " || raw[at.index] === "\t"; at.index++) {
    at.column += raw[at.index] === "\t" ? 4 - (at.column % 4) : 1;
  }
  return at;
}

const HTML_OPEN = /<!--|<pre\b/gi;
const COMMENT_END = /-->/g;
const PRE_END = /<\/pre>/gi;

/** Blots out the comments and `<pre>`s of one line; `end` finds the end of the one that is open after it. */
function blotHtml(raw: string, from: number, open: RegExp | null): { prose: string; end: RegExp | null } {
  let prose = raw.slice(0, from);
  let index = from;
  let end = open;
  while (index < raw.length) {
    if (end === null) {
      const opening = matchAt(HTML_OPEN, raw, index);
      if (opening === null) return { prose: prose + raw.slice(index), end };
      prose += raw.slice(index, opening.index);
      index = opening.index;
      end = opening[0] === "<!--" ? COMMENT_END : PRE_END;
    }
    const closing = matchAt(end, raw, index);
    if (closing === null) return { prose: prose + blot(raw.slice(index)), end };
    const after = closing.index + closing[0].length;
    prose += blot(raw.slice(index, after));
    index = after;
    end = null;
  }
  return { prose, end };
}

const INLINE = /\\[\s\S]|`+|<!--|~~|<(?:code|pre|a)\b/gi;

/** What ends each inline element; a code span is ended by as many backticks as began it. */
const INLINE_END: Record<string, RegExp> = {
  "<!--": COMMENT_END,
  "~~": /~~/g,
  "<code": /<\/code>/gi,
  "<pre": PRE_END,
  "<a": /<\/a>/gi,
};

/** Blots out the code spans, comments, struck-out text and HTML links of one block. */
function withoutInlineCode(lines: ProseLine[]): ProseLine[] {
  const text = lines.map(({ prose }) => prose).join("\n");
  const endOfElement = inlineEnds(text);
  let prose = "";
  let index = 0;
  for (
    let opening = matchAt(INLINE, text, 0);
    opening !== null;
    opening = matchAt(INLINE, text, INLINE.lastIndex)
  ) {
    const end = endOfElement(opening[0].toLowerCase(), opening.index);
    if (end === null) continue;
    prose += text.slice(index, opening.index) + blot(text.slice(opening.index, end));
    index = end;
    INLINE.lastIndex = end;
  }
  prose += text.slice(index);
  return prose.split("\n").map((line, number) => ({ raw: lines[number]?.raw ?? "", prose: line }));
}

/**
 * Answers where the element that `opening` begins at `index` ends, or null where it never does and is only text.
 * To be asked from left to right: it remembers what it passed, so that a text full of openings that nothing closes
 * is not searched to its end for each of them.
 */
function inlineEnds(text: string): (opening: string, index: number) => number | null {
  const runs = Map.groupBy(text.matchAll(/`+/g), ([run]) => run.length);
  for (const sameLength of runs.values()) sameLength.reverse();
  const unclosed = new Set<string>();

  return (opening, index) => {
    if (opening.startsWith("`")) {
      const ahead = runs.get(opening.length) ?? [];
      while ((ahead.at(-1)?.index ?? Number.POSITIVE_INFINITY) <= index) ahead.pop();
      const closing = ahead.at(-1);
      return closing === undefined ? null : closing.index + opening.length;
    }
    const end = INLINE_END[opening];
    if (end === undefined || unclosed.has(opening)) return null;
    const closing = matchAt(end, text, index + opening.length);
    if (closing === null) unclosed.add(opening);
    return closing === null ? null : closing.index + closing[0].length;
  };
}

/** Blotted text is neither white space nor part of a word, so nothing joins up across it. */
function blot(text: string): string {
  return text.replace(/[^\n]/g, "\uFFFC");
}

import { endOfMatch, matchAt } from "./match-at.ts";

export interface ProseLine {
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
export function proseOf(text: string): ProseLine[][] {
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

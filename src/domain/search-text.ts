/** What people type into a search, as PostgreSQL is asked; and highlights that are safe to show. */

/** The marks of highlights, in PostgreSQL's answer only. They are of the private use area, and taken out of all text. */
export const MARKS = { start: "\uE000", end: "\uE001", cut: "\uE002" } as const;

/** Text as words, character for character: `search_text` of the migrations does the same, which a test holds it to. */
export const searchText = (text: string): string => text.replaceAll(/[./:@#\\\-_<>&+%=\uE000-\uE002]/g, " ");

const TERM = /(-?)"([^"]*)"?|[^\s"]+/g;

/**
 * What was typed, in the form of `websearch_to_tsquery`: words, "phrases", `or`, and `-` for what must not be there. A
 * term of several words, such as a path, is a phrase. Anything may be typed.
 */
export function searchQuery(typed: string): string {
  return [...typed.matchAll(TERM)].flatMap(([term, sign, quoted]) => termOf(term, sign, quoted)).join(" ");
}

function termOf(term: string, sign: string | undefined, quoted: string | undefined): string[] {
  const minus = quoted === undefined ? (term.startsWith("-") ? "-" : "") : (sign ?? "");
  const words = searchText(quoted ?? term)
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return [];
  const [word = ""] = words;
  const isWord = quoted === undefined && words.length === 1;
  return [isWord ? minus + word : `${minus}"${words.join(" ")}"`];
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");

/**
 * The original's words that were found, between `<mark>` and `</mark>`; all else is escaped for HTML, so that what was
 * stored cannot become markup. `marked` is PostgreSQL's highlight of the original's search text. Null: nothing is marked.
 */
export function highlight(original: string, marked: string): string | null {
  if (!marked.includes(MARKS.start)) return null;
  const flat = searchText(original);
  return marked
    .split(MARKS.cut)
    .map((fragment) => fromOriginal(original, flat, fragment))
    .join(" … ");
}

function fromOriginal(original: string, flat: string, fragment: string): string {
  const parts = fragment.split(/([\uE000\uE001])/);
  const plain = parts.filter((_, index) => index % 2 === 0).join("");
  let at = flat.indexOf(plain);
  const source = at < 0 ? plain : original;
  if (at < 0) at = 0;
  return parts
    .map((part) => {
      if (part === MARKS.start) return "<mark>";
      if (part === MARKS.end) return "</mark>";
      at += part.length;
      return escaped(source.slice(at - part.length, at));
    })
    .join("");
}

/** Titles that say nearly the same: whoever proposes an issue is told of those that are open. */

/** At least so alike are two titles of one thing. */
const LEAST = 0.75;
const MOST = 5;

/** Words that tell no two titles apart. */
const FILLERS: ReadonlySet<string> = new Set([
  "a",
  "an",
  "and",
  "for",
  "in",
  "of",
  "on",
  "the",
  "to",
  "with",
]);

/** Without case, accents, punctuation and fillers. */
function wordsOf(title: string): string[] {
  const plain = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => !FILLERS.has(word));
  return telling.length > 0 ? telling : words;
}

const numbersOf = (words: readonly string[]): string =>
  words
    .filter((word) => /^\p{N}+$/u.test(word))
    .sort()
    .join(" ");

/** Three letters at a time, the ends of words among them. */
function trigramsOf(words: readonly string[]): Set<string> {
  const found = new Set<string>();
  for (const word of words) {
    const padded = [...`  ${word} `];
    for (let at = 0; at + 3 <= padded.length; at++) found.add(padded.slice(at, at + 3).join(""));
  }
  return found;
}

/** How much two sets share, 0 to 1 (Dice). */
function shared<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): number {
  if (a.size + b.size === 0) return 0;
  let both = 0;
  for (const one of a) if (b.has(one)) both += 1;
  return (2 * both) / (a.size + b.size);
}

/**
 * How alike two titles are, from 0 to 1, by the three-letter pieces of their words in any order. Titles with different
 * numbers in them ("step 1", "step 2") are of different things.
 */
export function titleLikeness(a: string, b: string): number {
  const [left, right] = [wordsOf(a), wordsOf(b)];
  if (numbersOf(left) !== numbersOf(right)) return 0;
  return shared(trigramsOf(left), trigramsOf(right));
}

/** The candidates with a nearly identical title, the likest first; at most five. */
export function similarTitles<T extends { readonly number: number; readonly title: string }>(
  title: string,
  candidates: readonly T[],
): T[] {
  return candidates
    .map((candidate) => ({ candidate, likeness: titleLikeness(title, candidate.title) }))
    .filter(({ likeness }) => likeness >= LEAST)
    .sort((a, b) => b.likeness - a.likeness || a.candidate.number - b.candidate.number)
    .slice(0, MOST)
    .map(({ candidate }) => candidate);
}

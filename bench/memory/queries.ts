/** What is searched for, from the rare to the word that every record holds. */

/** A word of the vocabulary, the more common the smaller its number. */
const word = (n: number): string => `w${Math.floor(20_000 * ((n % 997) / 997) ** 3)}`;

export const QUERIES: readonly (readonly [name: string, query: (n: number) => string])[] = [
  ["a word of one record", (n) => `needle${n}`],
  ["a word", word],
  ["two words", (n) => `${word(n)} ${word(n * 7 + 3)}`],
  ["two words, either", (n) => `${word(n)} or ${word(n * 7 + 3)}`],
  ["a path", (n) => `src/store/file${n % 500}.ts`],
  ["a tag", (n) => `area:a${n % 40}`],
  ["a word of every tenth title", () => "frequent"],
  ["a word of every record", () => "common"],
  ["a word of every record and a rare one", (n) => `common w${10_000 + (n % 10_000)}`],
  ["every record but those with a word", () => "common -frequent"],
];

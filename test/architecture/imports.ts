/** What a source file imports, as far as a simple scanner sees it. It would rather see too much than too little. */

/** A static, re-exporting, side-effect or type import; `null` where the name is computed and nobody can tell. */
export type Specifier = string | null;

const STRINGS_AND_COMMENTS = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/** `import … from "x"`, `import "x"` and `export … from "x"`, at the start of a statement. */
const STATEMENT = /(?:^|[;}])\s*(?:import|export)\b(?:[^"'`;]*?\bfrom\b)?\s*(["'])([^"'\n]+)\1/gm;

/** `import("x")`, in a type too, and `require("x")`. */
const CALL = /\b(?:import|require)\s*\(\s*(?:(["'`])([^"'`$]+)\1\s*[,)])?/g;

export const withoutComments = (source: string): string =>
  source.replaceAll(STRINGS_AND_COMMENTS, (_, text: string | undefined) => text ?? " ");

/** Every import of the source, once. Statements are looked for with and without the comments between their parts. */
export function importsOf(source: string): Specifier[] {
  const found = new Set<Specifier>();
  for (const text of [source, withoutComments(source)]) {
    for (const [, , specifier] of text.matchAll(STATEMENT)) found.add(specifier ?? null);
  }
  for (const [, , specifier] of source.matchAll(CALL)) found.add(specifier ?? null);
  return [...found];
}

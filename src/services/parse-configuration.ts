/** Reads the text of `.github/leasehold.yml`: settings, or what is wrong with it and where, in words for people. */

import leven from "leven";
import { type Document, isMap, isNode, isPair, LineCounter, parseDocument, type Scalar } from "yaml";
import type { z } from "zod";
import { Configuration, settingsOfConfiguration } from "../contract/configuration.ts";
import { cleanText } from "../domain/clean-text.ts";
import type { ConfiguredSettings } from "../domain/settings.ts";

export type ParsedConfiguration =
  | { readonly kind: "settings"; readonly settings: ConfiguredSettings }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** In bytes of UTF-8. YAML that is meant to be hard takes time that grows with the square of its size. */
export const MAX_CONFIGURATION_BYTES = 32_768;
/** More would bury the first, which mostly explains the rest. */
const MOST_PROBLEMS = 20;
const MOST_CHARACTERS = 300;

/** Where the parser's own words speak to programmers. */
const WORDS: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: "a second document begins here; one is expected",
};

const invalid = (...problems: string[]): ParsedConfiguration => ({
  kind: "invalid",
  // What the file says is quoted in them: kept short, and storable.
  problems: [...new Set(problems)]
    .slice(0, MOST_PROBLEMS)
    .map((problem) => cleanText(problem.slice(0, MOST_CHARACTERS))),
});

/** Null: there is no file, and the defaults hold. Never throws. */
export function parseConfiguration(text: string | null): ParsedConfiguration {
  if (Buffer.byteLength(text ?? "") > MAX_CONFIGURATION_BYTES)
    return invalid(`the file is larger than ${MAX_CONFIGURATION_BYTES} bytes`);
  const lines = new LineCounter();
  let document: Document.Parsed;
  let content: unknown;
  try {
    document = parseDocument(text ?? "", { lineCounter: lines, prettyErrors: false, stringKeys: true });
    const faults = [...document.errors, ...document.warnings];
    if (faults.length > 0)
      return invalid(
        ...faults.map(({ pos, code, message }) => `${at(lines, pos[0])}: ${WORDS[code] ?? message}`),
      );
    content = document.toJS({ maxAliasCount: 50 });
  } catch (error) {
    // Nested too deep, or aliases that multiply.
    return invalid(`the file cannot be read as YAML: ${error instanceof Error ? error.message : error}`);
  }
  const parsed = Configuration.safeParse(withoutEmptyKeys(content));
  if (parsed.success) return { kind: "settings", settings: settingsOfConfiguration(parsed.data) };
  return invalid(
    ...parsed.error.issues.slice(0, MOST_PROBLEMS).flatMap((issue) => describe(issue, document, lines)),
  );
}

/** A key with nothing behind it, as when all below it is commented out, is as good as none. */
function withoutEmptyKeys(content: unknown): unknown {
  if (content === null || content === undefined) return {};
  if (typeof content !== "object" || Array.isArray(content)) return content;
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null));
}

function describe(issue: z.core.$ZodIssue, document: Document.Parsed, lines: LineCounter): string[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      return `${where(path, document, lines)}: unknown key${suggestion(key, knownKeys(issue.path))}`;
    });
  }
  // A key of a map that is not of the form its keys have: its own issues say why.
  const reasons = issue.code === "invalid_key" ? issue.issues.map(({ message }) => message) : [issue.message];
  return reasons.map((reason) => `${where(issue.path, document, lines)}: ${reason}`);
}

/** As `line 3, column 1: labels.stale`. */
function where(path: readonly PropertyKey[], document: Document.Parsed, lines: LineCounter): string {
  const offset = offsetOf(path, document);
  const name = path.length === 0 ? "the file" : path.map(String).join(".");
  return offset === null ? name : `${at(lines, offset)}: ${name}`;
}

/** Where the value stands, or its key when there is none. */
function offsetOf(path: readonly PropertyKey[], document: Document.Parsed): number | null {
  let node: unknown = document.contents;
  let offset: number | null = null;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && keyText(item.key) === String(part));
      if (!pair) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else {
      node = isNode(node) && "items" in node ? (node.items as unknown[])[Number(part)] : undefined;
      offset = startOf(node) ?? offset;
    }
  }
  return offset;
}

const keyText = (key: unknown): string => String((key as Scalar | null)?.value ?? "");

const startOf = (node: unknown): number | null => (isNode(node) ? (node.range?.[0] ?? null) : null);

function at(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `line ${Math.max(line, 1)}, column ${Math.max(col, 1)}`;
}

/** The keys that the schema has at this place. */
function knownKeys(path: readonly PropertyKey[]): string[] {
  let schema: unknown = Configuration;
  for (const part of path) schema = below(unwrapped(schema), part);
  const shape = (unwrapped(schema) as { shape?: object } | undefined)?.shape;
  return Object.keys(shape ?? {});
}

type Inner = { def?: { innerType?: unknown; valueType?: unknown }; shape?: Record<PropertyKey, unknown> };

const unwrapped = (schema: unknown): unknown => {
  const inner = (schema as Inner | undefined)?.def?.innerType;
  return inner === undefined ? schema : unwrapped(inner);
};

const below = (schema: unknown, part: PropertyKey): unknown =>
  (schema as Inner | undefined)?.shape?.[part] ?? (schema as Inner | undefined)?.def?.valueType;

/** The nearest of the known keys, where it is near enough to be what was meant; else all of them. */
function suggestion(key: string, known: readonly string[]): string {
  const [nearest] = known
    .map((name) => ({ name, distance: leven(key.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  if (nearest && nearest.distance <= Math.max(1, Math.floor(nearest.name.length / 3)))
    return `; did you mean ${nearest.name}?`;
  return known.length > 0 ? `; known are ${known.join(", ")}` : "";
}

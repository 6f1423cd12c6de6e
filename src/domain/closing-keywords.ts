/**
 * Which issues a pull request's body or a commit's message closes by keyword.
 *
 * GitHub reads keywords only where the base is the default branch, so Leasehold reads them itself. Where GitHub's
 * own reading surprises people (it closes on "does not fix #7"), the issue is flagged instead, for a person to
 * see: work wrongly called complete is lost, work wrongly left open is found again through its branch.
 *
 * Every expression is anchored or scans forward only, because the text is anybody's and up to 256 KB long.
 */
import { cleanText } from "./clean-text.ts";
import { type ProseLine, proseOf } from "./markdown-prose.ts";
import { endOfMatch, matchAt } from "./match-at.ts";
import { MAX_NUMBER } from "./record-key.ts";

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
  if (!(number <= MAX_NUMBER)) return null;
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

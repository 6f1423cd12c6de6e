export type IssueReference = { owner: string | null; name: string | null; number: number };

/**
 * The issues that GitHub itself closes when this text reaches the default branch. It knows no negation
 * ("does not fix #7" closes #7), reads `#7#issuecomment-1` as #7, and ignores code.
 */
export function closingReferences(text: string | null): IssueReference[] {
  const references: IssueReference[] = [];
  for (const match of withoutCode(text ?? "").matchAll(closing)) {
    const { owner, name, number, urlOwner, urlName, urlNumber, ghNumber } = match.groups ?? {};
    references.push({
      owner: owner ?? urlOwner ?? null,
      name: name ?? urlName ?? null,
      number: Number(number ?? urlNumber ?? ghNumber),
    });
  }
  return references;
}

const keyword = String.raw`(?<![\w-])(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?)`;
const short = String.raw`(?:(?<owner>[\w-]+)\/(?<name>[\w.-]+))?#(?<number>\d+)`;
const url = String.raw`https?:\/\/github\.com\/(?<urlOwner>[\w-]+)\/(?<urlName>[\w.-]+)\/issues\/(?<urlNumber>\d+)`;
const closing = new RegExp(String.raw`${keyword}:?\s+(?:${short}|${url}|GH-(?<ghNumber>\d+))(?!\w)`, "gi");

function withoutCode(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^\1[^\n]*$|$(?![\s\S]))/gm, "")
    .replace(/`[^`\n]*`/g, "")
    .replace(/<!--[\s\S]*?(?:-->|$)/g, "")
    .replace(/^ {0,3}>.*$/gm, "");
}

/** The report as a person reads it. Titles come from strangers: they are neutralised. */

import { neutralise } from "./neutralise.ts";

interface Named {
  readonly number: number;
  readonly title: string;
}

/** The report's parts that are printed; times as ISO 8601. */
export interface PrintedReport {
  readonly repository: string;
  readonly at: string;
  readonly summary: readonly string[];
  readonly inFlight: readonly (Named & {
    readonly owner: string;
    readonly attempt: number;
    readonly leaseExpiresAt: string;
    readonly isHeld: boolean;
    readonly branch: string | null;
    readonly resumeNote: string | null;
    readonly pullRequest: { readonly number: number; readonly checks: string } | null;
  })[];
  readonly ready: readonly (Named & { readonly why: string })[];
  readonly overlapping: readonly (Named & { readonly with: readonly number[] })[];
  readonly blocked: readonly (Named & { readonly why: string })[];
  readonly parked: readonly (Named & {
    readonly reason: string | null;
    readonly rulingOwner: string | null;
    readonly question: string | null;
  })[];
  readonly awaitingAdmission: readonly (Named & { readonly author: string | null })[];
  readonly defects: readonly { readonly number: number; readonly code: string; readonly detail: string }[];
  readonly divergences: readonly {
    readonly number: number;
    readonly github: string;
    readonly leasehold: string;
    readonly detail: string;
  }[];
  readonly anchors: { readonly anchored: number; readonly pending: number; readonly percent: number };
  readonly totals: Readonly<Record<string, number>>;
}

/** One line, that mentions nobody and holds no HTML; references to issues are what a report is made of. */
const plain = (text: string): string =>
  neutralise(text.replaceAll(/\s+/g, " ").trim()).replaceAll("#\u200B", "#");
const name = ({ number, title }: Named): string => `#${number} ${plain(title)}`;

export function reportMarkdown(report: PrintedReport): string {
  const { totals } = report;
  const section = (title: string, key: string, lines: readonly string[]): string[] => {
    if (lines.length === 0) return [];
    const more = (totals[key] ?? lines.length) - lines.length;
    return [
      "",
      `## ${title}`,
      "",
      ...lines.map((line) => `- ${line}`),
      ...(more > 0 ? [`- … and ${more} more`] : []),
    ];
  };
  const { anchors } = report;
  return [
    `# ${report.repository}: where are we?`,
    "",
    ...report.summary.flatMap((sentence, index) => (index === 0 ? [`**${sentence}**`, ""] : [sentence])),
    ...section("In flight", "inFlight", report.inFlight.map(flightLine)),
    ...section(
      "Ready, and why in this order",
      "ready",
      report.ready.map((item) => `${name(item)}: ${item.why}`),
    ),
    ...section(
      "Would touch the files of work in flight",
      "overlapping",
      report.overlapping.map(
        (item) => `${name(item)}: meets ${item.with.map((other) => `#${other}`).join(", ")}`,
      ),
    ),
    ...section(
      "Waiting, and for what",
      "waiting",
      report.blocked.map((item) => `${name(item)}: ${plain(item.why)}`),
    ),
    ...section("Parked: needs a ruling", "parked", report.parked.map(parkedLine)),
    ...section(
      "Awaiting a human's admission",
      "awaitingAdmission",
      report.awaitingAdmission.map((item) => `${name(item)}, by ${item.author ?? "ghost"}`),
    ),
    ...section(
      "Defects, and what to do about them",
      "defects",
      report.defects.map((defect) => `#${defect.number} \`${defect.code}\`: ${plain(defect.detail)}`),
    ),
    ...section(
      "Where GitHub and Leasehold disagree",
      "divergences",
      report.divergences.map(
        (each) =>
          `#${each.number}: GitHub says ${each.github}, Leasehold ${each.leasehold}; ${plain(each.detail)}`,
      ),
    ),
    "",
    `Anchored to files: ${anchors.anchored} of ${anchors.pending} pending items (${anchors.percent} %). As of ${report.at}.`,
    "",
  ].join("\n");
}

function flightLine(item: PrintedReport["inFlight"][number]): string {
  const pull = item.pullRequest
    ? `, pull request #${item.pullRequest.number} (checks: ${item.pullRequest.checks})`
    : "";
  const branch = item.branch ? ` on \`${item.branch}\`` : "";
  const lease = item.isHeld
    ? `lease until ${item.leaseExpiresAt}`
    : `lapsed at ${item.leaseExpiresAt}, still active`;
  const note = item.resumeNote ? `. Note: ${plain(item.resumeNote).slice(0, 300)}` : "";
  return `${name(item)}: \`${item.owner}\`, attempt ${item.attempt}, ${lease}${branch}${pull}${note}`;
}

function parkedLine(item: PrintedReport["parked"][number]): string {
  const why = item.reason ? `: ${plain(item.reason)}` : "";
  const ruling = item.question
    ? ` **${plain(item.rulingOwner ?? "Somebody")} must decide: ${plain(item.question)}**`
    : "";
  return `${name(item)}${why}${ruling}`;
}

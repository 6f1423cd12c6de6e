/** What Leasehold says on issues: functions from data to text. Every comment begins with a marker line. */

import { printMarker } from "./marker.ts";
import { fitComment, neutralise } from "./neutralise.ts";
import { itemId } from "./record-key.ts";

/** The owner named in outcomes that no worker brought about. */
export const SELF = "leasehold";

/** Markers carry whole seconds, as GitHub's own times do. */
const markerTime = (at: Date): string => `${at.toISOString().slice(0, 19)}Z`;

export interface ClaimNews {
  readonly number: number;
  readonly owner: string;
  readonly region: string;
  readonly fence: number;
  readonly grantedAt: Date;
  readonly leaseExpiresAt: Date;
  readonly attempt: number;
  readonly threshold: number;
  readonly previous: { readonly owner: string; readonly fence: number; readonly lapsed: boolean } | null;
}

/** The claim marker: the attempt itself, and in words who took over from whom. */
export function claimComment(news: ClaimNews): string {
  const marker = printMarker({
    verb: "claim",
    item: itemId(news.number),
    number: news.number,
    owner: news.owner,
    region: news.region,
    fence: news.fence,
    at: markerTime(news.grantedAt),
  });
  const lines = [
    `Claimed by \`${news.owner}\` (attempt ${news.attempt} of ${news.threshold}, fence ${news.fence}), ` +
      `lease until ${markerTime(news.leaseExpiresAt)}.`,
  ];
  if (news.previous?.lapsed) {
    lines.push(
      `Takes over from \`${news.previous.owner}\` (fence ${news.previous.fence}), whose lease lapsed. ` +
        "Its later writes are refused.",
    );
  }
  return fitComment(marker, lines.join("\n"));
}

export interface Outcome {
  readonly number: number;
  readonly owner: string;
  readonly fence: number;
}

const outcomeMarker = (
  { number, owner, fence }: Outcome,
  result: "complete" | "released" | "parked",
): string => printMarker({ verb: "outcome", item: itemId(number), number, owner, fence, result });

const quoted = (note: string | null): string =>
  note === null || note.trim() === ""
    ? ""
    : `\n\n${neutralise(note)
        .split(/\r\n|\r|\n/) // Markdown ends a line at a lone CR too; unquoted, the rest would be our own voice
        .map((line) => `> ${line}`)
        .join("\n")}`;

/** The holder gave the item back. */
export const releasedComment = (outcome: Outcome, note: string | null): string =>
  fitComment(
    outcomeMarker(outcome, "released"),
    `Released by \`${outcome.owner}\`; the item is free again.${quoted(note)}`,
  );

/** What completed an item: a merge, a human's close, durable places, or its epic's integration. */
export type Completion =
  | { readonly pull: number; readonly base: string }
  | { readonly human: string }
  | { readonly durable: readonly string[] }
  | { readonly integration: number };

/** The item is done, and by what. */
export const completedComment = (outcome: Outcome, by: Completion): string =>
  fitComment(outcomeMarker(outcome, "complete"), completionText(by));

function completionText(by: Completion): string {
  if ("pull" in by) return `Completed by pull request #${by.pull}, merged into \`${neutralise(by.base)}\`.`;
  if ("integration" in by) return `Completed with its integration item #${by.integration}.`;
  if ("human" in by) return `Completed: closed by ${neutralise(`@${by.human}`)}.`;
  const places = by.durable.map((place) => `- \`${neutralise(place)}\``).join("\n");
  return `Completed. The result is kept in:\n\n${places}`;
}

/** The pull request that completed the item was reverted: whether the work is to be done again only people know. */
export const revertedComment = (number: number, pull: number, by: number): string =>
  fitComment(
    `<!-- leasehold: reverted item=${itemId(number)} by=${by} -->`,
    `Pull request #${pull}, which completed this, was reverted by #${by}. It stays complete; ` +
      "whoever wants the work done again reopens the issue.",
  );

/** An orchestrator cancelled the item. */
export const cancelledComment = (number: number, owner: string, why: string | null): string =>
  `Cancelled by \`${owner}\`: #${number} is not worked on any more, and what waits for it stalls.${quoted(why)}`;

/** An orchestrator brought the item back. */
export const reopenedComment = (owner: string, why: string | null): string =>
  `Reopened by \`${owner}\`; the item is in the backlog again.${quoted(why)}`;

/** How a grouping hangs together: on its epic. The diagram's text is safe already (`domain/dag.ts`). */
export const diagramComment = (
  epic: number,
  items: number,
  shape: { readonly mermaid: string; readonly criticalPath: number; readonly width: number },
): string =>
  fitComment(
    `<!-- leasehold: diagram item=${itemId(epic)} -->`,
    `\`\`\`mermaid\n${shape.mermaid}\n\`\`\`\n\n` +
      `${items} items. Critical path: ${shape.criticalPath}, one after the other. Width: ${shape.width}, at once at most.`,
  );

export interface ParkNews extends Outcome {
  readonly reason: string;
  readonly note: string | null;
  /** Who can decide, and what. */
  readonly ruling: { readonly owner: string; readonly question: string } | null;
  readonly staleLabel: string;
}

/** The item is out of the ready set until a human decides. */
export const parkedComment = (news: ParkNews): string =>
  fitComment(
    outcomeMarker(news, "parked"),
    `Parked: ${neutralise(news.reason)}${quoted(news.note)}\n\n` +
      (news.ruling
        ? `To be decided by ${neutralise(news.ruling.owner)}:${quoted(news.ruling.question)}\n\n`
        : "") +
      `A human with triage rights who removes the label \`${news.staleLabel}\` unparks it; attempts then start afresh.`,
  );

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

/** A merged pull request, or a human, completed the item. */
export const completedComment = (
  outcome: Outcome,
  by: { pull: number; base: string } | { human: string },
): string =>
  fitComment(
    outcomeMarker(outcome, "complete"),
    "pull" in by
      ? `Completed by pull request #${by.pull}, merged into \`${neutralise(by.base)}\`.`
      : `Completed: closed by ${neutralise(`@${by.human}`)}.`,
  );

export interface ParkNews extends Outcome {
  readonly reason: string;
  readonly note: string | null;
  readonly staleLabel: string;
}

/** The item is out of the ready set until a human decides. */
export const parkedComment = (news: ParkNews): string =>
  fitComment(
    outcomeMarker(news, "parked"),
    `Parked: ${neutralise(news.reason)}${quoted(news.note)}\n\n` +
      `A human with triage rights who removes the label \`${news.staleLabel}\` unparks it; attempts then start afresh.`,
  );

/** Looks on GitHub and in memory for what a holder says proves the item done (protocol 8). Never in a transaction. */

import type { CompleteRequest } from "../contract/finishing.ts";
import { Problem } from "../contract/problem.ts";
import type { Evidence, PlaceEvidence } from "../domain/evidence.ts";
import { parseMarker } from "../domain/marker.ts";
import { BACKLOG, itemId } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import type { Client } from "../github/connection.ts";
import { failureOf, isAbsent } from "../github/failure.ts";
import { readPull } from "../github/pull-reads.ts";
import { readComment } from "../github/reads.ts";
import { findRecord } from "../store/records.ts";
import type { Deps } from "./deps.ts";
import type { ItemAt } from "./item-changes.ts";
import { assertRecordSeen } from "./sight.ts";
import { clientOf } from "./supervise-requests.ts";

type Shown = Pick<CompleteRequest, "pullRequest" | "durable">;

/** Throws `github_unavailable` when GitHub cannot be asked, `scope_forbidden` for a record that the caller may not see. */
export async function gatherEvidence(deps: Deps, view: View, at: ItemAt, shown: Shown): Promise<Evidence> {
  const { pullRequest, durable } = shown;
  if (pullRequest !== undefined) {
    const pull = await asking(deps, at, (client) => readPull(client, at.repository, pullRequest));
    const found = pull && {
      number: pull.number,
      // Both are GitHub's word for it; some payloads have only one (github-cases 53).
      mergedAt: pull.merged_at ?? (pull.merged ? pull.updated_at : null),
      base: pull.base.ref,
    };
    return { kind: "pull", number: pullRequest, pull: found };
  }
  if (durable === undefined) return { kind: "none" };
  const places: PlaceEvidence[] = [];
  for (const place of durable) places.push({ place, found: await look(deps, view, at, place) });
  return { kind: "durable", places };
}

async function look(deps: Deps, view: View, at: ItemAt, place: string): Promise<PlaceEvidence["found"]> {
  const comment = /^issue-comment:(\d+)$/.exec(place)?.[1];
  if (comment !== undefined) return lookForComment(deps, at, Number(comment));
  const [, topic = "", id = ""] = place.split("/");
  if (topic === BACKLOG && id === itemId(at.number)) return "own";
  const ref = { repositoryId: at.repository.id, topic, id };
  await assertRecordSeen(deps.db, view, ref);
  const record = await findRecord(deps.db, ref);
  if (record === null) return "missing";
  return record.expiresAt === null ? "kept" : "expires";
}

async function lookForComment(deps: Deps, at: ItemAt, id: number): Promise<PlaceEvidence["found"]> {
  const comment = await asking(deps, at, (client) => readComment(client, at.repository, id));
  if (comment === null) return "missing";
  const issue = Number(/\/issues\/(\d+)$/.exec(comment.issue_url ?? "")?.[1]);
  if (issue !== at.number) return "elsewhere";
  return parseMarker(comment.body ?? "") === null ? "kept" : "marker";
}

/** Null: GitHub says that there is none. */
async function asking<T>(
  deps: Deps,
  { repository }: ItemAt,
  question: (client: Client) => Promise<T>,
): Promise<T | null> {
  if (repository.installationId === null) {
    throw new Problem(
      "github_unavailable",
      "this repository is not connected to a GitHub App, so nothing can be checked",
    );
  }
  try {
    return await question(await clientOf(deps, repository.installationId));
  } catch (error) {
    if (isAbsent(error)) return null;
    const { message, retryAfterSeconds } = failureOf(error);
    throw new Problem(
      "github_unavailable",
      `GitHub could not be asked for the evidence; try again. It said: ${message}`,
      {
        retryAfterMs: (retryAfterSeconds ?? 5) * 1000,
      },
    );
  }
}

/**
 * A transferred issue takes its edges and its memory along (github-cases 28, 62): GitHub tells the old place
 * `transferred` and the new one `opened`, in either order, and each names both. Where the new repository is not
 * installed, edges to the tombstone stay.
 */

import type { z } from "zod";
import type { IssuesPayload } from "../contract/github-payloads.ts";
import { itemTarget } from "../domain/record-key.ts";
import type { Trx } from "../store/database.ts";
import { lockEdges } from "../store/edges.ts";
import { lockItem } from "../store/item-lock.ts";
import { keepPark } from "../store/moved-memory.ts";
import { type IssueAt, moveIssueLinks } from "../store/native-links.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import { noteMoved } from "./cycles.ts";
import { inheritMemory } from "./inherit-memory.ts";

type Payload = z.infer<typeof IssuesPayload>;

export async function followTransfer(trx: Trx, repository: Repository, payload: Payload): Promise<void> {
  const transfer = transferOf(repository, payload);
  if (transfer !== null) await followMove(trx, transfer);
}

/** An issue at its old place and its new one. `id`: GitHub's id of it at the new one. */
export interface Move {
  readonly from: IssueAt;
  readonly to: IssueAt;
  readonly id: number;
}

/** Takes the issue's edges along, unless they went before, or go nowhere that is known here. */
export async function followMove(trx: Trx, transfer: Move): Promise<void> {
  const source = await findRepositoryById(trx, transfer.from.repositoryId);
  const target = await findRepositoryById(trx, transfer.to.repositoryId);
  if (!source || !target?.installed) return;
  const moved = { repository: target, number: transfer.to.number };
  // Whoever speaks for the new place has its item before the edges; so has whoever speaks for the old one.
  await lockItem(trx, target.id, moved.number);
  await lockEdges(trx);
  await moveIssueLinks(trx, transfer.from, transfer.to, transfer.id);
  await keepPark(trx, transfer.from);
  const place = ({ repositoryId, number }: IssueAt) => ({ repositoryId, target: itemTarget(number) });
  await noteMoved(trx, place(transfer.from), place(transfer.to));
  await inheritMemory(trx, moved);
}

function transferOf(repository: Repository, { action, issue, changes }: Payload): Move | null {
  const here: IssueAt = { repositoryId: repository.id, number: issue.number };
  if (action === "transferred" && changes?.new_issue && changes.new_repository) {
    const to = { repositoryId: changes.new_repository.id, number: changes.new_issue.number };
    return { from: here, to, id: changes.new_issue.id };
  }
  if (action === "opened" && changes?.old_issue && changes.old_repository) {
    const from = { repositoryId: changes.old_repository.id, number: changes.old_issue.number };
    return { from, to: here, id: issue.id };
  }
  return null;
}

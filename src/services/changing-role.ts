/** Every transition is kept, with its actor (protocol 9). */

import { type Role, roleOf } from "../domain/item-state.ts";
import type { Trx } from "../store/database.ts";
import { findRoleFacts, recordTransition } from "../store/transitions.ts";
import type { ItemAt } from "./item-changes.ts";

export interface Trigger {
  readonly trigger: string;
  readonly actor: string;
  readonly summary?: string | null;
  readonly fence?: number | null;
}

/** Makes a change, and keeps from which role to which it led. Answers the role that it led to. */
export async function changingRole(
  trx: Trx,
  at: ItemAt,
  { trigger, actor, summary = null, fence = null }: Trigger,
  change: () => Promise<void>,
): Promise<Role> {
  const from = await currentRole(trx, at);
  await change();
  const to = await currentRole(trx, at);
  await recordTransition(trx, at.repository.id, at.number, { trigger, actor, from, to, summary, fence });
  return to;
}

export async function currentRole(trx: Trx, { repository, number }: ItemAt): Promise<Role> {
  const facts = await findRoleFacts(trx, repository.id, number);
  if (facts === null) throw new Error(`there is no item ${number} in repository ${repository.id}`);
  return roleOf(facts);
}

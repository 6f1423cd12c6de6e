/** Asks GitHub who somebody is: only when the answer can matter. */

import { type ActorFacts, isHuman, mayBeHuman, type Sender } from "../domain/human.ts";
import type { RepositorySettings } from "../domain/settings.ts";
import type { Client } from "../github/connection.ts";
import { type RepoAddress, readPermission } from "../github/reads.ts";

/** The name used in records when GitHub names nobody (a ghost, a missing sender). */
export const loginOf = (sender: { login?: string | null | undefined } | null | undefined): string =>
  sender?.login ?? "ghost";

export const senderOf = (
  user:
    | { id?: number | null | undefined; login?: string | null | undefined; type?: string | null | undefined }
    | null
    | undefined,
): Sender => ({ id: user?.id ?? null, login: user?.login ?? null, type: user?.type ?? null });

/** Whether the sender is a human with triage rights (protocol 3). Costs one request, and none for bots. */
export async function askHuman(
  client: Client,
  repo: RepoAddress,
  sender: Sender,
  viaApp: boolean,
  settings: RepositorySettings,
): Promise<boolean> {
  if (!mayBeHuman(sender, settings.agents) || viaApp || sender.login === null) return false;
  const facts: ActorFacts = { sender, viaApp, permission: await readPermission(client, repo, sender.login) };
  return isHuman(facts, settings.agents);
}

/** Asks GitHub who somebody is: only when the answer can matter. */

import type { LabelEvent } from "../domain/admission-history.ts";
import { type ActorFacts, isHuman, mayBeHuman, type Sender } from "../domain/human.ts";
import { isStillAsked } from "../domain/park-by-label.ts";
import type { RepositorySettings } from "../domain/settings.ts";
import { sameLabel } from "../domain/tags.ts";
import type { Client } from "../github/connection.ts";
import { type IssueEventRead, type RepoAddress, readIssueEvents, readPermission } from "../github/reads.ts";
import type { Repository } from "../store/repositories.ts";

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

/** The last thing done to a label on an issue, with whether a human did it: earlier acts decide nothing. */
export async function labelActs(
  client: Client,
  repository: Repository,
  events: readonly IssueEventRead[],
  label: string,
): Promise<LabelEvent[]> {
  const { labels, gateSince } = repository.settings;
  // What was done to a label before it was the gate was about something else.
  const since = gateSince !== null && sameLabel(label, labels.gate) ? new Date(gateSince) : null;
  const last = events.filter(isAbout(label)).findLast((event) => since === null || event.at >= since);
  if (!last) return [];
  return [labelEvent(last, await isOfHuman(client, repository, last))];
}

/** Whether an event is about this label. */
export const isAbout =
  (label: string) =>
  (event: IssueEventRead): boolean =>
    event.label !== null && sameLabel(event.label, label);

export const labelEvent = (act: IssueEventRead, human: boolean): LabelEvent => ({
  action: act.event === "labeled" ? "labeled" : "unlabeled",
  login: act.sender.login,
  at: act.at,
  human,
});

export const isOfHuman = (
  client: Client,
  repository: Repository,
  { sender, viaApp }: IssueEventRead,
): Promise<boolean> => askHuman(client, repository, sender, viaApp, repository.settings);

/** The last act of a human on the stale label; null: there is none, or it asks for no park any more. */
export async function lastStaleOfHuman(
  client: Client,
  repository: Repository,
  events: readonly IssueEventRead[],
): Promise<IssueEventRead | null> {
  const act = await lastOfHuman(client, repository, events.filter(isAbout(repository.settings.labels.stale)));
  if (act === null || act.event !== "labeled") return act;
  return (await goesOnAsking(client, repository, events, act)) ? act : null;
}

/** The human who put the stale label on the issue, where the last who did was one, and it still asks for a park. */
export async function askStale(
  client: Client,
  repository: Repository,
  number: number,
): Promise<string | null> {
  const events = await readIssueEvents(client, repository, number);
  const [last] = await labelActs(client, repository, events, repository.settings.labels.stale);
  if (last?.action !== "labeled" || !last.human) return null;
  return (await lastStaleOfHuman(client, repository, events)) === null ? null : last.login;
}

/** Whether a human's act of putting the stale label on still asks for a park. Mostly costs nothing. */
export async function goesOnAsking(
  client: Client,
  repository: Repository,
  events: readonly IssueEventRead[],
  labeled: IssueEventRead,
): Promise<boolean> {
  const place = events.indexOf(labeled);
  const closes = events.slice(0, place).filter(({ event }) => event === "closed" || event === "reopened");
  const reopenings = events.slice(place).filter(({ event }) => event === "reopened");
  if (closes.length === 0 || reopenings.length === 0) return true;
  const before = await lastOfHuman(client, repository, closes);
  return isStillAsked({
    before: before === null ? null : before.event === "closed" ? "closed" : "reopened",
    isReopened: (await lastOfHuman(client, repository, reopenings)) !== null,
  });
}

/** The last of the acts that a human did; null: none. Asks from the last one back, and no further. */
export async function lastOfHuman(
  client: Client,
  repository: Repository,
  acts: readonly IssueEventRead[],
): Promise<IssueEventRead | null> {
  for (const act of acts.toReversed()) if (await isOfHuman(client, repository, act)) return act;
  return null;
}

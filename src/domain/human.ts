/** Who is a human (protocol 3): only humans admit and unpark. It fails closed. */

export const PERMISSIONS = ["none", "read", "triage", "write", "maintain", "admin"] as const;
export type Permission = (typeof PERMISSIONS)[number];

export interface Sender {
  readonly id: number | null;
  readonly login: string | null;
  /** GitHub's user type; null for a ghost or a missing sender. */
  readonly type: string | null;
}

export interface ActorFacts {
  readonly sender: Sender;
  /** The sender acted through a GitHub App with a user's token (`performed_via_github_app`). */
  readonly viaApp: boolean;
  readonly permission: Permission;
}

export const hasTriage = (permission: Permission): boolean =>
  PERMISSIONS.indexOf(permission) >= PERMISSIONS.indexOf("triage");

export const hasWrite = (permission: Permission): boolean =>
  PERMISSIONS.indexOf(permission) >= PERMISSIONS.indexOf("write");

/** GitHub's GraphQL names an app `app`, its webhooks `app[bot]`: one actor. */
const bareLogin = (login: string): string => login.toLowerCase().replace(/\[bot\]$/, "");

/** Whether this login is listed as an agent. */
export const isListedAgent = (login: string | null, agents: readonly string[]): boolean =>
  login !== null && agents.some((agent) => bareLogin(agent) === bareLogin(login));

/** Could be a human as far as GitHub's type and the agents list tell; rights are still to be asked for. */
export const mayBeHuman = (sender: Sender, agents: readonly string[]): boolean =>
  sender.type === "User" && sender.login !== null && !isListedAgent(sender.login, agents);

/**
 * A human is a sender of type User, not listed under `agents`, not acting through an app, with triage
 * rights or more. Bots, mannequins, organizations and missing senders are not.
 */
export function isHuman(facts: ActorFacts, agents: readonly string[]): boolean {
  return mayBeHuman(facts.sender, agents) && !facts.viaApp && hasTriage(facts.permission);
}

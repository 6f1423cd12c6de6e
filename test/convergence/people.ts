/** Who is at work in the random histories, and who of them is a human in the protocol's sense. */

export interface Someone {
  readonly login: string;
  /** Acts through an App with a person's token. */
  readonly viaApp?: string;
}

/** Alice is admin, tess may triage, rita may read; smith may write and is listed as an agent. */
export const ROLES = { alice: "admin", tess: "triage", rita: "read", smith: "write" } as const;

export const SETTINGS = "agents: [smith]\n";

export const EVERYBODY: readonly Someone[] = [
  { login: "alice" },
  { login: "alice" },
  { login: "tess" },
  { login: "tess" },
  { login: "rita" },
  { login: "smith" },
  { login: "alice", viaApp: "some-agent" },
  { login: "worker[bot]" },
  { login: "github-actions[bot]" },
];

/** Written down once more, apart from the program's own rule: type User, triage rights, no agent, no App between. */
export const isHuman = (login: string, viaApp: string | null): boolean =>
  viaApp === null && (login === "alice" || login === "tess");

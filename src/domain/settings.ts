/** A repository's settings (protocol 12). Every key has a default; an empty repository needs no file. */

import type { Phase, Priority } from "./tags.ts";

export interface RepositorySettings {
  readonly labels: { readonly backlog: string; readonly gate: string; readonly stale: string };
  /** Logins that are agents although GitHub calls them users. */
  readonly agents: readonly string[];
  readonly defaults: {
    readonly priority: Priority;
    readonly phase: Phase;
    /** Null: the repository's default branch. */
    readonly baseBranch: string | null;
    /** Null: the deployment's region. */
    readonly homeRegion: string | null;
    /** The first part of a working branch's name. */
    readonly type: string;
  };
  readonly poisonThreshold: number;
  readonly enrollAll: boolean;
  /** How long a lapsed item whose work still moves is kept from others. */
  readonly quarantineSeconds: number;
}

export const DEFAULT_SETTINGS: RepositorySettings = {
  labels: { backlog: "backlog", gate: "needs-specification", stale: "stale" },
  agents: [],
  defaults: { priority: "P2", phase: "implementation", baseBranch: null, homeRegion: null, type: "feat" },
  poisonThreshold: 3,
  enrollAll: false,
  quarantineSeconds: 900,
};

/** The settings in force: what was stored for the repository, over the defaults. */
export function settingsOf(stored: Partial<RepositorySettings>): RepositorySettings {
  return {
    ...DEFAULT_SETTINGS,
    ...stored,
    labels: { ...DEFAULT_SETTINGS.labels, ...stored.labels },
    defaults: { ...DEFAULT_SETTINGS.defaults, ...stored.defaults },
  };
}

/** The labels that Leasehold makes when it is installed, with a colour and a text that say what they do. */
export function ownLabels(settings: RepositorySettings) {
  return [
    {
      name: settings.labels.backlog,
      color: "1d76db",
      description: "Leasehold: an item that workers may claim",
    },
    {
      name: settings.labels.gate,
      color: "fbca04",
      description: "Leasehold: not admitted; only a human removes this",
    },
    {
      name: settings.labels.stale,
      color: "b60205",
      description: "Leasehold: parked; a human's removal unparks",
    },
  ];
}

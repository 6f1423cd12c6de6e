/**
 * A repository's settings (protocol 12). Every key has a default; an empty repository needs no file. They are stored
 * under these names, and SQL reads some of them there (`judge_item`): a name that changes needs a migration.
 */

import { hasLabel, type Phase, type Priority } from "./tags.ts";

export const RESOURCE_MODES = ["exclusive", "advisory"] as const;
export type ResourceMode = (typeof RESOURCE_MODES)[number];

/** How one resource is leased (protocol 9). */
export interface ResourceSettings {
  /** Exclusive: one item at a time. Advisory: only recorded. */
  readonly mode: ResourceMode;
  /** How long a lease lasts. Null: what stands behind it decides (a trait: the registry; the registry: 3,600 s). */
  readonly ttlSeconds: number | null;
}

export interface RegisteredResource extends ResourceSettings {
  readonly description: string | null;
}

/** What a trait brings along: its resources by key. */
export interface TraitSettings {
  readonly resources: Readonly<Record<string, ResourceSettings>>;
}

/** What a trusted OIDC subject may be given. Not `admin`: that reaches beyond the repository whose file this is. */
export const OIDC_CAPABILITIES = ["read", "claim", "write", "advance", "author"] as const;
export type OidcCapability = (typeof OIDC_CAPABILITIES)[number];

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
  /** An item without anchors is taken to overlap everything, and not nothing. */
  readonly requireAnchors: boolean;
  /** Null: however long ago the mirror was known to be whole, claims are granted. */
  readonly refuseClaimsWhenMirrorOlderThanSeconds: number | null;
  /** The registry of resources by key. One that is not listed is exclusive. */
  readonly resources: Readonly<Record<string, RegisteredResource>>;
  readonly traits: Readonly<Record<string, TraitSettings>>;
  /** The capabilities of each trusted subject of GitHub's OIDC tokens. */
  readonly oidc: Readonly<Record<string, readonly OidcCapability[]>>;
  /** What the gate label was called before. An issue that still shows one is not admitted when it becomes an item. */
  readonly formerGates: readonly string[];
  /** Since when the gate label has its name, in ISO 8601; null: always. Who took it off an issue before admitted nothing. */
  readonly gateSince: string | null;
}

/** What the configuration file says. */
export type ConfiguredSettings = Omit<RepositorySettings, "formerGates" | "gateSince">;

export const DEFAULT_SETTINGS: RepositorySettings = {
  labels: { backlog: "backlog", gate: "needs-specification", stale: "stale" },
  agents: [],
  defaults: { priority: "P2", phase: "implementation", baseBranch: null, homeRegion: null, type: "feat" },
  poisonThreshold: 3,
  enrollAll: false,
  quarantineSeconds: 900,
  requireAnchors: false,
  refuseClaimsWhenMirrorOlderThanSeconds: 3_600,
  resources: {},
  traits: {},
  oidc: {},
  formerGates: [],
  gateSince: null,
};

/** Whether one of the labels held items back, under another configuration. */
export const showsFormerGate = (labels: readonly string[], { formerGates }: RepositorySettings): boolean =>
  formerGates.some((name) => hasLabel(labels, name));

/** How long a lease on a resource lasts where nothing says otherwise (protocol 9). */
export const DEFAULT_RESOURCE_TTL_SECONDS = 3_600;

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

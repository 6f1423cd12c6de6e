/**
 * Resources outside the code that one item at a time may have (protocol 9): what an item needs by its tags, and what is
 * in its way. `resource_needs` and `resources_in_the_way` (migrations/0016) say the same in the call that claims; tests
 * hold them together.
 */

import {
  DEFAULT_RESOURCE_TTL_SECONDS,
  type RepositorySettings,
  type ResourceMode,
  type ResourceSettings,
} from "./settings.ts";
import { tagValues } from "./tags.ts";

export const RESOURCE_TAG = "resource:";
export const TRAIT_TAG = "trait:";

/** At most 128 of these. */
export const RESOURCE_KEY_PATTERN = /^[a-z0-9][a-z0-9\-_./]{0,127}$/;
export const RESOURCE_KEY_RULE =
  "a resource key: a-z 0-9 - _ . /, a letter or digit first, at most 128 characters";

/** The first tag that names a resource by what is no key; null: none does. */
export const malformedResource = (tags: readonly string[]): string | null =>
  tags.find(
    (tag) => tag.startsWith(RESOURCE_TAG) && !RESOURCE_KEY_PATTERN.test(tag.slice(RESOURCE_TAG.length)),
  ) ?? null;

/** However long a requirement asks for it. */
const MAX_TTL_SECONDS = 86_400;

/** How an interval ends. `lapsed` and `superseded`: its item was granted anew. */
export const RESOURCE_ENDS = [
  "released",
  "completed",
  "parked",
  "cancelled",
  "on_hold",
  "lapsed",
  "superseded",
  "undelivered",
  "forced",
  "expired",
] as const;
export type ResourceEnd = (typeof RESOURCE_ENDS)[number];

export interface ResourceNeed {
  readonly key: string;
  /** Exclusive: nobody else may have it meanwhile. Advisory: its use is only recorded. */
  readonly mode: ResourceMode;
  readonly ttlSeconds: number;
}

/** What a lease says that is open: held, and not run out. */
export interface OpenLease {
  readonly key: string;
  readonly holder: { readonly repositoryId: number; readonly number: number };
  readonly expiresAt: Date;
}

type Registry = Pick<RepositorySettings, "resources" | "traits">;

/**
 * What the tags call for, in name order. Asked for more than once a key is exclusive if any of them says so, for the
 * longest time that one of them names. A trait that the configuration does not know brings nothing.
 */
export function resourceNeeds(tags: readonly string[], { resources, traits }: Registry): ResourceNeed[] {
  const asked = new Map<string, ResourceSettings[]>();
  const ask = (key: string, lease: ResourceSettings): void => {
    asked.set(key, [...(asked.get(key) ?? []), lease]);
  };
  for (const key of tagValues(tags, RESOURCE_TAG)) {
    if (key !== "") ask(key, { mode: own(resources, key)?.mode ?? "exclusive", ttlSeconds: null });
  }
  for (const name of tagValues(tags, TRAIT_TAG)) {
    for (const [key, lease] of Object.entries(own(traits, name)?.resources ?? {})) ask(key, lease);
  }
  return [...asked].map(([key, leases]) => need(key, leases, resources)).sort(byKey);
}

function need(
  key: string,
  leases: readonly ResourceSettings[],
  resources: Registry["resources"],
): ResourceNeed {
  const named = leases.flatMap(({ ttlSeconds }) => ttlSeconds ?? []);
  const ttl =
    named.length > 0 ? Math.max(...named) : (own(resources, key)?.ttlSeconds ?? DEFAULT_RESOURCE_TTL_SECONDS);
  return {
    key,
    mode: leases.some(({ mode }) => mode === "exclusive") ? "exclusive" : "advisory",
    ttlSeconds: Math.min(MAX_TTL_SECONDS, ttl),
  };
}

/** The keys that are needed for oneself alone, and that others hold. `leases` are the open ones of the account. */
export const takenByOthers = (
  needs: readonly ResourceNeed[],
  leases: readonly OpenLease[],
  item: OpenLease["holder"],
): string[] =>
  needs
    .filter(
      ({ key, mode }) =>
        mode === "exclusive" && leases.some((lease) => lease.key === key && !isSame(lease.holder, item)),
    )
    .map(({ key }) => key);

export interface ItemLease {
  readonly key: string;
  readonly mode: ResourceMode;
  /** By this item. */
  readonly held: boolean;
  readonly lease: OpenLease | null;
}

/** What an item shows of resources: what it needs, and what it holds although its tags no longer name it. */
export function itemLeases(
  needs: readonly ResourceNeed[],
  leases: readonly OpenLease[],
  item: OpenLease["holder"],
): ItemLease[] {
  const undeclared = leases
    .filter(({ key, holder }) => isSame(holder, item) && !needs.some((need) => need.key === key))
    .map(({ key }) => ({ key, mode: "advisory" as const }));
  return [...needs, ...undeclared].sort(byKey).map(({ key, mode }) => {
    const lease = leases.find((open) => open.key === key) ?? null;
    return { key, mode, held: lease !== null && isSame(lease.holder, item), lease };
  });
}

const isSame = (a: OpenLease["holder"], b: OpenLease["holder"]): boolean =>
  a.repositoryId === b.repositoryId && a.number === b.number;

/** As PostgreSQL's "C" orders them: locks are taken in this order. */
const byKey = (a: { key: string }, b: { key: string }): number =>
  a.key < b.key ? -1 : a.key > b.key ? 1 : 0;

/** Own keys only: `constructor` is a name like any other here. */
const own = <T>(map: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined;

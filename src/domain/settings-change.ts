/**
 * Which part of a new configuration takes effect (protocol 12). A change that loosens a guard needs a human who pushed
 * or merged it; whatever tightens one, or guards nothing, holds at once. Judged key by key, so that one loosened guard
 * does not keep the rest of the file out.
 */

import { isListedAgent } from "./human.ts";
import {
  type ConfiguredSettings,
  DEFAULT_RESOURCE_TTL_SECONDS,
  type OidcCapability,
  type RegisteredResource,
  type RepositorySettings,
  type ResourceSettings,
  type TraitSettings,
} from "./settings.ts";
import { sameLabel } from "./tags.ts";

export interface SettingsChange {
  /** What is in force from now on. */
  readonly settings: RepositorySettings;
  /** What the file says and does not hold yet, a sentence each. */
  readonly held: readonly string[];
}

/** One guard: the value that holds, and what of the wish is held back. */
interface Guarded<T> {
  readonly value: T;
  readonly held: readonly string[];
}

const taken = <T>(value: T): Guarded<T> => ({ value, held: [] });
const kept = <T>(value: T, why: string): Guarded<T> => ({ value, held: [why] });

/**
 * Who stands behind a file. `installer`: it was there when the App was installed, which accepted it. `human`: a human
 * (protocol 3, by the settings so far) pushed or merged it. `unknown`: anybody else, or nobody knows who.
 */
export type Authority = "installer" | "human" | "unknown";

/** `at` is GitHub's time of the change. */
export function changeSettings(
  current: RepositorySettings,
  wanted: ConfiguredSettings,
  { by, at }: { by: Authority; at: Date },
): SettingsChange {
  // There was no gate of another name before: what people did to this one's label counts from the start.
  if (by === "installer") return { settings: { ...wanted, formerGates: [], gateSince: null }, held: [] };
  const { settings, held } = by === "human" ? { settings: wanted, held: [] } : guarded(current, wanted);
  const { gate } = settings.labels;
  const gateSince = sameLabel(gate, current.labels.gate) ? current.gateSince : at.toISOString();
  return { settings: { ...settings, formerGates: formerGates(current, gate), gateSince }, held };
}

/** Whether the wish loosens a guard, so that it matters who pushed it. */
export const loosensGuard = (current: RepositorySettings, wanted: ConfiguredSettings): boolean =>
  guarded(current, wanted).held.length > 0;

/** Each guard as far as it is not loosened. */
function guarded(
  current: RepositorySettings,
  wanted: ConfiguredSettings,
): { settings: ConfiguredSettings; held: readonly string[] } {
  const labels = {
    backlog: guardLabel("backlog", current.labels.backlog, wanted.labels.backlog),
    gate: guardLabel("needs-specification", current.labels.gate, wanted.labels.gate),
    stale: guardLabel("stale", current.labels.stale, wanted.labels.stale),
  };
  const agents = guardAgents(current.agents, wanted.agents);
  const enrollAll: Guarded<boolean> =
    wanted.enrollAll && !current.enrollAll
      ? kept(false, "`enroll: all` would make items of issues that nobody enrolled")
      : taken(wanted.enrollAll);
  const poisonThreshold = guardNumber(
    "poisonThreshold",
    current.poisonThreshold,
    wanted.poisonThreshold,
    Math.min,
  );
  const quarantineSeconds = guardNumber(
    "quarantineSeconds",
    current.quarantineSeconds,
    wanted.quarantineSeconds,
    Math.max,
  );
  const staleness = guardStaleness(
    current.refuseClaimsWhenMirrorOlderThanSeconds,
    wanted.refuseClaimsWhenMirrorOlderThanSeconds,
  );
  const requireAnchors: Guarded<boolean> =
    current.requireAnchors && !wanted.requireAnchors
      ? kept(true, "`requireAnchors` stays true")
      : taken(wanted.requireAnchors);
  const resources = guardRegistry(current.resources, wanted.resources);
  const traits = guardTraits(current.traits, wanted.traits);
  const oidc = guardTrust(current.oidc, wanted.oidc);
  const guards: Guarded<unknown>[] = [
    ...Object.values(labels),
    agents,
    enrollAll,
    poisonThreshold,
    quarantineSeconds,
    staleness,
    requireAnchors,
    resources,
    traits,
    oidc,
  ];
  return {
    settings: {
      labels: { backlog: labels.backlog.value, gate: labels.gate.value, stale: labels.stale.value },
      agents: agents.value,
      defaults: wanted.defaults,
      enrollAll: enrollAll.value,
      poisonThreshold: poisonThreshold.value,
      quarantineSeconds: quarantineSeconds.value,
      refuseClaimsWhenMirrorOlderThanSeconds: staleness.value,
      requireAnchors: requireAnchors.value,
      resources: resources.value,
      traits: traits.value,
      oidc: oidc.value,
    },
    held: guards.flatMap(({ held }) => held),
  };
}

/** Enough to remember; who renames more often has long looked at the oldest. */
const MOST_FORMER_GATES = 20;

/** Issues that are no items yet keep the old label, and must not be admitted by the new one's absence. */
function formerGates({ labels, formerGates: before }: RepositorySettings, gate: string): readonly string[] {
  return [...before.filter((name) => !sameLabel(name, labels.gate)), labels.gate]
    .filter((name) => !sameLabel(name, gate))
    .slice(-MOST_FORMER_GATES);
}

/** Under another name it is another label, which is on no issue yet: what is held back or parked would not show it. */
function guardLabel(key: string, current: string, wanted: string): Guarded<string> {
  return sameLabel(current, wanted)
    ? taken(wanted)
    : kept(current, `\`labels.${key}\` stays "${current}", and does not become "${wanted}"`);
}

/**
 * Whoever was an agent stays one. And nobody becomes one: listing a human takes away what only humans may do (their park
 * label, their closing, their unpark), so that an agent could list its overseers.
 */
function guardAgents(current: readonly string[], wanted: readonly string[]): Guarded<readonly string[]> {
  const lost = current.filter((login) => !isListedAgent(login, wanted));
  const more = wanted.filter((login) => !isListedAgent(login, current));
  const held = [
    ...(lost.length === 0 ? [] : [`\`agents\` still lists ${lost.join(", ")}`]),
    ...(more.length === 0 ? [] : [`\`agents\` does not list ${more.join(", ")} yet`]),
  ];
  return held.length === 0 ? taken(wanted) : { value: current, held };
}

/** `stricter` picks the stricter of two values. */
function guardNumber(
  key: string,
  current: number,
  wanted: number,
  stricter: (a: number, b: number) => number,
): Guarded<number> {
  return stricter(current, wanted) === wanted
    ? taken(wanted)
    : kept(current, `\`${key}\` stays ${current}, and does not become ${wanted}`);
}

function guardStaleness(current: number | null, wanted: number | null): Guarded<number | null> {
  const isLooser = current !== null && (wanted === null || wanted > current);
  return isLooser
    ? kept(
        current,
        `\`refuseClaimsWhenMirrorOlderThanSeconds\` stays ${current}, and does not become ${wanted ?? "off"}`,
      )
    : taken(wanted);
}

/** What holds for a key that the registry does not list. */
const UNLISTED: ResourceSettings = { mode: "exclusive", ttlSeconds: null };

const isLooserLease = (current: ResourceSettings, wanted: ResourceSettings, ttl: number): boolean =>
  current.mode === "exclusive" &&
  (wanted.mode === "advisory" || (wanted.ttlSeconds ?? ttl) < (current.ttlSeconds ?? ttl));

/** Two items must not get at once what excluded them before, nor one sooner after the other. */
function guardRegistry(
  current: RepositorySettings["resources"],
  wanted: RepositorySettings["resources"],
): Guarded<RepositorySettings["resources"]> {
  const value: Record<string, RegisteredResource> = { ...wanted };
  const held: string[] = [];
  for (const key of keysOf(current, wanted)) {
    const before = ofKey(current, key) ?? { ...UNLISTED, description: null };
    const after = ofKey(wanted, key) ?? { ...UNLISTED, description: null };
    if (!isLooserLease(before, after, DEFAULT_RESOURCE_TTL_SECONDS)) continue;
    value[key] = { ...before, description: after.description ?? before.description };
    held.push(`\`resources.${key}\` stays ${leaseWords(before)}`);
  }
  return { value, held };
}

/** As the registry, and a trait keeps what it brings along. */
function guardTraits(
  current: RepositorySettings["traits"],
  wanted: RepositorySettings["traits"],
): Guarded<RepositorySettings["traits"]> {
  const value: Record<string, TraitSettings> = { ...wanted };
  const held: string[] = [];
  for (const [name, { resources: before }] of Object.entries(current)) {
    const after = ofKey(wanted, name)?.resources ?? {};
    const resources: Record<string, ResourceSettings> = { ...after };
    for (const [key, lease] of Object.entries(before)) {
      const wish = ofKey(after, key);
      if (wish && !isLooserTraitLease(lease, wish)) continue;
      resources[key] = lease;
      held.push(`\`traits.${name}\` still brings ${key}, ${leaseWords(lease)}`);
    }
    value[name] = { resources };
  }
  return { value, held };
}

/** Where only one of them names a time the other's is the registry's, which may change by itself: taken as another. */
const isLooserTraitLease = (current: ResourceSettings, wanted: ResourceSettings): boolean =>
  (current.ttlSeconds === null) === (wanted.ttlSeconds === null)
    ? isLooserLease(current, wanted, DEFAULT_RESOURCE_TTL_SECONDS)
    : current.mode === "exclusive";

const leaseWords = ({ mode, ttlSeconds }: ResourceSettings): string =>
  ttlSeconds === null ? mode : `${mode} for ${ttlSeconds} s`;

/** Trust is only taken away. */
function guardTrust(
  current: RepositorySettings["oidc"],
  wanted: RepositorySettings["oidc"],
): Guarded<RepositorySettings["oidc"]> {
  const value: Record<string, readonly OidcCapability[]> = {};
  const held: string[] = [];
  for (const [subject, capabilities] of Object.entries(wanted)) {
    const had = ofKey(current, subject) ?? [];
    const allowed = capabilities.filter((capability) => had.includes(capability));
    const more = capabilities.filter((capability) => !had.includes(capability));
    if (allowed.length > 0) value[subject] = allowed;
    if (more.length > 0) held.push(`\`oidc\` does not give ${more.join(", ")} to ${subject}`);
  }
  return { value, held };
}

/** Own keys only: `constructor` is a name like any other here. */
const ofKey = <T>(map: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined;

const keysOf = (...maps: readonly object[]): string[] => [
  ...new Set(maps.flatMap((map) => Object.keys(map))),
];

/**
 * The schema of `.github/leasehold.yml` (protocol 12): every key with its default and its description, of which
 * docs/configuration.md is made. Unknown keys are refused: a misspelt guard must not be silently none.
 */

import { z } from "zod";
import { BRANCH_TYPE_PATTERN } from "../domain/branch-names.ts";
import { cleanText } from "../domain/clean-text.ts";
import { REGION_PATTERN } from "../domain/region.ts";
import {
  type ConfiguredSettings,
  DEFAULT_SETTINGS,
  OIDC_CAPABILITIES,
  RESOURCE_MODES,
} from "../domain/settings.ts";
import { PHASES, PRIORITIES, sameLabel } from "../domain/tags.ts";
import { text } from "./text.ts";

export const CONFIGURATION_PATH = ".github/leasehold.yml";

const { labels, defaults, agents, ...limits } = DEFAULT_SETTINGS;

const whole = (least: number, most: number) => {
  const error = `a whole number from ${least} to ${most}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
};

/** Of text that PostgreSQL can hold. */
const matching = (pattern: RegExp, most: number, error: string) =>
  z
    .string({ error })
    .max(most, { error, abort: true })
    .regex(pattern, { error })
    .refine((value) => cleanText(value) === value, { error });

/** No key but these. */
const keys = <T extends z.core.$ZodShape>(shape: T) =>
  z.strictObject(shape, {
    error: ({ code }) =>
      code === "invalid_type" ? "keys with values are expected here; {} for none" : undefined,
  });

const oneOf = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `one of ${values.join(", ")}` });

/** At most so many entries, under keys of one form. */
const mapOf = <T extends z.ZodType>(key: z.ZodType<string, string>, value: T, most: number) =>
  z
    .record(key, value, { error: "keys with values are expected here; {} for none" })
    .refine((map) => Object.keys(map).length <= most, { error: `at most ${most} entries` });

/** GitHub's bound for a label's name. */
const label = matching(
  /^(?!.*\p{Cc})\S(?:.*\S)?$/u,
  50,
  "a label's name: 1 to 50 characters, none of them blank at either end",
);

const login = matching(
  /^[A-Za-z0-9][A-Za-z0-9_-]*(?:\[bot\])?$/,
  100,
  "a login on GitHub, without @: letters, digits, - and _, and [bot] at the end of a bot's",
);

const branch = matching(
  /^(?![-/.])(?!.*(?:\.\.|\/\/|@\{|\.lock$|[/.]$))[^\s~^:?*[\]\\\p{Cc}]+$/u,
  200,
  "a branch's name, as git takes it",
);

const resourceKey = matching(
  /^[a-z0-9][a-z0-9\-_./]*$/,
  128,
  "a resource's key: small letters, digits, - _ . and /, beginning with a letter or digit",
);

const traitName = matching(
  /^[a-z0-9][a-z0-9\-_./]*$/,
  128,
  "a trait's name: small letters, digits, - _ . and /, beginning with a letter or digit",
);

/** Whose token it is stands in the first two parts, which are exact: behind them a `*` trusts only what the same has. */
const subject = matching(
  /^[A-Za-z0-9][^\s*:\p{Cc}]*:[^\s*:\p{Cc}]+(?::[^\s\p{Cc}]+)?$/u,
  500,
  "the `sub` of a token, such as repo:acme/widgets:ref:refs/heads/main; a * stands for anything, after the repository",
);

const mode = oneOf(RESOURCE_MODES);
const ttlSeconds = whole(1, 86_400).nullable();

const Labels = keys({
  backlog: label.default(labels.backlog).describe("Enrols an issue: it becomes an item."),
  "needs-specification": label.default(labels.gate).describe("Holds an item back until a human removes it."),
  stale: label.default(labels.stale).describe("Shows that an item is parked; a human's removal unparks."),
}).refine(
  (names) => {
    const all = Object.values(names);
    return all.every((name, index) => !all.slice(0, index).some((other) => sameLabel(name, other)));
  },
  { error: "three different labels are needed; upper and lower case are the same" },
);

const Defaults = keys({
  priority: oneOf(PRIORITIES).default(defaults.priority).describe("Of an issue without a priority label."),
  phase: oneOf(PHASES).default(defaults.phase).describe("What kind of work an item is."),
  baseBranch: branch
    .nullable()
    .default(defaults.baseBranch)
    .describe("What pull requests must target. Null: the repository's default branch."),
  homeRegion: matching(REGION_PATTERN, 64, "a region: 1 to 64 letters, digits, . _ and -")
    .nullable()
    .default(defaults.homeRegion)
    .describe("Where claims are taken. Null: the region of the deployment."),
  type: matching(BRANCH_TYPE_PATTERN, 30, "a branch's first part: small letters, digits and -")
    .default(defaults.type)
    .describe("The first part of a working branch's name, `<type>/issue-<number>`."),
});

const Resource = keys({
  mode: mode
    .default("exclusive")
    .describe("`exclusive`: one item at a time holds it. `advisory`: its use is only recorded."),
  ttlSeconds: ttlSeconds
    .default(null)
    .describe("How long a lease lasts, where the item's trait does not say. Null: 3,600."),
  description: text(500).nullable().default(null).describe("What it is, for people."),
});

const Trait = keys({
  resources: mapOf(
    resourceKey,
    keys({
      mode: mode.default("exclusive").describe("As in `resources`."),
      ttlSeconds: ttlSeconds.default(null).describe("Goes before the registry's. Null: the registry's."),
    }),
    20,
  )
    .prefault({})
    .describe("What an item with the tag `trait:<name>` needs, by key."),
});

/** What the file may say. Parsing answers every key. */
export const Configuration = keys({
  enroll: oneOf(["labeled", "all"])
    .default("labeled")
    .describe("Which issues become items: those with the backlog label, or all."),
  labels: Labels.prefault({}).describe("The names of Leasehold's own labels, in any case."),
  agents: z
    .array(login, { error: "a list of logins" })
    .max(200, { error: "at most 200 logins" })
    .default([...agents])
    .describe(
      "Logins that are agents although GitHub calls them users: what they do admits, unparks and completes nothing. Bots need not be listed.",
    ),
  defaults: Defaults.prefault({}).describe(
    "Fill what an issue leaves open when it becomes an item, and nothing later.",
  ),
  poisonThreshold: whole(1, 100)
    .default(limits.poisonThreshold)
    .describe(
      "At so many attempts an item is offered no more, and parked. An epic's tag `poisonThreshold:<n>` goes before it.",
    ),
  quarantineSeconds: whole(0, 3_600)
    .default(limits.quarantineSeconds)
    .describe(
      "How long after the last sign of life a lapsed item, whose work still moves, is kept from others.",
    ),
  requireAnchors: z
    .boolean({ error: "true or false" })
    .default(limits.requireAnchors)
    .describe("An item without anchored files counts as overlapping everything, and not nothing."),
  refuseClaimsWhenMirrorOlderThanSeconds: whole(60, 604_800)
    .nullable()
    .default(limits.refuseClaimsWhenMirrorOlderThanSeconds)
    .describe(
      "Claims are refused (`mirror_stale`) when the mirror was not known to be whole for so long. Null: never.",
    ),
  resources: mapOf(resourceKey, Resource, 200)
    .prefault({})
    .describe("The registry of resources, by key. A key that is not listed is exclusive, for 3,600 s."),
  traits: mapOf(traitName, Trait, 100)
    .prefault({})
    .describe("Names for sets of resources, which items pull in with the tag `trait:<name>`."),
  oidc: mapOf(
    subject,
    z
      .array(oneOf(OIDC_CAPABILITIES), { error: "a list of capabilities" })
      .min(1, { error: "at least one capability" })
      .max(20),
    50,
  )
    .prefault({})
    .describe(
      "Which workflows may call the API with GitHub's own tokens: capabilities by the token's `sub`, in which, after the repository, a `*` stands for anything; of several that match, all. `admin` is not to be had this way.",
    ),
});

/** The file's words in the words of the domain. */
export function settingsOfConfiguration({
  enroll,
  labels: names,
  oidc,
  ...same
}: z.infer<typeof Configuration>): ConfiguredSettings {
  return {
    ...same,
    enrollAll: enroll === "all",
    labels: { backlog: names.backlog, gate: names["needs-specification"], stale: names.stale },
    oidc: Object.fromEntries(
      Object.entries(oidc).map(([trusted, capabilities]) => [trusted, [...new Set(capabilities)]]),
    ),
  };
}

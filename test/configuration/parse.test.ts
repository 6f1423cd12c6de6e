/** `.github/leasehold.yml` as text: what is taken, and what is refused, where and in which words. */

import { describe, expect, it } from "vitest";
import { DEFAULT_SETTINGS, type RepositorySettings } from "../../src/domain/settings.ts";
import { MAX_CONFIGURATION_BYTES, parseConfiguration } from "../../src/services/parse-configuration.ts";

const { formerGates, gateSince, ...DEFAULTS } = DEFAULT_SETTINGS;
const problems = (text: string): readonly string[] => {
  const parsed = parseConfiguration(text);
  return parsed.kind === "invalid" ? parsed.problems : [];
};

describe("what is taken", () => {
  it.each<[string, string | null, Partial<RepositorySettings>]>([
    ["no file", null, {}],
    ["an empty file", "", {}],
    ["comments only", "# agents: [a]\n", {}],
    ["a byte order mark, as Windows writes it", "\uFEFFpoisonThreshold: 5\r\n", { poisonThreshold: 5 }],
    ["keys with nothing behind them", "labels:\nagents:\nresources:\n", {}],
    ["one label", "labels: {stale: parked}", { labels: { ...DEFAULTS.labels, stale: "parked" } }],
    [
      "the gate, under its name in the file",
      "labels: {needs-specification: needs spec}",
      { labels: { ...DEFAULTS.labels, gate: "needs spec" } },
    ],
    ["enroll: all", "enroll: all", { enrollAll: true }],
    [
      "one default",
      "defaults: {baseBranch: feat/x}",
      { defaults: { ...DEFAULTS.defaults, baseBranch: "feat/x" } },
    ],
    ["a default that is null", "defaults: {baseBranch: null}", {}],
    ["bots among the agents", "agents: [worker_1, 'ci[bot]']", { agents: ["worker_1", "ci[bot]"] }],
    [
      "a resource with all its defaults",
      "resources: {db: {}}",
      { resources: { db: { mode: "exclusive", ttlSeconds: null, description: null } } },
    ],
    ["a capability named twice", "oidc: {'repo:a/b:x': [read, read]}", { oidc: { "repo:a/b:x": ["read"] } }],
    ["an anchor and its alias", "agents: &a [x]\n", { agents: ["x"] }],
  ])("%s", (_, text, settings) =>
    expect(parseConfiguration(text)).toEqual({ kind: "settings", settings: { ...DEFAULTS, ...settings } }),
  );
});

describe("what is refused says where, and what to do", () => {
  it.each<[string, string, (string | RegExp)[]]>([
    ["a misspelt key", "agnets: [a]\n", ["line 1, column 1: agnets: unknown key; did you mean agents?"]],
    [
      "a key in another case",
      "\nPoisonthreshold: 3",
      [/^line 2, column 1: .*did you mean poisonThreshold\?$/],
    ],
    [
      "a misspelt key below another",
      "labels:\n  stal: x\n",
      [/^line 2, column 3: labels\.stal: .*mean stale\?$/],
    ],
    [
      "a misspelt key of a resource",
      "resources:\n  db: {mod: exclusive}\n",
      [/^line 2, column 8: resources\.db\.mod: .*mean mode\?$/],
    ],
    [
      "a key near to none",
      "colour: red",
      [/^line 1, column 1: colour: unknown key; known are enroll, labels, /],
    ],
    ["a tab for a space", "labels:\n\tstale: x", [/^line 2, column 1: Tabs/]],
    ["a bracket that nothing closes", "agents: [a\nenroll: all", [/^line 2, column 1: /]],
    ["a key twice", "agents: [a]\nagents: [b]", ["line 2, column 1: Map keys must be unique"]],
    ["a tag", "agents: !!set [a]", [/^line 1, column 9: /]],
    ["two documents", "enroll: all\n---\nenroll: all", [/^line 2, column 1: a second document/]],
    ["a list", "- agents", ["the file: keys with values are expected here; {} for none"]],
    ["a text", "agents", ["the file: keys with values are expected here; {} for none"]],
    ["another choice", "enroll: some", ["line 1, column 1: enroll: one of labeled, all"]],
    [
      "a number out of its bounds",
      "poisonThreshold: 0",
      [/: poisonThreshold: a whole number from 1 to 100$/],
    ],
    ["no whole number", "quarantineSeconds: 1.5", [/: quarantineSeconds: a whole number from 0 to 3600$/]],
    ["a number as text", "quarantineSeconds: '60'", [/: quarantineSeconds: a whole number from 0 to 3600$/]],
    [
      "a login with @",
      "agents:\n  - fine\n  - '@worker'",
      [/^line 3, column 5: agents\.1: a login on GitHub, without @/],
    ],
    ["labels that are one", "labels: {stale: Backlog}", [/: labels: three different labels are needed/]],
    ["a label with a NUL", 'labels: {stale: "a\\0b"}', [/labels\.stale: a label's name/]],
    [
      "a description with half a character",
      'resources: {db: {description: "\\ud800"}}',
      [/description: holds a NUL character or half/],
    ],
    ["a branch that git refuses", "defaults: {baseBranch: a..b}", [/defaults\.baseBranch: a branch's name/]],
    [
      "a resource's key in capitals",
      "resources:\n  DB: {}",
      [/^line 2, column 3: resources\.DB: a resource's key/],
    ],
    [
      "a lease for ever",
      "resources: {db: {ttlSeconds: 86401}}",
      [/ttlSeconds: a whole number from 1 to 86400$/],
    ],
    [
      "a pattern to trust",
      "oidc: {'repo:a/*:x': [read]}",
      [/oidc\.repo:a\/\*:x: .*a \* stands for anything, after the repository$/],
    ],
    [
      "admin for a workflow",
      "oidc: {'repo:a/b:x': [admin]}",
      [/: one of read, claim, write, advance, author$/],
    ],
    ["what an object has by itself", "__proto__: {enroll: all}", [/__proto__: unknown key/]],
    ["several things", "enroll: no\nagnets: []", [/enroll/, /agnets/]],
  ])("%s", (_, text, told) =>
    expect(problems(text)).toEqual(
      told.map((one) => (typeof one === "string" ? one : expect.stringMatching(one))),
    ),
  );

  it("a file that is too large, counted in bytes", () => {
    const fits = `# ${"x".repeat(MAX_CONFIGURATION_BYTES - 2)}`;
    expect(problems(fits)).toEqual([]);
    expect(problems(`${fits}x`)).toEqual([`the file is larger than ${MAX_CONFIGURATION_BYTES} bytes`]);
    expect(problems(`# ${"ü".repeat(MAX_CONFIGURATION_BYTES / 2)}`)).toHaveLength(1);
  });

  it.each([
    ["nested too deep", "[".repeat(30_000)],
    [
      "aliases that multiply",
      "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]",
    ],
    [
      "long keys, many of them",
      Array.from({ length: 100 }, (_, n) => `${"k".repeat(500)}${n}: 1`).join("\n"),
    ],
    ["a key with a NUL", '"a\\0b": 1'],
  ])("%s: in a few short, storable words", (_, text) => {
    const told = problems(text);
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(20);
    for (const problem of told) expect(problem.length).toBeLessThanOrEqual(300);
    expect(told.join("")).not.toContain("\0");
  });
});

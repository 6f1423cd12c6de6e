import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DEFAULT_SETTINGS,
  OIDC_CAPABILITIES,
  RESOURCE_MODES,
  type RepositorySettings,
  showsFormerGate,
} from "../../src/domain/settings.ts";
import { changeSettings, loosensGuard } from "../../src/domain/settings-change.ts";

const NOW = new Date("2026-01-04T00:00:00Z");
const with_ = (some: Partial<RepositorySettings>): RepositorySettings => ({ ...DEFAULT_SETTINGS, ...some });
const byNobody = (current: Partial<RepositorySettings>, wanted: Partial<RepositorySettings>) =>
  changeSettings(with_(current), with_(wanted), { by: "unknown", at: NOW });

const { labels } = DEFAULT_SETTINGS;
const lease = (mode: "exclusive" | "advisory", ttlSeconds: number | null = null, description = null) => ({
  mode,
  ttlSeconds,
  description,
});
const use = (mode: "exclusive" | "advisory", ttlSeconds: number | null = null) => ({ mode, ttlSeconds });
type Some = Partial<RepositorySettings>;

describe("what tightens a guard, or guards nothing, holds whoever pushed it (section 12)", () => {
  it.each<[string, Some, Some]>([
    ["nothing changes", {}, {}],
    ["the agents in another order and case", { agents: ["a", "b"] }, { agents: ["B", "A"] }],
    ["an agent as GitHub's webhooks name it", { agents: ["a"] }, { agents: ["a[bot]"] }],
    ["a lower threshold", { poisonThreshold: 3 }, { poisonThreshold: 2 }],
    ["a longer quarantine", { quarantineSeconds: 60 }, { quarantineSeconds: 61 }],
    ["anchors required", {}, { requireAnchors: true }],
    ["an old mirror refused", {}, { refuseClaimsWhenMirrorOlderThanSeconds: 600 }],
    [
      "a less old one refused",
      { refuseClaimsWhenMirrorOlderThanSeconds: 600 },
      { refuseClaimsWhenMirrorOlderThanSeconds: 599 },
    ],
    ["labelled issues only", { enrollAll: true }, {}],
    ["a label in another case", {}, { labels: { ...labels, gate: "Needs-Specification" } }],
    ["defaults", {}, { defaults: { ...DEFAULT_SETTINGS.defaults, baseBranch: "dev", priority: "P0" } }],
    ["a key registered as it was", {}, { resources: { db: lease("exclusive") } }],
    ["a longer lease", {}, { resources: { db: lease("exclusive", 3_601) } }],
    [
      "what was advisory excludes",
      { resources: { db: lease("advisory") } },
      { resources: { db: lease("exclusive", 1) } },
    ],
    ["what was advisory is listed no more", { resources: { db: lease("advisory") } }, {}],
    [
      "another description",
      { resources: { db: lease("exclusive") } },
      { resources: { db: { ...lease("exclusive"), description: "x" } } },
    ],
    ["a new trait", {}, { traits: { t: { resources: { db: use("advisory", 1) } } } }],
    [
      "a trait that brings more",
      { traits: { t: { resources: {} } } },
      { traits: { t: { resources: { db: use("exclusive") } } } },
    ],
    [
      "a trait's longer lease",
      { traits: { t: { resources: { db: use("exclusive", 5) } } } },
      { traits: { t: { resources: { db: use("exclusive", 6) } } } },
    ],
    [
      "less trust",
      { oidc: { "repo:a/b": ["read", "claim"], "repo:a/c": ["read"] } },
      { oidc: { "repo:a/b": ["claim"] } },
    ],
    ["names that objects have by themselves", {}, { resources: { constructor: lease("exclusive") } }],
  ])("%s", (_, current, wanted) => {
    const before = with_(current);
    const after = with_(wanted);
    expect(changeSettings(before, after, { by: "unknown", at: NOW })).toEqual({ settings: after, held: [] });
    expect(loosensGuard(before, after)).toBe(false);
  });
});

describe("what loosens a guard keeps its old value until a human pushed it, and is told", () => {
  it.each<[string, Some, Some, Some, RegExp[]]>([
    [
      "an agent less",
      { agents: ["a", "b"] },
      { agents: ["a"] },
      { agents: ["a", "b"] },
      [/agents.*still lists b/],
    ],
    [
      "an agent more: it may be an overseer",
      { agents: ["a"] },
      { agents: ["a", "b"] },
      { agents: ["a"] },
      [/not list b yet/],
    ],
    [
      "an agent exchanged",
      { agents: ["a"] },
      { agents: ["b"] },
      { agents: ["a"] },
      [/still lists a/, /not list b yet/],
    ],
    ["a higher threshold", {}, { poisonThreshold: 4 }, {}, [/poisonThreshold.*stays 3.*4/]],
    ["a shorter quarantine", {}, { quarantineSeconds: 899 }, {}, [/quarantineSeconds.*stays 900.*899/]],
    ["anchors not required", { requireAnchors: true }, {}, { requireAnchors: true }, [/requireAnchors/]],
    [
      "an older mirror allowed",
      { refuseClaimsWhenMirrorOlderThanSeconds: 600 },
      { refuseClaimsWhenMirrorOlderThanSeconds: 601 },
      { refuseClaimsWhenMirrorOlderThanSeconds: 600 },
      [/stays 600.*601/],
    ],
    [
      "any mirror allowed",
      { refuseClaimsWhenMirrorOlderThanSeconds: 600 },
      {},
      { refuseClaimsWhenMirrorOlderThanSeconds: 600 },
      [/stays 600.*off/],
    ],
    ["enroll: all", {}, { enrollAll: true }, {}, [/enroll: all/]],
    [
      "another backlog label",
      {},
      { labels: { ...labels, backlog: "x" } },
      {},
      [/labels\.backlog.*"backlog".*"x"/],
    ],
    ["another gate", {}, { labels: { ...labels, gate: "x" } }, {}, [/labels\.needs-specification.*"x"/]],
    ["another park label", {}, { labels: { ...labels, stale: "x" } }, {}, [/labels\.stale.*"stale".*"x"/]],
    [
      "a key made advisory",
      {},
      { resources: { db: lease("advisory") } },
      { resources: { db: lease("exclusive") } },
      [/resources\.db.*exclusive/],
    ],
    [
      "a key's shorter lease",
      { resources: { db: lease("exclusive", 60) } },
      { resources: { db: lease("exclusive", 59) } },
      { resources: { db: lease("exclusive", 60) } },
      [/resources\.db.*60 s/],
    ],
    [
      "a key of a long lease taken away",
      { resources: { db: lease("exclusive", 7_200) } },
      {},
      { resources: { db: lease("exclusive", 7_200) } },
      [/resources\.db/],
    ],
    [
      "a trait taken away",
      { traits: { t: { resources: { db: use("exclusive") } } } },
      {},
      { traits: { t: { resources: { db: use("exclusive") } } } },
      [/traits\.t.*db/],
    ],
    [
      "a trait that brings an advisory key",
      { traits: { t: { resources: { db: use("exclusive") } } } },
      { traits: { t: { resources: { db: use("advisory") } } } },
      { traits: { t: { resources: { db: use("exclusive") } } } },
      [/traits\.t.*db/],
    ],
    [
      "a trait's shorter lease",
      { traits: { t: { resources: { db: use("exclusive", 6) } } } },
      { traits: { t: { resources: { db: use("exclusive", 5) } } } },
      { traits: { t: { resources: { db: use("exclusive", 6) } } } },
      [/6 s/],
    ],
    [
      "a trait's lease left to the registry",
      { traits: { t: { resources: { db: use("exclusive", 6) } } } },
      { traits: { t: { resources: { db: use("exclusive") } } } },
      { traits: { t: { resources: { db: use("exclusive", 6) } } } },
      [/6 s/],
    ],
    ["a subject more", {}, { oidc: { "repo:a/b": ["read"] } }, {}, [/read to repo:a\/b/]],
    [
      "a capability more",
      { oidc: { "repo:a/b": ["read"] } },
      { oidc: { "repo:a/b": ["read", "write"] } },
      { oidc: { "repo:a/b": ["read"] } },
      [/write to repo:a\/b/],
    ],
    [
      "one of each, beside what tightens",
      { agents: ["a"], poisonThreshold: 3 },
      { agents: ["b"], poisonThreshold: 2, quarantineSeconds: 0 },
      { agents: ["a"], poisonThreshold: 2 },
      [/still lists a/, /quarantineSeconds/],
    ],
  ])("%s", (_, current, wanted, inForce, told) => {
    const { settings, held } = byNobody(current, wanted);
    expect(settings).toEqual(with_(inForce));
    expect(held).toEqual(told.map((pattern) => expect.stringMatching(pattern)));
    expect(loosensGuard(with_(current), with_(wanted))).toBe(true);
    expect(changeSettings(with_(current), with_(wanted), { by: "human", at: NOW })).toMatchObject({
      settings: wanted,
      held: [],
    });
  });
});

describe("the gate's former names", () => {
  const gate = (name: string) => with_({ labels: { ...labels, gate: name } });

  it("are remembered, with the time of the change; the name in force is not among them", () => {
    const once = changeSettings(DEFAULT_SETTINGS, gate("spec"), { by: "human", at: NOW }).settings;
    expect(once).toMatchObject({ formerGates: ["needs-specification"], gateSince: NOW.toISOString() });
    expect(showsFormerGate(["Needs-Specification"], once)).toBe(true);
    expect(showsFormerGate(["spec"], once)).toBe(false);
    const later = new Date("2026-01-05T00:00:00Z");
    const back = changeSettings(once, gate("Needs-specification"), { by: "human", at: later }).settings;
    expect(back).toMatchObject({ formerGates: ["spec"], gateSince: later.toISOString() });
    const same = changeSettings(back, gate("needs-specification"), { by: "unknown", at: NOW }).settings;
    expect(same).toMatchObject({ formerGates: ["spec"], gateSince: later.toISOString() });
  });

  it("are none when the App is installed: what people did to the label counts from the start", () => {
    expect(changeSettings(DEFAULT_SETTINGS, gate("spec"), { by: "installer", at: NOW })).toEqual({
      settings: gate("spec"),
      held: [],
    });
  });
});

describe("whatever nobody known pushes, push after push", () => {
  const mode = fc.constantFrom(...RESOURCE_MODES);
  const ttlSeconds = fc.option(fc.integer({ min: 1, max: 7_200 }));
  const key = fc.constantFrom("db", "constructor", "queue");
  const wish = fc.record<RepositorySettings>({
    labels: fc.constantFrom(labels, { ...labels, gate: "x" }, { ...labels, stale: "y" }),
    agents: fc.uniqueArray(fc.constantFrom("a", "b", "c[bot]")),
    defaults: fc.constant(DEFAULT_SETTINGS.defaults),
    poisonThreshold: fc.integer({ min: 1, max: 5 }),
    enrollAll: fc.boolean(),
    quarantineSeconds: fc.integer({ min: 0, max: 10 }),
    requireAnchors: fc.boolean(),
    refuseClaimsWhenMirrorOlderThanSeconds: fc.option(fc.integer({ min: 60, max: 70 })),
    resources: fc.dictionary(key, fc.record({ mode, ttlSeconds, description: fc.constant(null) })),
    traits: fc.dictionary(key, fc.record({ resources: fc.dictionary(key, fc.record({ mode, ttlSeconds })) })),
    oidc: fc.dictionary(key, fc.subarray([...OIDC_CAPABILITIES], { minLength: 1 })),
    formerGates: fc.constant([]),
    gateSince: fc.constant(null),
  });

  it("never leaves looser settings than there were, and says so exactly when something is held", () => {
    fc.assert(
      fc.property(wish, fc.array(wish, { minLength: 1, maxLength: 4 }), (first, wishes) => {
        let current = first;
        for (const wanted of wishes) {
          const { settings, held } = changeSettings(current, wanted, { by: "unknown", at: NOW });
          // From what holds now, going back would be no loosening; from what held before, this was none.
          expect(loosensGuard(current, settings)).toBe(false);
          expect(held.length > 0).toBe(loosensGuard(current, wanted));
          // The same file again changes nothing.
          expect(changeSettings(settings, wanted, { by: "unknown", at: NOW }).settings).toEqual(settings);
          current = settings;
        }
        expect(loosensGuard(first, current)).toBe(false);
      }),
    );
  });
});

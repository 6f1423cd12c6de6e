import { describe, expect, it } from "vitest";
import {
  DEFAULT_SETTINGS,
  ownLabels,
  type RepositorySettings,
  settingsOf,
} from "../../src/domain/settings.ts";
import { isPhase, isPriority } from "../../src/domain/tags.ts";

/** What the database holds may name only some of the labels: it was written by any version of Leasehold. */
const stored = (json: string): Partial<RepositorySettings> => JSON.parse(json);

describe("settingsOf (section 12)", () => {
  it("needs nothing: every key has a default", () => {
    expect(settingsOf({})).toEqual({
      labels: { backlog: "backlog", gate: "needs-specification", stale: "stale" },
      agents: [],
      defaults: {
        priority: expect.toSatisfy(isPriority),
        phase: expect.toSatisfy(isPhase),
        baseBranch: null,
        homeRegion: null,
        type: "feat",
      },
      poisonThreshold: 3,
      enrollAll: false,
      quarantineSeconds: 900,
      requireAnchors: false,
      refuseClaimsWhenMirrorOlderThanSeconds: 3600,
      resources: {},
      traits: {},
      oidc: {},
      formerGates: [],
      gateSince: null,
    });
  });

  it.each([
    [
      "one label",
      '{"labels": {"stale": "parked"}}',
      { labels: { ...DEFAULT_SETTINGS.labels, stale: "parked" } },
    ],
    [
      "one default",
      '{"defaults": {"baseBranch": "dev"}}',
      { defaults: { ...DEFAULT_SETTINGS.defaults, baseBranch: "dev" } },
    ],
    ["the threshold", '{"poisonThreshold": 5}', { poisonThreshold: 5 }],
    ["the agents", '{"agents": ["worker-1"]}', { agents: ["worker-1"] }],
    ["enroll: all", '{"enrollAll": true}', { enrollAll: true }],
  ])("%s is set, and the rest stays as it is", (_, json, changed) =>
    expect(settingsOf(stored(json))).toEqual({ ...DEFAULT_SETTINGS, ...changed }),
  );

  it("changes the defaults for nobody else", () => {
    settingsOf(stored('{"labels": {"gate": "x"}, "defaults": {"type": "fix"}, "poisonThreshold": 9}'));
    expect(settingsOf({}).labels.gate).toBe("needs-specification");
    expect(settingsOf({})).toEqual(DEFAULT_SETTINGS);
  });
});

describe("ownLabels", () => {
  it("names the three labels as they are configured", () => {
    const settings = settingsOf(stored('{"labels": {"gate": "needs-human"}}'));
    expect(ownLabels(settings).map(({ name }) => name)).toEqual(["backlog", "needs-human", "stale"]);
  });

  it.each(ownLabels(DEFAULT_SETTINGS))("$name is a label that GitHub takes", ({ color, description }) => {
    expect(color).toMatch(/^[0-9a-f]{6}$/);
    expect(description.length).toBeLessThanOrEqual(100);
  });
});

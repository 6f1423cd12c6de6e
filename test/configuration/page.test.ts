/** docs/configuration.md is what its script makes, and its example is a file that is taken. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { configurationPage, PAGE } from "../../scripts/configuration-page.ts";
import { Configuration, settingsOfConfiguration } from "../../src/contract/configuration.ts";
import { parseConfiguration } from "../../src/services/parse-configuration.ts";

const page = readFileSync(join(import.meta.dirname, "../..", PAGE), "utf8");

describe(PAGE, () => {
  it("is what `npm run docs:configuration` makes", () => expect(page).toBe(configurationPage()));

  it("has a row for every key, each with a description", () => {
    for (const [key, schema] of Object.entries(Configuration.shape)) {
      expect(page).toContain(`| \`${key}\` |`);
      expect(schema.description, key).toMatch(/\.$/);
    }
  });

  it("has an example with every key, which is valid and says what it seems to say", () => {
    const example = /```yaml\n(.*?)```/s.exec(page)?.[1] ?? "";
    expect(Object.keys(parse(example)).sort()).toEqual(Object.keys(Configuration.shape).sort());
    expect(parseConfiguration(example)).toEqual({
      kind: "settings",
      settings: settingsOfConfiguration(Configuration.parse(parse(example))),
    });
    expect(parseConfiguration(example)).toMatchObject({
      settings: {
        agents: ["acme-worker"],
        refuseClaimsWhenMirrorOlderThanSeconds: 3600,
        resources: { "api-quota": { mode: "advisory", ttlSeconds: null, description: null } },
        traits: { "needs-staging": { resources: { "staging-db": { mode: "exclusive", ttlSeconds: 900 } } } },
        oidc: { "repo:acme/widgets:ref:refs/heads/main": ["read", "claim"] },
      },
    });
  });
});

/** What an item needs of the resources outside the code, and what is in its way (protocol 9). */

import fc from "fast-check";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  itemLeases,
  type OpenLease,
  type ResourceNeed,
  resourceNeeds,
  takenByOthers,
} from "../../src/domain/resources.ts";
import { type RepositorySettings, settingsOf } from "../../src/domain/settings.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

const SETTINGS = settingsOf({
  resources: {
    db: { mode: "exclusive", ttlSeconds: 100, description: null },
    quota: { mode: "advisory", ttlSeconds: 50, description: null },
  },
  traits: {
    soft: { resources: { db: { mode: "advisory", ttlSeconds: null } } },
    long: { resources: { db: { mode: "exclusive", ttlSeconds: 500 } } },
    longer: {
      resources: {
        db: { mode: "exclusive", ttlSeconds: 700 },
        quota: { mode: "exclusive", ttlSeconds: null },
      },
    },
    empty: { resources: {} },
  },
});
const exclusive = (key: string, ttlSeconds: number): ResourceNeed => ({ key, mode: "exclusive", ttlSeconds });
const advisory = (key: string, ttlSeconds: number): ResourceNeed => ({ key, mode: "advisory", ttlSeconds });

describe("what tags call for", () => {
  it.each<[string, string[], ResourceNeed[]]>([
    ["nothing", ["backlog", "team:red"], []],
    ["a key that nobody registered: exclusive, for an hour", ["resource:slot"], [exclusive("slot", 3600)]],
    ["a registered one", ["resource:db"], [exclusive("db", 100)]],
    ["an advisory one", ["resource:quota"], [advisory("quota", 50)]],
    ["a trait's time goes before the registry's", ["trait:long"], [exclusive("db", 500)]],
    ["of two the longer", ["trait:long", "trait:longer"], [exclusive("db", 700), exclusive("quota", 50)]],
    ["without a time of its own it has the registry's", ["trait:soft"], [advisory("db", 100)]],
    ["exclusive, if anything says so", ["trait:soft", "resource:db"], [exclusive("db", 100)]],
    [
      "in name order, whatever the tags' order",
      ["resource:b", "resource:a"],
      [exclusive("a", 3600), exclusive("b", 3600)],
    ],
    ["named twice it is one", ["resource:a", "resource:a"], [exclusive("a", 3600)]],
    ["a trait that is not configured brings nothing", ["trait:nowhere", "trait:empty"], []],
    [
      "names of JavaScript's are names like others",
      ["resource:constructor", "trait:toString"],
      [exclusive("constructor", 3600)],
    ],
    ["a tag without a key is none", ["resource:", "trait:"], []],
  ])("%s", (_, tags, needs) => expect(resourceNeeds(tags, SETTINGS)).toEqual(needs));

  it("never for longer than a day", () => {
    const settings: RepositorySettings = {
      ...SETTINGS,
      resources: { slot: { mode: "exclusive", ttlSeconds: 90_000, description: null } },
    };
    expect(resourceNeeds(["resource:slot"], settings)).toEqual([exclusive("slot", 86_400)]);
  });
});

describe("SQL says the same", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.drop());

  const aKey = fc.constantFrom("a", "a-b", "a/b", "a.b", "ab", "db", "constructor");
  const lease = fc.record({
    mode: fc.constantFrom<"exclusive" | "advisory">("exclusive", "advisory"),
    ttlSeconds: fc.option(fc.integer({ min: 1, max: 100_000 })),
  });
  const aTag = fc.oneof(
    aKey.map((key) => `resource:${key}`),
    fc.constantFrom("t", "u", "none").map((name) => `trait:${name}`),
    fc.constantFrom("backlog", "resource:", "trait:"),
  );

  it("of any tags under any configuration", async () => {
    const aCase = fc.record({
      tags: fc.array(aTag, { maxLength: 6 }),
      resources: fc.dictionary(
        aKey,
        lease.map((each) => ({ ...each, description: null })),
        { maxKeys: 4 },
      ),
      traits: fc.dictionary(
        fc.constantFrom("t", "u"),
        fc.dictionary(aKey, lease, { maxKeys: 3 }).map((resources) => ({ resources })),
        { maxKeys: 2 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(aCase, { minLength: 50, maxLength: 50 }), async (cases) => {
        const { rows } = await sql<{ needs: ResourceNeed[] }>`
          select (select coalesce(jsonb_agg(jsonb_build_object('key', n.key, 'mode', n.mode, 'ttlSeconds', n.ttl)), '[]')
            from resource_needs(array(select jsonb_array_elements_text(c -> 'tags')), c) n) as needs
          from jsonb_array_elements(${JSON.stringify(cases)}::jsonb) with ordinality as cases (c, place)
          order by place`.execute(database.db);
        const meant = cases.map(({ tags, resources, traits }) =>
          resourceNeeds(tags, { resources: { ...resources }, traits: { ...traits } }),
        );
        expect(rows.map(({ needs }) => needs)).toEqual(meant);
      }),
      { numRuns: 20 },
    );
  }, 60_000);
});

const ME = { repositoryId: 1, number: 7 };
const open = (key: string, holder = { repositoryId: 1, number: 9 }): OpenLease => ({
  key,
  holder,
  expiresAt: new Date(0),
});

describe("what is in the way", () => {
  it.each<[string, ResourceNeed[], OpenLease[], string[]]>([
    ["nothing", [exclusive("a", 1)], [], []],
    ["another item's lease", [exclusive("a", 1)], [open("a")], ["a"]],
    [
      "the same number's in another repository",
      [exclusive("a", 1)],
      [open("a", { repositoryId: 2, number: 7 })],
      ["a"],
    ],
    ["not its own", [exclusive("a", 1)], [open("a", ME)], []],
    ["not what it only records", [advisory("a", 1)], [open("a")], []],
    ["not what it does not need", [exclusive("a", 1)], [open("b")], []],
  ])("%s", (_, needs, leases, taken) => expect(takenByOthers(needs, leases, ME)).toEqual(taken));
});

describe("what an item shows", () => {
  it("is what it needs, who has it, and what it holds although nothing names it any more", () => {
    const leases = [open("a"), open("b", ME), open("old", ME)];
    const shown = itemLeases([exclusive("a", 1), exclusive("b", 1), advisory("c", 1)], leases, ME);
    expect(shown.map(({ key, mode, held, lease }) => [key, mode, held, lease !== null])).toEqual([
      ["a", "exclusive", false, true],
      ["b", "exclusive", true, true],
      ["c", "advisory", false, false],
      ["old", "advisory", true, true],
    ]);
  });
});

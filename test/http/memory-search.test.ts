/** Searching memory: ranked, with safe highlights; whatever is typed is answered; what has expired is not found. */

import fc from "fast-check";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { searchText } from "../../src/domain/search-text.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
  await put("notes/title", { title: "Grease the axle", body: "Every spring." });
  await put("notes/body", { title: "What rattles", body: "The axle, the axle, and again the axle: axles!" });
  await put("notes/tag", { title: "A thing", tags: ["area:axle", "red"] });
  await put("notes/by-its-id", { body: "Nothing else" });
  await put("decisions/use-leases", {
    kind: "Decision",
    title: "Use leases",
    body: "Locks in src/store/records.ts are kept by take_claim, not by Vec<Sprocket>.",
    author: "worker/7",
  });
  await put("late/gone", { title: "Axle of the past", expiresAt: "2999-01-01T00:00:00Z" });
  await world.api.repo("DELETE", "/memory/late/gone?lapseSeconds=1");
  await world.pass(2);
  await world.api
    .with({ repo: "acme/other" })
    .repo("PUT", "/memory/notes/elsewhere", { body: { title: "An axle" } });
});
afterAll(() => world.end());

const put = (path: string, body: object) => world.api.repo("PUT", `/memory/${path}`, { body });
const search = (q: string, more = "") =>
  world.api.repo("GET", `/memory-search?q=${encodeURIComponent(q)}${more}`);
const found = async (q: string, more = ""): Promise<string[]> =>
  (await search(q, more)).results.map(({ topic, id }: { topic: string; id: string }) => `${topic}/${id}`);

describe("a search", () => {
  it("finds title, tag and body, in this order, in this repository alone", async () => {
    expect(await found("axle")).toEqual(["notes/title", "notes/tag", "notes/body"]);
    expect(await found("AXLES")).toEqual(["notes/title", "notes/tag", "notes/body"]);
  });

  it.each([
    ["use-leases", ["decisions/use-leases"]],
    ["by-its-id", ["notes/by-its-id"]],
    ["records.ts", ["decisions/use-leases"]],
    ["src/store", ["decisions/use-leases"]],
    ["store/src", []],
    ["take_claim", ["decisions/use-leases"]],
    ["Sprocket", ["decisions/use-leases"]],
    ["area:axle", ["notes/tag"]],
    ["axle -spring -rattles", ["notes/tag"]],
    ["axle -notes", ["notes/title", "notes/tag", "notes/body"]],
    ['"grease the axle"', ["notes/title"]],
    ['"axle grease"', []],
    ["grease or rattles", ["notes/title", "notes/body"]],
    ["grease rattles", []],
    ["the", []],
    ["", []],
    ["  ", []],
    ["-", []],
    ["10", []],
  ])("for %s", async (q, wanted) => expect(await found(q)).toEqual(wanted));

  it("in one topic", async () => {
    expect(await found("axle", "&topic=decisions")).toEqual([]);
    expect(await found("leases", "&topic=decisions")).toEqual(["decisions/use-leases"]);
  });

  it("answers the best so many", async () => {
    expect(await found("axle", "&limit=1")).toEqual(["notes/title"]);
  });

  it("answers what a result is, and where the words stand in it", async () => {
    const { results, capped } = await search("records.ts leases");
    expect(capped).toBe(false);
    expect(results).toEqual([
      {
        key: "repo/acme/widgets/mem/decisions/use-leases",
        topic: "decisions",
        id: "use-leases",
        kind: "Decision",
        title: "Use leases",
        tags: [],
        author: "worker/7",
        createdAt: expect.stringMatching(/Z$/),
        updatedAt: expect.stringMatching(/Z$/),
        expiresAt: null,
        rank: expect.any(Number),
        highlights: {
          title: "Use <mark>leases</mark>",
          body: "Locks in src/store/<mark>records</mark>.<mark>ts</mark> are kept by take",
        },
      },
    ]);
  });

  it("shows no markup that was stored", async () => {
    await put("notes/evil", {
      title: "<script>alert(1)</script> wombat",
      body: "wombat \" onmouseover='alert(1)' <b>wombat</b> &amp; \uE000fake\uE001 <mark>x</mark>",
    });
    const [result] = (await search("wombat")).results;
    for (const html of [result.highlights.title, result.highlights.body]) {
      expect(html).toContain("<mark>wombat</mark>");
      expect(html.replaceAll(/<mark>wombat<\/mark>/g, "")).not.toMatch(/[<>"']/);
    }
  });

  it("sees what changed", async () => {
    await put("notes/changing", { title: "Otter" });
    expect(await found("otter")).toEqual(["notes/changing"]);
    await put("notes/changing", { title: "Badger" });
    expect(await found("otter")).toEqual([]);
    expect(await found("badger")).toEqual(["notes/changing"]);
    await world.api.repo("DELETE", "/memory/notes/changing");
    expect(await found("badger")).toEqual([]);
  });

  it("takes a body of any length, and finds what stands in its first 100,000 characters", async () => {
    const words = Array.from({ length: 180_000 }, (_, n) => n.toString(36).padStart(4, "q")).join(" ");
    await put("notes/long", { body: `narwhal ${words}`.slice(0, 1_000_000) });
    expect(await found("narwhal")).toEqual(["notes/long"]);
    expect(await found("qaaa")).toEqual(["notes/long"]);
    const wide = Array.from({ length: 99_000 }, (_, n) => String.fromCodePoint(0x20000 + (n % 40_000))).join(
      " ",
    );
    await put("notes/wide", {
      body: wide.slice(0, 999_000),
      tags: Array.from({ length: 200 }, (_, n) => `${n}`.padEnd(200, "é")),
    });
    expect(await found("\u{20000}")).toContain("notes/wide");
  });

  it("answers whatever is typed", async () => {
    const odd = [
      "'",
      "\\",
      ":*",
      "a & b | !c",
      "((((",
      "<->",
      "a <2> b",
      "'' ''",
      ":A",
      "%",
      "$1",
      "\u{1F60A}",
      "or or or",
      "-or",
      "or -",
      '"""',
      "\uE000",
      "é́",
      "字".repeat(500),
      "x".repeat(500),
    ];
    for (const q of odd) expect(await search(q), q).toMatchObject({ capped: false });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 200 }), async (q) => {
        const answer = await world.api.tryRepo(
          "GET",
          `/memory-search?q=${encodeURIComponent(q.replaceAll("\0", ""))}`,
        );
        expect(answer.status).toBe(200);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ["", "q"],
    [`?q=${"x".repeat(501)}`, "q"],
    ["?q=%00", "q"],
    ["?q=x&limit=0", "limit"],
    ["?q=x&limit=101", "limit"],
    ["?q=x&topic=Nope", "topic"],
    ["?q=x&colour=red", "colour"],
  ])("refuses %s", async (query, field) => {
    const answer = await world.api.tryRepo("GET", `/memory-search${query}`);
    expectProblem(answer, { status: 400, code: "validation_failed", field });
  });
});

describe("a word that thousands of records hold", () => {
  it("has the titles and the newest ranked, and says that not all were", async () => {
    await sql`insert into record (repository_id, topic, id, kind, title, body, updated_at)
      select (select repository_id from record where id = 'use-leases'), 'many', 'm' || n, 'Note', 'Record ' || n, 'common ' || n,
        db_now() - make_interval(days => 2) - make_interval(secs => n) from generate_series(1, 3000) n`.execute(
      world.db,
    );
    await sql`analyze record`.execute(world.db);
    await put("many/titled", { title: "Common sense" });
    await put("many/newest", { body: "common, common and common: the newest" });
    const { results, capped } = await search("common", "&limit=2");
    expect(capped).toBe(true);
    expect(results.map(({ id }: { id: string }) => id)).toEqual(["titled", "newest"]);
    expect((await search("common 1234")).capped).toBe(false);
    expect(await found("common 1234")).toEqual(["many/m1234"]);
  });
});

it("the database flattens text as the program does", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
      const clean = `${text.replaceAll("\0", "")}./:@#\\-_<>&+%=\uE000\uE001\uE002`;
      const { rows } = await sql<{ flat: string }>`select search_text(${clean}) as flat`.execute(world.db);
      expect(rows[0]?.flat).toBe(searchText(clean));
    }),
    { numRuns: 50 },
  );
});

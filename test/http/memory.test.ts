/** Memory (protocol 2): remember merges, update patches, forget forgets, and some facts have one way in. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;
let item: number;

beforeAll(async () => {
  world = await World.start();
  const repo = await world.repository();
  item = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  await world.settled();
});
afterAll(() => world.end());

let records = 0;
const fresh = () => `/memory/notes/n-${++records}`;
const put = (path: string, body: object) => world.api.tryRepo("PUT", path, { body });
const patch = (path: string, body: object) => world.api.tryRepo("PATCH", path, { body });
const forget = (path: string) => world.api.tryRepo("DELETE", path);
const recall = (path: string) => world.api.repo("GET", path);
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

describe("remember", () => {
  it("makes a record that is not there, and answers all of it", async () => {
    const path = fresh();
    const made = await put(path, { title: "Grease the axle" });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      exists: true,
      key: `repo/acme/widgets/mem/notes/n-${records}`,
      topic: "notes",
      id: `n-${records}`,
      kind: "Note",
      title: "Grease the axle",
      body: null,
      author: null,
      provenance: null,
      tags: [],
      links: {},
      createdAt: expect.stringMatching(/\.\d{3}Z$/),
      updatedAt: expect.stringMatching(/\.\d{3}Z$/),
      writtenBy: "admin",
      expiresAt: null,
      stale: false,
      staleLinks: [],
      unknownRelations: [],
    });
    expect(await recall(path)).toEqual(made.body);
  });

  it("merges: scalars given replace, tags and links add, the rest stays", async () => {
    const path = fresh();
    const first = await put(path, {
      title: "One",
      body: "Body",
      author: "ann",
      kind: "Decision",
      tags: ["area:axle", "red"],
      links: { related: ["mem/notes/a"] },
    });
    await world.pass(5);
    const second = await put(path, {
      title: "Two",
      author: null,
      provenance: "a test",
      tags: ["red", "blue"],
      links: { related: ["mem/notes/b", "mem/notes/a"], informs: ["mem/notes/c"] },
    });
    expect(second.status).toBe(200);
    expect(second.body).toMatchObject({
      title: "Two",
      body: "Body",
      author: null,
      provenance: "a test",
      kind: "Decision",
      tags: ["area:axle", "red", "blue"],
      links: {
        related: ["repo/acme/widgets/mem/notes/a", "repo/acme/widgets/mem/notes/b"],
        informs: ["repo/acme/widgets/mem/notes/c"],
      },
      createdAt: first.body.createdAt,
    });
    expect(Date.parse(second.body.updatedAt) - Date.parse(first.body.updatedAt)).toBeGreaterThanOrEqual(5000);
    expect(await recall(path)).toEqual(second.body);
  });

  it("keeps a relation that it does not know, and says which", async () => {
    const path = fresh();
    await put(path, { links: { frobs: ["mem/notes/a"], related: ["mem/notes/b"] } });
    expect(await recall(path)).toMatchObject({
      links: { frobs: ["repo/acme/widgets/mem/notes/a"], related: ["repo/acme/widgets/mem/notes/b"] },
      unknownRelations: ["frobs"],
    });
  });

  it("loses nothing when many write at once", async () => {
    const path = fresh();
    const tags = Array.from({ length: 16 }, (_, n) => `tag-${n}`);
    const answers = await Promise.all(tags.map((tag) => put(path, { tags: [tag] })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect((await recall(path)).tags.sort()).toEqual(tags.sort());
  });

  it("keeps text as it came", async () => {
    const path = fresh();
    const body = " 😊 \u2028 \r\n\ttab\u0001 é e\u0301 \ufeff -->\n";
    await put(path, { body });
    expect((await recall(path)).body).toBe(body);
  });

  it("keeps a body of a million characters, however they are written, and no more", async () => {
    const path = fresh();
    // Six bytes each in JSON.
    const body = "\u0001".repeat(1_000_000);
    expect((await put(path, { body })).status).toBe(201);
    expect((await recall(path)).body).toBe(body);
    const answer = await put(path, { body: `${body}x` });
    expectProblem(answer, { status: 400, code: "validation_failed", field: "body" });
  });

  it.each([
    ["title", { title: "a\u0000b" }],
    ["body", { body: "a\u0000b" }],
    ["body", { body: "half \ud83d of a pair" }],
    ["author", { author: "\u0000" }],
    ["provenance", { provenance: "\udc00" }],
    ["tags.1", { tags: ["fine", "not\u0000fine"] }],
    ["links.related.0", { links: { related: ["file/a\u0000b"] } }],
  ])("refuses what PostgreSQL cannot hold in %s", async (field, body) => {
    expectProblem(await put(fresh(), body), { status: 400, code: "validation_failed", field });
  });

  it.each([
    ["title", { title: 7 }],
    ["title", { title: "t".repeat(1001) }],
    ["kind", { kind: "Rumour" }],
    ["tags", { tags: "red" }],
    ["tags.0", { tags: [" red"] }],
    ["tags.0", { tags: [""] }],
    ["tags.0", { tags: ["two\nlines"] }],
    ["tags", { tags: Array.from({ length: 201 }, (_, n) => `t${n}`) }],
    ["links.related", { links: { related: "mem/notes/a" } }],
    ["links.two words", { links: { "two words": ["mem/notes/a"] } }],
    ["expiresAt", { expiresAt: "tomorrow" }],
    ["expiresAt", { expiresAt: "2031-02-30T00:00:00Z" }],
    ["expiresAt", { expiresAt: 1_900_000_000 }],
  ])("names the field %s that is wrong", async (field, body) => {
    expectProblem(await put(fresh(), body), { status: 400, code: "validation_failed", field });
  });

  it.each(["attempts", "claim", "createdAt", "id", "fencingToken", "state", "stale"])(
    "refuses to set %s, by name",
    async (field) => {
      const answer = await put(fresh(), { title: "x", [field]: "y" });
      expectProblem(answer, { status: 400, code: "field_not_settable", field });
    },
  );
});

describe("update", () => {
  it("adds and removes tags and links", async () => {
    const path = fresh();
    await put(path, {
      title: "Stays",
      tags: ["red", "blue"],
      links: { related: ["mem/notes/a", "mem/notes/b"], informs: ["mem/notes/c"] },
    });
    const updated = await patch(path, {
      tags: { add: ["green"], remove: ["red", "never there"] },
      links: {
        add: { related: ["file/src/a.ts"] },
        remove: { related: ["mem/notes/a"], informs: ["mem/notes/c"] },
      },
    });
    expect(updated.status).toBe(200);
    expect(updated.body).toMatchObject({
      title: "Stays",
      tags: ["blue", "green"],
      links: { related: ["repo/acme/widgets/mem/notes/b", "repo/acme/widgets/file/src/a.ts"] },
    });
    expect(updated.body.links).not.toHaveProperty("informs");
  });

  it("takes a key off in whichever form it is written", async () => {
    const path = fresh();
    await put(path, { links: { related: ["mem/notes/a"] } });
    const updated = await patch(path, { links: { remove: { related: ["repo/ACME/Widgets/mem/notes/a"] } } });
    expect(updated.body.links).toEqual({});
  });

  it("does not make what is not there", async () => {
    const path = fresh();
    expectProblem(await patch(path, { title: "x" }), { status: 404, code: "not_found" });
    expect(await recall(path)).toMatchObject({ exists: false });
  });

  it("refuses what cannot be set, by name", async () => {
    const path = fresh();
    await put(path, { title: "x" });
    expectProblem(await patch(path, { claim: null }), {
      status: 400,
      code: "field_not_settable",
      field: "claim",
    });
    expectProblem(await patch(path, { tags: ["red"] }), {
      status: 400,
      code: "validation_failed",
      field: "tags",
    });
    expectProblem(await patch(path, { tags: { set: ["red"] } }), {
      status: 400,
      code: "validation_failed",
      field: "tags.set",
    });
  });
});

describe("forget", () => {
  it("forgets now, and is content when there is nothing", async () => {
    const path = fresh();
    await put(path, { title: "x", links: { related: ["mem/notes/a"] } });
    expect((await forget(path)).body).toMatchObject({ forgotten: true, expiresAt: null });
    expect(await recall(path)).toMatchObject({ exists: false });
    expect((await forget(path)).body).toMatchObject({ forgotten: false, expiresAt: null });
  });

  it("lets a record lapse: it is there until then", async () => {
    const path = fresh();
    await put(path, { title: "x" });
    const { body } = await forget(`${path}?lapseSeconds=60`);
    expect(body).toMatchObject({ forgotten: false, expiresAt: expect.any(String) });
    expect(await recall(path)).toMatchObject({ exists: true, expiresAt: body.expiresAt });
    await world.pass(61);
    expect(await recall(path)).toMatchObject({ exists: false });
  });

  it("with a lapse of nothing forgets now", async () => {
    const path = fresh();
    await put(path, { title: "x" });
    expect((await forget(`${path}?lapseSeconds=0`)).body).toMatchObject({ forgotten: true });
    expect(await recall(path)).toMatchObject({ exists: false });
  });
});

describe("expiry", () => {
  it("a record is there until its time, and then it is not: no claim, no update", async () => {
    const path = fresh();
    const expiresAt = inSeconds(86_400);
    expect((await put(path, { title: "x", expiresAt })).body.expiresAt).toBe(expiresAt);
    await world.pass(86_400);
    expect(await recall(path)).toEqual({ exists: false, key: expect.stringContaining("/mem/notes/") });
    const claim = await world.api.repo("POST", `${path}/claim`, { body: { owner: "w" } });
    expect(claim).toMatchObject({ granted: false, reason: "missing" });
    expectProblem(await patch(path, { title: "y" }), { status: 404, code: "not_found" });
  });

  it("nothing of an expired record shines through in the one made after it", async () => {
    const path = fresh();
    const first = await put(path, {
      title: "Old",
      body: "old",
      kind: "Gotcha",
      tags: ["old"],
      links: { related: ["mem/notes/old"] },
    });
    await forget(`${path}?lapseSeconds=1`);
    await world.pass(2);
    const second = await put(path, { title: "New" });
    expect(second.status).toBe(201);
    expect(second.body).toMatchObject({
      title: "New",
      body: null,
      kind: "Note",
      tags: [],
      links: {},
      expiresAt: null,
    });
    expect(second.body.createdAt > first.body.createdAt).toBe(true);
  });

  it("is taken off again with null", async () => {
    const path = fresh();
    await put(path, { title: "x", expiresAt: "2999-01-01T00:00:00Z" });
    expect((await put(path, { expiresAt: null })).body.expiresAt).toBeNull();
  });

  it.each(["PUT", "PATCH"])("that lies in the past is refused, and %s changes nothing", async (method) => {
    const path = fresh();
    await put(path, { title: "Before", tags: ["kept"] });
    const body = { title: "After", expiresAt: "2001-01-01T00:00:00Z" };
    expectProblem(await world.api.tryRepo(method, path, { body }), {
      status: 400,
      code: "validation_failed",
      field: "expiresAt",
    });
    expect(await recall(path)).toMatchObject({ exists: true, title: "Before", tags: ["kept"] });
  });

  it("is refused on a backlog item", async () => {
    const path = `/memory/backlog/issue-${item}`;
    expectProblem(await put(path, { expiresAt: "2999-01-01T00:00:00Z" }), {
      status: 400,
      code: "ttl_forbidden",
    });
    expectProblem(await patch(path, { expiresAt: "2999-01-01T00:00:00Z" }), {
      status: 400,
      code: "ttl_forbidden",
    });
    expect((await put(path, { expiresAt: null })).status).toBe(200);
  });

  it("is refused on a Report, in whichever order the two come", async () => {
    const expiresAt = "2999-01-01T00:00:00Z";
    const forbidden = { status: 400, code: "ttl_forbidden" };
    const report = fresh();
    expectProblem(await put(report, { kind: "Report", expiresAt }), forbidden);
    expect(await recall(report)).toMatchObject({ exists: false });
    await put(report, { kind: "Report" });
    expectProblem(await put(report, { expiresAt }), forbidden);
    expectProblem(await patch(report, { expiresAt }), forbidden);
    expectProblem(await forget(`${report}?lapseSeconds=60`), forbidden);
    expect(await recall(report)).toMatchObject({ kind: "Report", expiresAt: null });
    expect((await forget(report)).body).toMatchObject({ forgotten: true });

    const note = fresh();
    await put(note, { expiresAt });
    expectProblem(await patch(note, { kind: "Report" }), forbidden);
    expect(await recall(note)).toMatchObject({ kind: "Note" });
  });
});

describe("what has one way in", () => {
  it.each(["backlog", "state:complete", "state:parked", "state:odd", "priority:P0", "pr:12"])(
    "the tag %s is neither added nor removed here",
    async (tag) => {
      const note = fresh();
      await put(note, { title: "x" });
      const reserved = { status: 400, code: "reserved" };
      for (const path of [note, `/memory/backlog/issue-${item}`]) {
        const before = await recall(path);
        expectProblem(await put(path, { tags: ["fine", tag] }), reserved);
        expectProblem(await patch(path, { tags: { add: [tag] } }), reserved);
        expectProblem(await patch(path, { tags: { remove: [tag] } }), reserved);
        expect(await recall(path)).toEqual(before);
      }
    },
  );

  it("the refusal names the call that does it", async () => {
    const answer = await put(`/memory/backlog/issue-${item}`, { tags: ["priority:P0"] });
    expect(answer.body.detail).toMatch(/label/);
  });

  it("other tags of an item are free", async () => {
    const answer = await put(`/memory/backlog/issue-${item}`, { tags: ["team:red"] });
    expect(answer.body.tags).toContain("team:red");
    expect((await world.api.item(item)).tags).toContain("team:red");
  });

  it.each([`issue-4711`, "issue-0", "issue-x", "plan"])(
    "backlog/%s is not made through memory",
    async (id) => {
      const path = `/memory/backlog/${id}`;
      expectProblem(await put(path, { title: "x" }), { status: 400, code: "reserved" });
      expectProblem(await patch(path, { title: "x" }), { status: 400, code: "reserved" });
      expect(await recall(path)).toMatchObject({ exists: false });
    },
  );

  it("an item is not forgotten through memory, now or later", async () => {
    const path = `/memory/backlog/issue-${item}`;
    expectProblem(await forget(path), { status: 400, code: "reserved" });
    expectProblem(await forget(`${path}?lapseSeconds=60`), { status: 400, code: "reserved" });
    expect(await recall(path)).toMatchObject({ exists: true, expiresAt: null });
    expect(await world.api.item(item)).toMatchObject({ number: item });
  });
});

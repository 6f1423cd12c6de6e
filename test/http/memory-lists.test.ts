/** Topics and scans: pages are stable under writes, and what has expired is there for nobody. */

import { sql } from "kysely";
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

const put = (path: string, body: object = { title: "x" }) =>
  world.api.repo("PUT", `/memory/${path}`, { body });
const forget = (path: string) => world.api.repo("DELETE", `/memory/${path}`);
const topicsOf = async () =>
  Object.fromEntries(
    (await world.api.repo("GET", "/memory")).topics.map(
      ({ topic, records }: { topic: string; records: number }) => [topic, records],
    ),
  );

describe("topics", () => {
  it("are listed by name with their counts, without what has expired", async () => {
    await put("alpha/a");
    await put("alpha/b");
    await put("beta/a");
    await put("gone/a");
    await world.api.repo("DELETE", "/memory/gone/a?lapseSeconds=5");
    expect(await topicsOf()).toEqual({ alpha: 2, backlog: 1, beta: 1, gone: 1 });
    await world.pass(6);
    expect(await topicsOf()).toEqual({ alpha: 2, backlog: 1, beta: 1 });
  });

  it("come in pages, each once", async () => {
    for (const limit of [1, 2, 3]) {
      const seen: string[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const page: { topics: { topic: string }[]; nextCursor: string | null } = await world.api.repo(
          "GET",
          `/memory?limit=${limit}${cursor ? `&cursor=${cursor}` : ""}`,
        );
        seen.push(...page.topics.map(({ topic }) => topic));
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(["alpha", "backlog", "beta"]);
    }
  });
});

interface Page {
  records: { id: string; stale: unknown; staleLinks: unknown }[];
  nextCursor: string | null;
}
const page = (topic: string, limit: number, cursor: string | null): Promise<Page> =>
  world.api.repo("GET", `/memory/${topic}?limit=${limit}${cursor ? `&cursor=${cursor}` : ""}`);

describe("a scan", () => {
  it("answers records as recall does, but does not say whether they are stale", async () => {
    await put("scanned/a", {
      title: "A",
      tags: ["t"],
      links: { anchoredTo: ["file/src/a.ts"], frobs: ["mem/x/y"] },
    });
    const recalled = await world.api.repo("GET", "/memory/scanned/a");
    const { records, nextCursor } = await world.api.repo("GET", "/memory/scanned");
    expect(records).toEqual([{ ...recalled, stale: null, staleLinks: null }]);
    expect(nextCursor).toBeNull();
  });

  it("of items too, and of a topic that is not there", async () => {
    expect((await page("backlog", 10, null)).records.map(({ id }) => id)).toEqual([`issue-${item}`]);
    expect(await page("nothing", 10, null)).toEqual({ records: [], nextCursor: null });
  });

  it.each([1, 2, 3, 7])("in pages of %d under writes: what is there throughout comes once", async (limit) => {
    const topic = `busy-${limit}`;
    const staying = Array.from({ length: 12 }, (_, n) => `k${String(n).padStart(2, "0")}`);
    for (const id of staying) await put(`${topic}/${id}`);
    await put(`${topic}/j`);
    const seen: string[] = [];
    let cursor: string | null = null;
    let turn = 0;
    do {
      const { records, nextCursor } = await page(topic, limit, cursor);
      seen.push(...records.map(({ id }) => id));
      cursor = nextCursor;
      // Behind it, before it, and on it: made, changed and forgotten.
      await put(`${topic}/a${turn}`);
      await put(`${topic}/z${turn}`);
      await put(`${topic}/${staying[turn % 12]}`, { title: `changed ${turn}` });
      if (turn === 1) await forget(`${topic}/j`);
      if (records.length > 0 && turn % 2 === 0) await forget(`${topic}/z${turn}`);
      turn += 1;
    } while (cursor !== null && turn < 60);
    expect(seen.filter((id) => id.startsWith("k"))).toEqual(staying);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it("goes on where its cursor's record was forgotten", async () => {
    for (const id of ["a", "b", "c"]) await put(`holes/${id}`);
    const first = await page("holes", 1, null);
    await forget("holes/a");
    await forget("holes/b");
    expect((await page("holes", 5, first.nextCursor)).records.map(({ id }) => id)).toEqual(["c"]);
  });

  it("ends a page early when its texts are long, and skips nothing", async () => {
    for (const id of ["a", "b", "c", "d", "e", "f"]) await put(`long/${id}`, { body: "x".repeat(900_000) });
    const first = await page("long", 100, null);
    expect(first.records.map(({ id }) => id)).toEqual(["a", "b", "c", "d", "e"]);
    const rest = await page("long", 100, first.nextCursor);
    expect(rest.records.map(({ id }) => id)).toEqual(["f"]);
    expect(rest.nextCursor).toBeNull();
  });

  it.each(["rubbish", "", Buffer.from('["topic","alpha"]').toString("base64url")])(
    "has no cursor %s",
    async (cursor) => {
      const answer = await world.api.tryRepo("GET", `/memory/alpha?cursor=${cursor}`);
      expectProblem(answer, { status: 400, code: "validation_failed", field: "cursor" });
    },
  );
});

describe("a record under an id that is made up", () => {
  it("is made, and made once under a key", async () => {
    const headers = { "idempotency-key": "0b9f5f8c-2f6c-4c43-9ad5-6f0f5b8f0a01" };
    const body = { title: "New", kind: "Gotcha" };
    const made = await world.api.tryRepo("POST", "/memory/made", { body, headers });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ exists: true, topic: "made", title: "New", kind: "Gotcha" });
    expect(await world.api.repo("GET", `/memory/made/${made.body.id}`)).toEqual(made.body);
    const again = await world.api.tryRepo("POST", "/memory/made", { body, headers });
    expect(again).toMatchObject({ status: 201, body: made.body });
    await world.api.tryRepo("POST", "/memory/made", { body });
    expect((await page("made", 10, null)).records).toHaveLength(2);
  });

  it("is no item, takes no token, and has the fields of a record", async () => {
    const post = (topic: string, body: object, fence?: number) =>
      world.api.tryRepo("POST", `/memory/${topic}`, { body, ...(fence === undefined ? {} : { fence }) });
    expectProblem(await post("backlog", { title: "x" }), { status: 400, code: "reserved" });
    expectProblem(await post("notes", { title: "x" }, 7), { status: 400, code: "not_claimable" });
    expectProblem(await post("notes", { id: "mine" }), {
      status: 400,
      code: "field_not_settable",
      field: "id",
    });
    expectProblem(await post("notes", { tags: ["state:complete"] }), { status: 400, code: "reserved" });
    const report = { kind: "Report", expiresAt: "2999-01-01T00:00:00Z" };
    expectProblem(await post("notes", report), { status: 400, code: "ttl_forbidden" });
    expect((await page("notes", 10, null)).records).toEqual([]);
  });
});

describe("what has expired", () => {
  it("is there for no reader, and then its row is removed, but not the mark of its claims", async () => {
    await put("ends/a", { title: "Ending wombat", links: { related: ["mem/ends/b"] } });
    await put("ends/b");
    await put("ends/stays");
    const claim = await world.api.repo("POST", "/memory/ends/a/claim", { body: { owner: "w" } });
    await world.api.repo("POST", "/memory/ends/a/claim/release", {
      body: { fencingToken: claim.fencingToken },
    });
    await world.api.repo("DELETE", "/memory/ends/a?lapseSeconds=10");
    await world.pass(11);

    expect(await world.api.repo("GET", "/memory/ends/a")).toMatchObject({ exists: false });
    expect((await page("ends", 10, null)).records.map(({ id }) => id)).toEqual(["b", "stays"]);
    expect((await world.api.repo("GET", "/memory-search?q=wombat")).results).toEqual([]);
    expect((await world.api.repo("GET", "/memory/ends/b/backlinks")).backlinks).toEqual([]);
    expect((await world.api.repo("GET", "/neighbors?key=mem/ends/b")).nodes).toHaveLength(1);
    expect((await world.api.repo("GET", "/neighbors?key=mem/ends/a")).nodes).toMatchObject([
      { exists: false, title: null },
    ]);

    const rows = async () => {
      const { rows: left } = await sql<{ id: string }>`select id from record where topic = 'ends' union all
        select id from record_link where topic = 'ends' order by 1`.execute(world.db);
      return left.map(({ id }) => id);
    };
    expect(await rows()).toEqual(["a", "a", "b", "stays"]);
    await world.sweep();
    expect(await rows()).toEqual(["b", "stays"]);

    await put("ends/a", { title: "Again" });
    const next = await world.api.repo("POST", "/memory/ends/a/claim", { body: { owner: "w" } });
    expect(next.fencingToken).toBeGreaterThan(claim.fencingToken);
    const stale = await world.api.tryRepo("PATCH", "/memory/ends/a", {
      fence: claim.fencingToken,
      body: { title: "x" },
    });
    expectProblem(stale, { status: 409, code: "stale_token" });
  });
});

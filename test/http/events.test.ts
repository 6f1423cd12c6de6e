/** Following events over HTTP: what is asked wrongly, what was lost, who may be told, and how streams end. */

import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Scope } from "../../src/domain/scope.ts";
import { ADMIN, type Caller } from "../../src/services/caller.ts";
import { type Heard, openEventStream } from "../../src/services/follow-events.ts";
import { KEPT_HOURS, pruneEvents } from "../../src/store/event-log.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { EventReader } from "../harness/event-reader.ts";
import { waitFor } from "../harness/wait-for.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;
let repo: FakeRepository;
let repositoryId: number;
const readers: EventReader[] = [];

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
  repositoryId = repo.id;
});
afterEach(() => {
  for (const reader of readers.splice(0)) reader.leave();
});
afterAll(() => world.end());

async function follow(query = "", lastEventId: string | null = null): Promise<EventReader> {
  const reader = await EventReader.open(world.app.address, { token: ADMIN_TOKEN, query, lastEventId });
  readers.push(reader);
  return reader;
}

const note = (id: string, api = world.api) => api.repo("PUT", `/memory/notes/${id}`, { body: { title: id } });
const notesOf = (reader: EventReader): string[] =>
  reader.events.filter(({ event }) => event === "memory.written").map(({ data }) => data.recordId);

describe("asking", () => {
  it.each([
    ["types=item.claimed,nonsense", 400, "validation_failed"],
    ["types=", 400, "validation_failed"],
    ["repo=widgets", 400, "validation_failed"],
    ["since=7", 400, "validation_failed"],
    ["repo=acme/nowhere", 404, "not_found"],
  ])("%s is refused", async (query, status, code) => {
    const answer = await world.api.send("GET", `/api/v1/events?${query}`);
    expectProblem(answer, { status, code });
  });

  it("without a token is refused", async () => {
    expectProblem(await world.api.send("GET", "/api/v1/events", { token: null }), {
      status: 401,
      code: "unauthenticated",
    });
  });

  it("tells only of the repository and the types that were asked for", async () => {
    const elsewhere = await world.repository("acme/gadgets");
    const [all, one, types] = [
      await follow(),
      await follow("repo=acme/widgets"),
      await follow("types=memory.forgotten"),
    ];
    await note("gadget", world.api.with({ repo: elsewhere.fullName }));
    await note("widget");
    await world.api.repo("DELETE", "/memory/notes/widget");
    for (const reader of [all, one, types]) await reader.heard("memory.forgotten");
    expect(notesOf(all)).toEqual(["gadget", "widget"]);
    expect(notesOf(one)).toEqual(["widget"]);
    expect(types.types).toEqual(["memory.forgotten"]);
  });
});

describe("going on", () => {
  it("after the last id gets what came meanwhile, and then what comes", async () => {
    const first = await follow();
    await note("one");
    await first.heard("memory.written");
    first.leave();
    await note("two");
    const second = await follow("", first.lastEventId);
    await second.heard("memory.written", ({ recordId }) => recordId === "two");
    await note("three");
    await second.heard("memory.written", ({ recordId }) => recordId === "three");
    expect(notesOf(second)).toEqual(["two", "three"]);
  });

  it("of a stream that was told of nothing misses nothing either", async () => {
    const first = await follow();
    first.leave();
    await note("between");
    const second = await follow("", first.lastEventId);
    await second.heard("memory.written");
    expect(notesOf(second)).toEqual(["between"]);
  });

  it.each(["9007199254740991", "1.5", "abc", "-1", "99999999999999999999"])(
    "after an id that is none of the log's (%s) is told so, and goes on from now",
    async (id) => {
      const reader = await follow("", id);
      const lost = await reader.heard("sync.lost");
      expect(lost).toMatchObject({
        reason: "unknown_id",
        detail: expect.stringContaining("Read the state anew"),
      });
      await note(`after-lost-${id.length}`);
      await reader.heard("memory.written");
      expect(reader.types).toEqual(["sync.lost", "memory.written"]);
      // The place that it got with the news is one to go on from.
      const again = await follow("", reader.frames.find(({ event }) => event === "sync.lost")?.id ?? null);
      await again.heard("memory.written");
      expect(again.types).toEqual(["memory.written"]);
    },
  );
});

/** Follows in process, as a caller with a scope. */
async function heardBy(caller: Partial<Caller>, lastEventId: string, until: (heard: Heard[]) => boolean) {
  const ended = new AbortController();
  const stream = await openEventStream(world.app.deps, { ...ADMIN, ...caller }, { lastEventId });
  const heard: Heard[] = [];
  const end = setTimeout(() => ended.abort(), 10_000);
  for await (const news of stream.follow(ended.signal)) {
    heard.push(news);
    if (until(heard)) break;
  }
  clearTimeout(end);
  stream.close();
  return heard.flatMap((news) => ("events" in news ? news.events : []));
}

describe("a scope", () => {
  let red: number;
  let blue: number;
  let epic: number;
  let part: number;
  let start: string;

  beforeAll(async () => {
    const alice = repo.as("alice");
    const open = (title: string) => alice.openIssue({ title, labels: ["backlog"] });
    [red, blue, epic, part] = [open("Red"), open("Blue"), open("Epic"), open("Part")];
    await world.settled();
    const patch = (number: number, body: object) =>
      world.api.repo("PATCH", `/memory/backlog/issue-${number}`, { body });
    await patch(red, { tags: { add: ["team:red"] } });
    await patch(part, { links: { add: { partOf: [`mem/backlog/issue-${epic}`] } } });
    await world.settled();
    const reader = await follow();
    start = reader.lastEventId ?? "";
    for (const number of [red, blue, epic, part]) await patch(number, { body: `about ${number}` });
    await world.api.block(red, blue);
    await world.api.block(part, epic).catch(() => {});
    await note("scoped");
    await reader.heard("memory.written", ({ recordId }) => recordId === "scoped");
  });

  const told = async (scope: Scope, more: Partial<Caller> = {}) => {
    const head = world.app.deps.events.head;
    const events = await heardBy({ scope, ...more }, start, (heard) => {
      const last = heard.at(-1);
      return last !== undefined && "events" in last && last.position >= head;
    });
    return events.map(({ type, number }) => `${type} ${number}`);
  };

  it("of tags is told of the items that have them, and of no edge to another", async () => {
    expect(await told({ roots: null, tags: ["team:red"] })).toEqual([`item.updated ${red}`]);
  });

  it("of a root is told of what is below it", async () => {
    const events = await told({ roots: [{ repositoryId, number: epic }], tags: null });
    expect(new Set(events.map((text) => text.split(" ")[1]))).toEqual(new Set([String(epic), String(part)]));
  });

  it("of both is told of what is in both", async () => {
    expect(await told({ roots: [{ repositoryId, number: epic }], tags: ["team:red"] })).toEqual([]);
  });

  it("is told of nothing that is no item any more", async () => {
    const gone = { roots: [{ repositoryId, number: 4_711 }], tags: null };
    await world.app.deps.database.pool.query("select log_event($1, 'item.updated', 4711, '{}')", [
      repositoryId,
    ]);
    await world.app.deps.events.look();
    expect(await told(gone)).toEqual([]);
  });

  it("is checked live as well: an item that leaves it is told of no more", async () => {
    const scope: Scope = { roots: null, tags: ["team:red"] };
    const ended = new AbortController();
    const stream = await openEventStream(world.app.deps, { ...ADMIN, scope }, {});
    const numbers: (number | null)[] = [];
    const following = (async () => {
      for await (const news of stream.follow(ended.signal)) {
        if ("events" in news) numbers.push(...news.events.map(({ number }) => number));
      }
    })();
    const patch = (number: number, body: object) =>
      world.api.repo("PATCH", `/memory/backlog/issue-${number}`, { body });
    await patch(blue, { body: "again" });
    await patch(red, { body: "again" });
    await waitFor("the red one", () => (numbers.length > 0 ? null : "nothing yet"), 10_000);
    await patch(red, { tags: { remove: ["team:red"] } });
    await patch(red, { body: "not red any more" });
    const reader = await follow();
    await note("past");
    await reader.heard("memory.written", ({ recordId }) => recordId === "past");
    ended.abort();
    await following;
    stream.close();
    expect(numbers).toEqual([red]);
  });

  it("a token for other repositories is told of none of these, and may not ask for one", async () => {
    const caller = { repositories: new Set([repositoryId + 999]) };
    expect(await told({ roots: null, tags: null }, caller)).toEqual([]);
    const asked = openEventStream(
      world.app.deps,
      { ...ADMIN, ...caller },
      { repo: { owner: "acme", name: "widgets" } },
    );
    await expect(asked).rejects.toMatchObject({ code: "scope_forbidden" });
  });
});

describe("a client that does not read", () => {
  it("is cut off with sync.lost, and misses nothing when it connects again", async () => {
    const { pool } = world.app.deps.database;
    const start = (await follow()).lastEventId ?? "";
    const { hostname, port } = new URL(world.app.address);
    const socket = connect(Number(port), hostname);
    socket.setEncoding("utf8").pause();
    socket.write(
      `GET /api/v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\nLast-Event-ID: ${start}\r\n\r\n`,
    );
    await waitFor("the stream to be open", () => (world.app.deps.events.streams > 1 ? null : "not yet"));
    // It is up to date before the flood, so that it is one who falls behind, and not one who catches up.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const MANY = 40_000;
    for (let part = 0; part < MANY; part += 4_000) {
      await pool.query(
        `insert into event_new (repository_id, type, data)
         select $1, 'memory.written', jsonb_build_object('topic', 'flood', 'recordId', n::text, 'filling', repeat('x', 500))
         from generate_series($2::int, $3::int) n`,
        [repositoryId, part, part + 3_999],
      );
      await world.app.deps.events.look();
    }
    let text = "";
    socket.on("data", (more: string) => {
      text += more;
    });
    socket.resume();
    await waitFor(
      "the stream to end",
      () => (text.includes("sync.lost") ? null : `${text.length} bytes came`),
      20_000,
    );
    socket.destroy();
    expect(text).toContain('"reason":"too_slow"');
    const idsIn = [...text.matchAll(/"recordId":"(\d+)"/g)].map(([, id]) => Number(id));
    const last = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? "";
    expect(idsIn.length).toBeLessThan(MANY);
    const again = await follow("types=memory.written", last);
    await waitFor(
      "the rest",
      () => (idsIn.length + again.events.length >= MANY ? null : `${idsIn.length} + ${again.events.length}`),
      30_000,
    );
    const all = [...idsIn, ...again.events.map(({ data }) => Number(data.recordId))];
    expect(all).toEqual(Array.from({ length: MANY }, (_, index) => index));
  });
});

describe("the end of a stream", () => {
  it("comes with the end of the process, at once", async () => {
    const replica = await world.secondReplica();
    const reader = await EventReader.open(replica.address, { token: ADMIN_TOKEN });
    const begin = performance.now();
    const stopping = replica.stop();
    await reader.ended();
    expect(performance.now() - begin).toBeLessThan(2_000);
    await stopping;
    expect(performance.now() - begin).toBeLessThan(10_000);
  });

  it("when the client leaves frees its place", async () => {
    const before = world.app.deps.events.streams;
    const reader = await follow();
    expect(world.app.deps.events.streams).toBe(before + 1);
    reader.leave();
    await waitFor("its place to be free", () =>
      world.app.deps.events.streams <= before ? null : "it is taken",
    );
  });
});

describe("a log that is not the one that was followed", () => {
  it("an id that is older than what is kept is told so", async () => {
    const old = (await follow()).lastEventId;
    await note("soon-gone");
    const reader = await follow("", old);
    await reader.heard("memory.written");
    await world.pass((KEPT_HOURS + 1) * 3600);
    await note("young");
    await reader.heard("memory.written", ({ recordId }) => recordId === "young");
    await pruneEvents(world.db);
    const late = await follow("", old);
    expect(await late.heard("sync.lost")).toMatchObject({ reason: "expired_id" });
  });

  it("a restore under a running process is told to everybody who followed", async () => {
    const reader = await follow();
    await note("to-be-lost");
    await reader.heard("memory.written");
    await world.app.deps.database.pool.query(
      `with gone as (delete from event where id = (select max(id) from event) returning id)
       update event_log set last_id = (select max(e.id) from event e, gone where e.id < gone.id)`,
    );
    await world.app.deps.events.look();
    expect(await reader.heard("sync.lost")).toMatchObject({ reason: "restored" });
    await reader.ended();
    const again = await follow("", reader.lastEventId);
    expect(await again.heard("sync.lost")).toMatchObject({ reason: "unknown_id" });
  });
});

/** Idempotency keys (api.md, "Errors"): asked for twice, done once, and answered the same to the byte. */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
});
afterAll(() => world.end());

const R = "/api/v1/repos/acme/widgets";

interface Raw {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
}

/** What comes over the wire, byte for byte. */
async function send(
  method: string,
  path: string,
  key: string,
  body: unknown,
  headers: object = {},
  address = world.app.address,
): Promise<Raw> {
  const response = await fetch(address + path, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      "idempotency-key": key,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return {
    status: response.status,
    text: await response.text(),
    replayed: response.headers.get("idempotency-replayed") === "true",
  };
}

let records = 0;
async function record(): Promise<string> {
  const path = `${R}/memory/locks/keyed-${++records}`;
  await world.api.send("PUT", path, { body: { title: "A lock" } });
  return path;
}
const grants = async (path: string): Promise<number> =>
  (await world.api.send("GET", `${path}/claims`)).body.claims.length;

/** So many wait for the record. */
const inLine = (path: string, wanted: number): Promise<void> =>
  waitFor(`${wanted} in line`, async () => {
    const { queueDepth } = (await world.api.send("GET", `${path}/claim`)).body;
    return queueDepth === wanted ? null : `there are ${queueDepth}`;
  });

describe("a write under a key", () => {
  it("that creates is answered 201 again, with the same bytes, and changes nothing", async () => {
    const key = randomUUID();
    const path = `${R}/memory/notes/once`;
    const first = await send("PUT", path, key, { title: "One", tags: ["a"] });
    expect(first).toMatchObject({ status: 201, replayed: false });
    await world.api.send("PATCH", path, { body: { title: "Two" } });
    expect(await send("PUT", path, key, { title: "One", tags: ["a"] })).toEqual({ ...first, replayed: true });
    expect((await world.api.send("GET", path)).body.title).toBe("Two");
  });

  it("is the same request in whatever order its fields stand", async () => {
    const key = randomUUID();
    const path = `${R}/memory/notes/order`;
    const first = await send("PUT", path, key, '{"title":"T","body":"B"}');
    expect(await send("PUT", path, key, '{ "body": "B", "title": "T" }')).toEqual({
      ...first,
      replayed: true,
    });
  });

  it("takes the key in upper case for the same", async () => {
    const key = randomUUID();
    const first = await send("PUT", `${R}/memory/notes/case`, key, { title: "T" });
    const again = await send("PUT", `${R}/memory/notes/case`, key.toUpperCase(), { title: "T" });
    expect(again).toEqual({ ...first, replayed: true });
  });

  it("that forgets says so again, although nothing is there any more", async () => {
    const path = `${R}/memory/notes/gone`;
    await world.api.send("PUT", path, { body: { title: "T" } });
    const key = randomUUID();
    const first = await send("DELETE", path, key, undefined);
    expect(JSON.parse(first.text)).toMatchObject({ forgotten: true });
    expect(await send("DELETE", path, key, undefined)).toEqual({ ...first, replayed: true });
  });

  it.each([
    ["another body", "PUT", `${R}/memory/notes/mismatch`, { title: "Other" }],
    ["another path", "PUT", `${R}/memory/notes/mismatch-2`, { title: "T" }],
    ["another repository", "PUT", "/api/v1/repos/acme/gadgets/memory/notes/mismatch", { title: "T" }],
    ["another method", "PATCH", `${R}/memory/notes/mismatch`, { title: "T" }],
  ])("is refused with %s", async (_, method, path, body) => {
    const key = randomUUID();
    await send("PUT", `${R}/memory/notes/mismatch`, key, { title: "T" });
    await world.api.send("PUT", "/api/v1/repos/acme/gadgets/memory/notes/first", { body: { title: "T" } });
    const answer = await world.api.send(method, path, { body, headers: { "idempotency-key": key } });
    expectProblem(answer, { status: 422, code: "idempotency_mismatch" });
  });

  it("that was refused is not kept: mended, it goes through", async () => {
    const path = await record();
    const { fencingToken } = (await world.api.send("POST", `${path}/claim`, { body: { owner: "w" } })).body;
    const key = randomUUID();
    expect(await send("PATCH", path, key, { body: "x" })).toMatchObject({ status: 409 });
    const mended = await send("PATCH", path, key, { body: "x" }, { "fencing-token": String(fencingToken) });
    expect(mended).toMatchObject({ status: 200, replayed: false });
  });

  it("is forgotten after a day", async () => {
    const key = randomUUID();
    await send("PUT", `${R}/memory/notes/day`, key, { title: "T" });
    await world.pass(86_401);
    expect(await send("PUT", `${R}/memory/notes/day`, key, { title: "Other" })).toMatchObject({
      status: 200,
      replayed: false,
    });
  });

  it("needs a UUID", async () => {
    const answer = await world.api.send("PUT", `${R}/memory/notes/bad`, {
      body: { title: "T" },
      headers: { "idempotency-key": "again" },
    });
    expectProblem(answer, { status: 400, code: "validation_failed", field: "idempotency-key" });
  });

  it("that is sent sixteen times at once, to two servers, happens once", async () => {
    const path = await record();
    const key = randomUUID();
    const second = await world.secondReplica();
    try {
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          send("POST", `${path}/claim`, key, { owner: "w" }, {}, index % 2 ? second.address : undefined),
        ),
      );
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(await grants(path)).toBe(1);
    } finally {
      await second.stop();
    }
  });
});

describe("a claim under a key", () => {
  const claim = (path: string, key: string, more: object = {}) =>
    send("POST", `${path}/claim`, key, { owner: "w", leaseSeconds: 100, ...more });

  it("is answered again with the same token while it is current", async () => {
    const path = await record();
    const key = randomUUID();
    const first = await claim(path, key);
    expect(JSON.parse(first.text)).toMatchObject({ granted: true });
    expect(await claim(path, key)).toEqual({ ...first, replayed: true });
    expect(await grants(path)).toBe(1);
  });

  it.each([
    [
      "released",
      async (path: string, token: number) => {
        await world.api.send("POST", `${path}/claim/release`, { body: { fencingToken: token } });
      },
    ],
    ["lapsed", () => world.pass(101)],
    [
      "followed by another's",
      async (path: string) => {
        await world.pass(101);
        await world.api.send("POST", `${path}/claim`, { body: { owner: "other" } });
      },
    ],
  ])("that is %s by now answers `superseded`", async (_, end) => {
    const path = await record();
    const key = randomUUID();
    const first = JSON.parse((await claim(path, key)).text);
    await end(path, first.fencingToken);
    const again = await claim(path, key);
    expect(again).toMatchObject({ status: 200, replayed: true });
    expect(JSON.parse(again.text)).toEqual({
      granted: false,
      key: first.key,
      reason: "superseded",
      blockers: [],
    });
  });

  it("that lost is not kept: it may win the next time", async () => {
    const path = await record();
    const { fencingToken } = (await world.api.send("POST", `${path}/claim`, { body: { owner: "first" } }))
      .body;
    const key = randomUUID();
    expect(JSON.parse((await claim(path, key)).text)).toMatchObject({ granted: false, reason: "contended" });
    await world.api.send("POST", `${path}/claim/release`, { body: { fencingToken } });
    expect(JSON.parse((await claim(path, key)).text)).toMatchObject({ granted: true });
  });

  it("from the line is kept, and the same request waiting beside it gets the same answer", async () => {
    const path = await record();
    const { fencingToken } = (await world.api.send("POST", `${path}/claim`, { body: { owner: "first" } }))
      .body;
    const key = randomUUID();
    const both = Promise.all([
      claim(path, key, { maxWaitSeconds: 20 }),
      claim(path, key, { maxWaitSeconds: 20 }),
    ]);
    await inLine(path, 2);
    await world.api.send("POST", `${path}/claim/release`, { body: { fencingToken } });
    const answers = await both;
    expect(JSON.parse(answers[0].text)).toMatchObject({ granted: true });
    expect(answers[1].text).toBe(answers[0].text);
    expect(answers.filter(({ replayed }) => replayed)).toHaveLength(1);
    expect(await grants(path)).toBe(2);
  });

  it("whose grant could not be delivered is granted anew", async () => {
    const path = await record();
    const { fencingToken } = (await world.api.send("POST", `${path}/claim`, { body: { owner: "first" } }))
      .body;
    const key = randomUUID();
    const gone = new AbortController();
    const lost = fetch(`${world.app.address}${path}/claim`, {
      method: "POST",
      signal: gone.signal,
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify({ owner: "w", leaseSeconds: 100, maxWaitSeconds: 20 }),
    }).catch(() => null);
    await inLine(path, 1);
    await world.api.send("POST", `${path}/claim/release`, { body: { fencingToken } });
    gone.abort();
    await lost;
    const again = JSON.parse((await claim(path, key, { maxWaitSeconds: 20 })).text);
    expect(again).toMatchObject({ granted: true, owner: "w" });
  });

  it("is renewed once, and released once", async () => {
    const path = await record();
    const { fencingToken } = JSON.parse((await claim(path, randomUUID())).text);
    const key = randomUUID();
    const first = await send("POST", `${path}/claim/renew`, key, { fencingToken, leaseSeconds: 50 });
    await world.pass(10);
    expect(await send("POST", `${path}/claim/renew`, key, { fencingToken, leaseSeconds: 50 })).toEqual({
      ...first,
      replayed: true,
    });
    const end = randomUUID();
    const released = await send("POST", `${path}/claim/release`, end, { fencingToken });
    expect(JSON.parse(released.text)).toEqual({ released: true });
    expect(await send("POST", `${path}/claim/release`, end, { fencingToken })).toEqual({
      ...released,
      replayed: true,
    });
  });
});

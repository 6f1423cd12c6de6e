/** The fence over HTTP (protocol 4): every row of its table, on every call that writes. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../harness/api-client.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
});
afterAll(() => world.end());

const LEASE_SECONDS = 60;
let records = 0;

/** A fresh record to be claimed. */
async function record(): Promise<string> {
  const path = `/memory/notes/fenced-${++records}`;
  await world.api.repo("PUT", path, { body: { title: "before" } });
  return path;
}
async function claim(path: string, owner = "w"): Promise<number> {
  const body = { owner, leaseSeconds: LEASE_SECONDS };
  const answer = await world.api.repo("POST", `${path}/claim`, { body });
  expect(answer).toMatchObject({ granted: true });
  return answer.fencingToken;
}
const release = (path: string, fencingToken: number) =>
  world.api.repo("POST", `${path}/claim/release`, { body: { fencingToken } });

interface Row {
  readonly path: string;
  readonly mark: number;
  /** A token of this record that was current before. */
  readonly old: number;
}

/** The states a record can be in. The token before the mark is one that was really granted. */
const STATES = {
  "never claimed": async () => ({ path: await record(), mark: 41, old: 40 }),
  live: claimedTwice,
  lapsed: async () => {
    const row = await claimedTwice();
    await world.pass(LEASE_SECONDS + 1);
    return row;
  },
  released: async () => {
    const row = await claimedTwice();
    await release(row.path, row.mark);
    return row;
  },
  "live in another region": async () => {
    const row = await claimedTwice();
    await world.db.updateTable("claim").set({ region: "elsewhere" }).where("fence", "=", row.mark).execute();
    return row;
  },
  "live for another API token": async () => {
    const row = await claimedTwice();
    await world.db.updateTable("claim").set({ actor: "another" }).where("fence", "=", row.mark).execute();
    return row;
  },
  "released in another region": async () => {
    const row = await claimedTwice();
    await world.db.updateTable("claim").set({ region: "elsewhere" }).where("fence", "=", row.mark).execute();
    await release(row.path, row.mark);
    return row;
  },
} satisfies Record<string, () => Promise<Row>>;

async function claimedTwice(): Promise<Row> {
  const path = await record();
  const old = await claim(path);
  await release(path, old);
  return { path, old, mark: await claim(path) };
}

const TOKENS = {
  none: () => undefined,
  "an old one": ({ old }: Row) => old,
  "the current one": ({ mark }: Row) => mark,
  "one above it": ({ mark }: Row) => mark + 1,
} satisfies Record<string, (row: Row) => number | undefined>;

type Outcome = "accepted" | string;

const TABLE: [keyof typeof STATES, keyof typeof TOKENS, Outcome][] = [
  ["never claimed", "none", "accepted"],
  ["never claimed", "an old one", "accepted"],
  ["never claimed", "one above it", "accepted"],
  ["live", "none", "claim_required"],
  ["live", "an old one", "stale_token"],
  ["live", "the current one", "accepted"],
  ["live", "one above it", "unissued_token"],
  // Expiry is not read on the write path: nobody else was granted a higher token yet.
  ["lapsed", "none", "claim_required"],
  ["lapsed", "an old one", "stale_token"],
  ["lapsed", "the current one", "accepted"],
  ["lapsed", "one above it", "unissued_token"],
  ["released", "none", "accepted"],
  ["released", "an old one", "stale_token"],
  ["released", "the current one", "claim_released"],
  ["released", "one above it", "unissued_token"],
  ["live in another region", "none", "claim_required"],
  ["live in another region", "an old one", "stale_token"],
  ["live in another region", "the current one", "foreign_region"],
  ["released in another region", "the current one", "claim_released"],
  ["live for another API token", "none", "claim_required"],
  ["live for another API token", "the current one", "not_holder"],
];

const WRITES: Record<string, (path: string, fence: number | undefined) => Promise<Answer>> = {
  PUT: (path, fence) => write("PUT", path, fence, { title: "after" }),
  PATCH: (path, fence) => write("PATCH", path, fence, { tags: { add: ["after"] } }),
  DELETE: (path, fence) => write("DELETE", path, fence),
  "DELETE ?lapseSeconds": (path, fence) => write("DELETE", `${path}?lapseSeconds=60`, fence),
};

const write = (method: string, path: string, fence: number | undefined, body?: object) =>
  world.api.tryRepo(method, path, {
    ...(fence === undefined ? {} : { fence }),
    ...(body === undefined ? {} : { body }),
  });

describe.each(Object.entries(WRITES))("%s", (_, attempt) => {
  it.each(TABLE)("on a record that is %s, with %s: %s", async (state, token, outcome) => {
    const row = await STATES[state]();
    const before = await world.api.repo("GET", row.path);
    const answer = await attempt(row.path, TOKENS[token](row));
    const after = await world.api.repo("GET", row.path);
    if (outcome === "accepted") {
      expect(answer.status).toBe(200);
      expect(after).not.toEqual(before);
    } else {
      expectProblem(answer, { status: 409, code: outcome });
      expect(after).toEqual(before);
    }
  });
});

describe("a superseded holder", () => {
  it("wakes up after another took over, and can write nothing any more", async () => {
    const path = await record();
    const dead = await claim(path, "dead");
    await world.pass(LEASE_SECONDS + 1);
    const alive = await claim(path, "alive");
    expect(alive).toBeGreaterThan(dead);
    for (const attempt of Object.values(WRITES)) {
      expectProblem(await attempt(path, dead), { status: 409, code: "stale_token" });
    }
    const written = await write("PUT", path, alive, { title: "by the new holder" });
    expect(written.body.title).toBe("by the new holder");
  });

  it("does not slip in while a takeover is under way: of the two, the write comes first or is refused", async () => {
    const path = await record();
    const old = await claim(path, "old");
    await world.pass(LEASE_SECONDS + 1);
    const writes = Array.from({ length: 8 }, (_, n) => write("PUT", path, old, { title: `old ${n}` }));
    const [fresh, ...answers] = await Promise.all([claim(path, "new"), ...writes]);
    for (const answer of answers) expect([200, 409]).toContain(answer.status);
    const last = await write("PUT", path, fresh, { title: "new" });
    expect(last.status).toBe(200);
    expectProblem(await write("PUT", path, old, { title: "too late" }), { status: 409, code: "stale_token" });
    expect((await world.api.repo("GET", path)).title).toBe("new");
  });
});

describe("the mark outlives the record", () => {
  it("a record that is forgotten and made again does not start its tokens afresh", async () => {
    const path = await record();
    const first = await claim(path);
    expect((await write("DELETE", path, first)).status).toBe(200);
    expectProblem(await write("PUT", path, undefined, { title: "again" }), {
      status: 409,
      code: "claim_required",
    });
    expect(await release(path, first)).toEqual({ released: true });

    expect((await write("PUT", path, undefined, { title: "again" })).status).toBe(201);
    expectProblem(await write("PUT", path, first, { title: "late" }), {
      status: 409,
      code: "claim_released",
    });
    const second = await claim(path);
    expect(second).toBeGreaterThan(first);
    expectProblem(await write("PUT", path, first, { title: "late" }), { status: 409, code: "stale_token" });
  });

  it("so does one that expired", async () => {
    const path = await record();
    const first = await claim(path);
    await write("DELETE", `${path}?lapseSeconds=10`, first);
    await world.pass(11);
    expect(await world.api.repo("GET", path)).toMatchObject({ exists: false });
    expectProblem(await write("PUT", path, undefined, { title: "again" }), {
      status: 409,
      code: "claim_required",
    });
    expect((await write("PUT", path, first, { title: "again" })).status).toBe(201);
  });
});

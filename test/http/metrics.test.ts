/** Metrics: what they are called, how far their labels go, and that each moves when its thing happens. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { EventReader } from "../harness/event-reader.ts";
import { waitFor } from "../harness/wait-for.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

/** Prometheus' text, read strictly: a line that is none is an error. */
function parse(text: string): Map<string, Family> {
  const families = new Map<string, { type: string; help: string; samples: Sample[] }>();
  const family = (name: string) => {
    const known = families.get(name) ?? { type: "", help: "", samples: [] };
    families.set(name, known);
    return known;
  };
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const about = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (about) {
      const [, what, name = "", said = ""] = about;
      if (what === "HELP") family(name).help = said;
      else family(name).type = said;
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!sample) throw new Error(`not a line of Prometheus: ${line}`);
    const [, name = "", labels = "", value = ""] = sample;
    const base = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
    family(base).samples.push({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]),
      ),
      value: Number(value),
    });
  }
  return families;
}

let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

const scraped = async (api = world.api) => {
  const answer = await api.send("GET", "/metrics");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return parse(answer.body);
};

async function sampleOf(
  name: string,
  labels: Record<string, string> = {},
  api = world.api,
): Promise<number | null> {
  const families = await scraped(api);
  const samples = [...families.values()].flatMap((family) => family.samples);
  const found = samples.find(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
  );
  return found?.value ?? null;
}

/** What the database knows is read at most every two seconds. */
const becomes = (
  name: string,
  labels: Record<string, string>,
  wanted: (value: number | null) => boolean,
  api = world.api,
) =>
  waitFor(
    `${name} to change`,
    async () => {
      const value = await sampleOf(name, labels, api);
      return wanted(value) ? null : `it is ${value}`;
    },
    10_000,
  );

/** How much it grows by what is done. */
async function growth(
  name: string,
  labels: Record<string, string>,
  act: () => Promise<unknown>,
): Promise<number> {
  const before = (await sampleOf(name, labels)) ?? 0;
  await act();
  return ((await sampleOf(name, labels)) ?? 0) - before;
}

async function item(title: string): Promise<number> {
  const number = repo.as("alice").openIssue({ title, labels: ["backlog"] });
  await world.settled();
  return number;
}

describe("the text", () => {
  it("names, types and helps are what Prometheus asks for", async () => {
    const number = await item("Measured");
    await world.api.claim(number, "w");
    const families = await scraped();
    expect(families.size).toBeGreaterThan(30);
    for (const [name, { type, help, samples }] of families) {
      expect([name, type]).toEqual([name, expect.stringMatching(/^(counter|gauge|histogram|summary)$/)]);
      expect([name, help.length > 15]).toEqual([name, true]);
      if (name.startsWith("leasehold_")) {
        expect([name, type === "counter"]).toEqual([name, name.endsWith("_total")]);
        if (type === "histogram") expect(name).toMatch(/_seconds$/);
        // Base units only.
        expect(name).not.toMatch(/_(ms|millis|minutes|hours|kb|mb)(_|$)/);
      }
      for (const sample of samples)
        expect([sample.name, Number.isNaN(sample.value)]).toEqual([sample.name, false]);
    }
    for (const own of [
      "process_resident_memory_bytes",
      "nodejs_eventloop_lag_seconds",
      "process_cpu_seconds_total",
    ])
      expect(families.has(own)).toBe(true);
  });

  it("no label holds what a caller chose, or an address", async () => {
    await world.api.send("GET", "/nowhere/secret-path-4711?x=1");
    await world.api.tryRepo("GET", "/items/4711");
    await world.api.tryRepo("GET", "/memory/topic-4711/id-4711");
    await world.api.send("GET", "/api/v1/repos/nobody-4711/nothing-4711/ready");
    const families = await scraped();
    const allowed: Record<string, RegExp> = {
      route: /^(\(none\)|\*|\/[^?]*)$/,
      endpoint: /^(\(others\)|(\/([a-z_-]+|\{[a-z_]+\}))+)$/,
      status: /^([1-5]\d\d|none)$/,
      method: /^[A-Z]+$/,
      repository: /^acme\/widgets$/,
      installation: /^(\d+|\(others\))$/,
    };
    for (const [name, { samples }] of families) {
      if (!name.startsWith("leasehold_")) continue;
      for (const { labels } of samples) {
        for (const [key, text] of Object.entries(labels)) {
          expect([name, key, text]).toEqual([
            name,
            key,
            expect.stringMatching(allowed[key] ?? /^(\d|[a-z_.+]|Inf)+$/),
          ]);
          expect(text).not.toContain("4711");
        }
      }
    }
  });

  it("is for tokens that are bounded to nothing", async () => {
    expectProblem(await world.api.send("GET", "/metrics", { token: null }), {
      status: 401,
      code: "unauthenticated",
    });
    const token = async (body: object): Promise<string> => {
      const made = await world.api.send("POST", "/api/v1/tokens", {
        body: { name: "scraper", capabilities: ["read"], ...body },
      });
      expect(made.status).toBe(201);
      return made.body.token;
    };
    const bounded = await token({ repos: ["acme/widgets"] });
    expectProblem(await world.api.send("GET", "/metrics", { token: bounded }), {
      status: 403,
      code: "scope_forbidden",
    });
    expect((await world.api.send("GET", "/metrics", { token: await token({}) })).status).toBe(200);
  });
});

describe("each moves when its thing happens", () => {
  it("claims, by their outcome", async () => {
    const number = await item("Claimed");
    expect(
      await growth("leasehold_claims_total", { outcome: "granted" }, () => world.api.claim(number, "a")),
    ).toBe(1);
    expect(
      await growth("leasehold_claims_total", { outcome: "contended" }, () => world.api.claim(number, "b")),
    ).toBe(1);
    expect(
      await growth("leasehold_claims_total", { outcome: "missing" }, () => world.api.claim(99_999, "b")),
    ).toBe(1);
  });

  it("waiting in line, by how it ended", async () => {
    const number = await item("Waited for");
    const { fencingToken } = await world.api.claim(number, "a", { leaseSeconds: 900 });
    const waits = (outcome: string) => ["leasehold_claim_wait_seconds_count", { outcome }] as const;
    expect(await growth(...waits("timeout"), () => world.api.claim(number, "b", { maxWaitSeconds: 1 }))).toBe(
      1,
    );
    const granted = await growth(...waits("granted"), async () => {
      const waiting = world.api.claim(number, "b", { maxWaitSeconds: 20 });
      await becomes("leasehold_claim_waiters", {}, (value) => value === 1);
      await world.api.release(number, fencingToken);
      expect(await waiting).toMatchObject({ granted: true });
    });
    expect(granted).toBe(1);
    await becomes("leasehold_claim_waiters", {}, (value) => value === 0);
  });

  it("lapsed leases that are taken again", async () => {
    const number = await item("Lapses");
    await world.api.claim(number, "a");
    await world.pass(100);
    const reclaims = (by: string) => ["leasehold_lease_reclaims_total", { by }] as const;
    expect(await growth(...reclaims("same_owner"), () => world.api.claim(number, "a"))).toBe(1);
    await world.pass(100);
    expect(await growth(...reclaims("other"), () => world.api.claim(number, "b"))).toBe(1);
  });

  it("refusals of the fence, by their code", async () => {
    const number = await item("Fenced");
    await world.api.claim(number, "a", { leaseSeconds: 900 });
    const write = (fence?: number) => () =>
      world.api.tryRepo("PATCH", `/memory/backlog/issue-${number}`, {
        body: { body: "x" },
        ...(fence === undefined ? {} : { fence }),
      });
    const refusals = (code: string) => ["leasehold_fence_refusals_total", { code }] as const;
    expect(await growth(...refusals("claim_required"), write())).toBe(1);
    expect(await growth(...refusals("unissued_token"), write(9_007_199_254_740_000))).toBe(1);
  });

  it("requests to GitHub, by endpoint and status, and what is left of the budget", async () => {
    const labels = {
      method: "POST",
      endpoint: "/repos/{owner}/{repo}/issues/{issue_number}/comments",
      status: "201",
    };
    const number = await item("Commented");
    const posted = await growth("leasehold_github_requests_total", labels, async () => {
      await world.api.claim(number, "a");
      await world.settled();
    });
    expect(posted).toBe(1);
    const families = await scraped();
    const budget = families.get("leasehold_github_rate_limit_remaining");
    expect(budget?.type).toBe("gauge");
  });

  it("the inbox and the outbox: how many wait, and for how long", async () => {
    const { pool } = world.app.deps.database;
    await becomes("leasehold_inbox_deliveries", { state: "pending" }, (value) => value === 0);
    // Not due: nobody works on them meanwhile.
    await pool.query(
      `insert into inbox (repository_id, hook_id, delivery_id, event, lane, payload, received_at, next_try_at)
       values (1, 'h', 'd', 'issues', 'l', '{}', db_now() - interval '90 seconds', db_now() + interval '1 hour')`,
    );
    await pool.query(
      `insert into outbox (repository_id, kind, promise, payload, created_at, next_try_at)
       values (1, 'comment', 'p', '{}', db_now() - interval '50 seconds', db_now() + interval '1 hour')`,
    );
    await becomes("leasehold_inbox_deliveries", { state: "pending" }, (value) => value === 1);
    await becomes(
      "leasehold_inbox_oldest_pending_seconds",
      {},
      (value) => value !== null && value >= 90 && value < 150,
    );
    await becomes("leasehold_outbox_promises", { state: "pending" }, (value) => value === 1);
    await becomes(
      "leasehold_outbox_oldest_pending_seconds",
      {},
      (value) => value !== null && value >= 50 && value < 110,
    );
    await pool.query("update inbox set state = 'failed' where delivery_id = 'd'");
    await becomes("leasehold_inbox_deliveries", { state: "failed" }, (value) => value === 1);
    await pool.query("delete from inbox where delivery_id = 'd'");
    await pool.query("delete from outbox where promise = 'p'");
  });

  it("sweeps, and what they parked", async () => {
    const swept = await growth("leasehold_sweep_runs_total", { result: "ok" }, async () => {
      const sweep = "select graphile_worker.add_job('sweep', '{}', job_key => 'sweep')";
      await world.app.deps.database.pool.query(sweep);
      await becomes(
        "leasehold_sweep_last_success_timestamp_seconds",
        {},
        (value) => (value ?? 0) > Date.now() / 1000 - 60,
      );
    });
    expect(swept).toBe(1);
    expect(await sampleOf("leasehold_sweep_parked_items_total")).toBe(0);
  });

  it("ready items of each repository, the same on every replica", async () => {
    const labels = { repository: "acme/widgets" };
    await becomes("leasehold_ready_items", labels, (value) => value !== null);
    const before = (await sampleOf("leasehold_ready_items", labels)) ?? 0;
    const number = await item("Ready");
    await becomes("leasehold_ready_items", labels, (value) => value === before + 1);
    const other = await world.secondReplica();
    await becomes("leasehold_ready_items", labels, (value) => value === before + 1, other.api);
    await world.api.claim(number, "a", { leaseSeconds: 900 });
    for (const api of [world.api, other.api])
      await becomes("leasehold_ready_items", labels, (value) => value === before, api);
    await other.stop();
  });

  it("requests, by the template of their route", async () => {
    const labels = { method: "GET", route: "/api/v1/repos/:owner/:repo/ready", status: "200" };
    const count = () =>
      growth("leasehold_http_request_duration_seconds_count", labels, () => world.api.ready());
    expect(await count()).toBe(1);
    const missing = { method: "GET", route: "(none)", status: "404" };
    const name = "leasehold_http_request_duration_seconds_count";
    expect(await growth(name, missing, () => world.api.send("GET", "/nowhere"))).toBe(1);
  });

  it("streams of events, and their losses", async () => {
    const reader = await EventReader.open(world.app.address, { token: ADMIN_TOKEN });
    await becomes("leasehold_event_streams", {}, (value) => value === 1);
    reader.leave();
    await becomes("leasehold_event_streams", {}, (value) => value === 0);
    const lost = await growth("leasehold_event_stream_losses_total", { reason: "unknown_id" }, async () => {
      const second = await EventReader.open(world.app.address, {
        token: ADMIN_TOKEN,
        lastEventId: "nonsense",
      });
      await second.heard("sync.lost");
      second.leave();
    });
    expect(lost).toBe(1);
    await becomes("leasehold_events_unnumbered", {}, (value) => value === 0);
  });

  it("of the database, when it cannot answer in time nothing old is told", async () => {
    await becomes("leasehold_database_up", {}, (value) => value === 1);
    const blocker = await world.app.deps.database.pool.connect();
    await blocker.query("begin");
    await blocker.query("lock table event_new in access exclusive mode");
    await becomes("leasehold_database_up", {}, (value) => value === 0);
    expect(await sampleOf("leasehold_claim_waiters")).toBeNull();
    expect(await sampleOf("leasehold_ready_items", { repository: "acme/widgets" })).toBeNull();
    await blocker.query("rollback");
    blocker.release();
    await becomes("leasehold_database_up", {}, (value) => value === 1);
  });
});

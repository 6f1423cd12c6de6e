/** Many deliveries at once, and two processes that share the work: in order per issue, each once. */

import { afterAll, beforeAll, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";
import { inbox, keepBackOne, type Payload, sign, withValues } from "./support/deliveries.ts";

const ISSUES = 20;
const EDITS = 10;

let world: World;
let repo: FakeRepository;
let second: Awaited<ReturnType<World["secondReplica"]>>;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
  second = await world.secondReplica();
});
afterAll(async () => {
  await second.stop();
  await world.end();
});

/** A new title for an issue, all within one second of GitHub's clock: only arrival tells the order. */
function edits(): { number: number; title: string; payload: Payload }[][] {
  return Array.from({ length: ISSUES }, () => {
    const { payload } = keepBackOne(world.github, "issues.opened", () =>
      repo.as("alice").openIssue({ title: "0", labels: ["backlog"] }),
    );
    return Array.from({ length: EDITS }, (_, n) => {
      const title = String(n + 1);
      const edited = withValues(payload, { action: n === 0 ? "opened" : "edited", "issue.title": title });
      return { number: payload.issue.number, title, payload: edited };
    });
  });
}

async function send(api: ApiClient, guid: string, payload: Payload): Promise<void> {
  const raw = JSON.stringify(payload);
  const { status } = await api.send("POST", "/api/github/webhooks", {
    token: null,
    raw,
    headers: {
      "x-github-event": "issues",
      "x-github-delivery": guid,
      "x-github-hook-id": "1",
      "x-hub-signature-256": sign(raw, world.github.app.webhookSecret),
    },
  });
  expect(status).toBe(202);
}

/** As `world.settled()`, with time for so many on a busy machine. */
async function workedOff(): Promise<void> {
  const left = async () => (await inbox(world)).filter(({ state }) => state === "pending").length;
  await waitFor("the inbox", async () => ((await left()) === 0 ? null : `${await left()} are left`), 60_000);
  await world.settled();
}

it("200 deliveries over 20 issues to two processes at once are had in order per issue, each once", async () => {
  const pool = world.app.deps.database.pool;
  await pool.query(`
    create table title_log (place serial, number integer, title text);
    create function log_title() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' or new.title is distinct from old.title then
        insert into title_log (number, title) values (new.number, new.title);
      end if;
      return new;
    end $$;
    create trigger log_title after insert or update on issue for each row execute function log_title()`);
  const lanes = edits();
  const before = (await inbox(world)).length;

  // GitHub sends an issue's next delivery when the one before was answered; issues go side by side.
  await Promise.all(
    lanes.map(async (lane, place) => {
      for (const [n, { number, title, payload }] of lane.entries()) {
        await send((place + n) % 2 ? second.api : world.api, `many-${number}-${title}`, payload);
      }
    }),
  );
  await workedOff();

  const stored = (await inbox(world)).slice(before);
  expect(stored.filter(({ delivery_id }) => delivery_id.startsWith("many-"))).toHaveLength(ISSUES * EDITS);
  for (const { delivery_id, state, attempts } of stored) {
    expect({ delivery_id, state, attempts }).toEqual({ delivery_id, state: "done", attempts: 1 });
  }
  const { rows } = await pool.query<{ number: number; titles: string[] }>(
    "select number, array_agg(title order by place) as titles from title_log group by number order by number",
  );
  const wanted = Array.from({ length: EDITS }, (_, n) => String(n + 1));
  expect(rows).toEqual(lanes.map(([edit]) => ({ number: edit?.number, titles: wanted })));

  const { items } = await world.api.repo("GET", "/items?limit=100");
  expect(items).toHaveLength(ISSUES);
}, 90_000);

it("a redelivery of all of them to both processes at once does nothing", async () => {
  const stored = (await inbox(world)).filter(({ delivery_id }) => delivery_id.startsWith("many-"));
  await Promise.all(
    stored.flatMap(({ delivery_id, payload }) =>
      [world.api, second.api].map((api) => send(api, delivery_id, JSON.parse(payload))),
    ),
  );
  await world.settled();
  expect((await inbox(world)).filter(({ delivery_id }) => delivery_id.startsWith("many-"))).toEqual(stored);
  const { rows } = await world.app.deps.database.pool.query<{ count: number }>(
    "select count(*)::int as count from title_log",
  );
  expect(rows).toEqual([{ count: ISSUES * EDITS }]);
}, 90_000);

/** Groupings that were begun and left (protocol 7): finished without being asked for again, and without doubling. */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { continueGroupings } from "../../src/services/continue-groupings.ts";
import { MOST_TRIES } from "../../src/store/authoring.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient, Sent } from "../harness/api-client.ts";
import { World } from "../harness/world.ts";

let world: World;
let repo: FakeRepository;
let api: ApiClient;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
  api = world.api;
});
afterAll(() => world.end());

const ISSUES = "/repos/acme/widgets/issues";
const create = (slug: string, sent: Sent = {}) =>
  api.tryRepo("POST", "/groupings", { body: grouping(slug), ...sent });
const grouping = (slug: string) => ({
  epic: { title: `Epic ${slug}`, slug },
  items: [
    { ref: "a", title: `First ${slug}` },
    { ref: "b", title: `Second ${slug}`, blockedBy: ["a"] },
    { ref: "end", title: `End ${slug}`, phase: "integration" },
  ],
});
const ALL = (slug: string) => ["Epic", "First", "Second", "End"].map((what) => `${what} ${slug}`);

const openedFor = (slug: string): string[] =>
  [...repo.record.issues.values()].flatMap(({ title }) => (title.endsWith(` ${slug}`) ? [title] : []));
const numberOf = (title: string): number => {
  const issue = [...repo.record.issues.values()].find((each) => each.title === title);
  if (!issue) throw new Error(`${title} was not opened`);
  return issue.number;
};
const isLeft = async (slug: string): Promise<boolean> =>
  (await world.db.selectFrom("authoring").select("id").where("branch", "=", `feat/epic/${slug}`).execute())
    .length > 0;
const goOn = () => continueGroupings(world.app.deps, new AbortController().signal);

/** GitHub opens two of its issues; then this happens. */
function after2(kind: "hang" | "status" | "effect-then-status"): void {
  for (let at = 0; at < 2; at += 1)
    world.github.fault({ method: "POST", path: ISSUES, kind: "delay", delayMs: 1 });
  const status = kind === "hang" ? {} : { status: 502 };
  world.github.fault({ method: "POST", path: ISSUES, kind, ...status });
  if (kind === "effect-then-status")
    world.github.fault({ method: "GET", path: ISSUES, kind: "status", status: 503 });
}

it("the process dies while GitHub is asked: another finishes it, and nobody asks", async () => {
  const sent = { headers: { "idempotency-key": randomUUID() } };
  after2("hang");
  const asked = world.github.requestsTo("POST", ISSUES).length;
  // Its connection breaks with the process, or it hears that the process stops.
  const lost = create("died", sent).catch(() => null);
  await expect
    .poll(() => world.github.requestsTo("POST", ISSUES).length, { timeout: 10_000 })
    .toBe(asked + 3);
  await world.pass(90);
  await world.restart();
  await lost;
  await expect.poll(() => isLeft("died"), { timeout: 40_000 }).toBe(false);
  await world.settled();
  expect(openedFor("died")).toEqual(ALL("died"));
  expect(await api.item(numberOf("Second died"))).toMatchObject({
    epic: numberOf("Epic died"),
    baseBranch: "feat/epic/died",
  });
  // Whoever asked comes back at last, and is told what came of it.
  const { status, body } = await create("died", sent);
  expect([status, body.epic?.number, body.items?.end]).toEqual([
    201,
    numberOf("Epic died"),
    numberOf("End died"),
  ]);
  expect(openedFor("died")).toEqual(ALL("died"));
}, 90_000);

it("an answer of GitHub's that was lost doubles nothing, and the same request without a key is answered", async () => {
  after2("effect-then-status");
  expect((await create("lost")).status).toBe(502);
  expect(openedFor("lost")).toHaveLength(3);
  await goOn();
  // Not before its time: whoever asked may be about to ask again.
  expect(await isLeft("lost")).toBe(true);
  await world.pass(90);
  await goOn();
  await world.settled();
  expect(openedFor("lost")).toEqual(ALL("lost"));
  const { status, body } = await create("lost");
  expect([status, body.epic?.number]).toEqual([201, numberOf("Epic lost")]);
  expect(openedFor("lost")).toEqual(ALL("lost"));
});

it("it is tried again later and later, and at some time no more", async () => {
  after2("status");
  expect((await create("never")).status).toBe(502);
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    await world.pass(3700);
    world.github.fault({ method: "POST", path: ISSUES, kind: "status", status: 502 });
    await goOn();
    expect(await world.db.selectFrom("authoring").select("tries").execute()).toEqual([{ tries }]);
    // Not twice at a time.
    await goOn();
  }
  await world.pass(100_000);
  await goOn();
  expect(openedFor("never")).toHaveLength(2);
  // Sent again it goes on, as ever.
  expect((await create("never")).status).toBe(201);
  await world.settled();
  expect(openedFor("never")).toEqual(ALL("never"));
}, 60_000);

it("its epic closed by a person, it is given up", async () => {
  after2("status");
  expect((await create("closed")).status).toBe(502);
  await world.settled();
  repo.as("alice").close(numberOf("Epic closed"), "not_planned");
  await world.settled();
  await world.pass(90);
  await goOn();
  expect(await isLeft("closed")).toBe(false);
  expect(openedFor("closed")).toHaveLength(2);
});

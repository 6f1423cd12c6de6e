/** Enrolment (protocol 2): a label makes an issue an item, and labels say its priority. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  defectsOf,
  expectNotReady,
  expectReady,
  expectRefused,
  granted,
  readyNumbers,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let api: ApiClient;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
});
afterAll(() => world.end());

async function issue(...labels: string[]): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "Work", labels });
  await world.settled();
  stories.later();
  return number;
}

async function expectNoItem(number: number, on = api): Promise<void> {
  expect((await on.tryRepo("GET", `/items/${number}`)).status).toBe(404);
  await expectRefused(on, number, "missing");
  await expectNotReady(on, number);
}

describe("an issue", () => {
  it("without the label is no item", async () => {
    await expectNoItem(await issue());
  });

  it("opened with the label is one, its missing tags filled in", async () => {
    const number = await issue("backlog");
    const item = await api.item(number);
    expect(item.tags).toEqual([
      "backlog",
      "priority:P2",
      "phase:implementation",
      "homeRegion:local",
      "baseBranch:main",
    ]);
    expect(item).toMatchObject({ state: null, role: "queue", issueState: "open", defects: [] });
  });

  it("labelled later becomes one", async () => {
    const number = await issue();
    repo.as("tess").label(number, "backlog");
    await world.settled();
    await expectReady(api, number);
  });

  it("[17] is one with the label in any case of letters", async () => {
    const other = world.github.repository("acme/shouting", {
      collaborators: { alice: "admin" },
      labels: ["BackLog"],
    });
    await world.install(other);
    const number = other.as("alice").openIssue({ title: "x", labels: ["backlog"] });
    await world.settled();
    expect(other.issue(number).labels).toEqual(["BackLog"]);
    await expectReady(api.with({ repo: "acme/shouting" }), number);
  });

  it("takes what is missing from the repository's settings", async () => {
    const other = await world.repository("acme/settings");
    const settings = {
      defaults: { priority: "P1", phase: "research", baseBranch: "dev", homeRegion: "eu", type: "fix" },
    };
    await world.db
      .updateTable("repository")
      .set({ settings: JSON.stringify(settings) })
      .where("id", "=", other.id)
      .execute();
    const number = other.as("alice").openIssue({ title: "x", labels: ["backlog"] });
    await world.settled();
    const { tags } = await api.with({ repo: "acme/settings" }).item(number);
    expect(tags).toEqual(["backlog", "priority:P1", "phase:research", "homeRegion:eu", "baseBranch:dev"]);
  });

  it("is one without any label where every issue is", async () => {
    const other = await world.repository("acme/all");
    await world.db
      .updateTable("repository")
      .set({ settings: JSON.stringify({ enrollAll: true }) })
      .where("id", "=", other.id)
      .execute();
    const number = other.as("alice").openIssue({ title: "x" });
    await world.settled();
    await expectReady(api.with({ repo: "acme/all" }), number);
  });

  it("that is closed is not enrolled by a label", async () => {
    const number = await issue();
    repo.as("alice").close(number);
    repo.as("alice").label(number, "backlog");
    await world.settled();
    await expectNoItem(number);
  });

  it("[14] [48] may have no body, or one as long as GitHub allows", async () => {
    const long = "x".repeat(65_536);
    const numbers = [null, long].map((body) =>
      repo.as("alice").openIssue({ title: "x", body, labels: ["backlog"] }),
    );
    await world.settled();
    expect(await readyNumbers(api)).toEqual(expect.arrayContaining(numbers));
    const rows = await world.db.selectFrom("issue").select("body").where("number", "in", numbers).execute();
    expect(rows.map(({ body }) => body?.length ?? null).toSorted()).toEqual([65_536, null]);
  });
});

describe("[47] a pull request", () => {
  it("is never an item, whatever its labels", async () => {
    const number = repo.as("alice").openPull({ head: "topic/labelled", labels: ["backlog", "P0"] });
    repo.as("alice").label(number, "P1");
    repo.as("alice").comment(number, "please");
    await world.settled();
    await expectNoItem(number);
  });
});

describe("priority", () => {
  it.each([
    ["P0", "P0"],
    ["p3", "P3"],
    ["priority:P1", "P1"],
    ["priority/P1", "P1"],
    ["Priority: p0", "P0"],
    ["PRIORITY/P3", "P3"],
  ])("is read from a label %s", async (label, priority) => {
    const number = await issue("backlog", label);
    expect(await api.item(number)).toMatchObject({ priority, defects: [] });
  });

  it.each(["P4", "prio:P1", "P1-later", "priority"])("is not read from a label %s", async (label) => {
    const number = await issue("backlog", label);
    expect(await api.item(number)).toMatchObject({ priority: "P2" });
  });

  it("given twice in different spellings is one priority", async () => {
    const number = await issue("backlog", "P1", "priority:P1");
    expect(await api.item(number)).toMatchObject({ priority: "P1", defects: [] });
  });

  it("given twice and different is a defect: reported, and out of the ready set until it is mended", async () => {
    const number = await issue("backlog", "P0", "priority:P2");
    const item = await api.item(number);
    expect(item).toMatchObject({ priority: null });
    expect(item.defects).toEqual([
      expect.objectContaining({ code: "duplicate_tag", value: "priority:P0, priority:P2" }),
    ]);
    await expectNotReady(api, number);

    repo.as("alice").unlabel(number, "P0");
    await world.settled();
    expect(await api.item(number)).toMatchObject({ priority: "P2", defects: [] });
    await expectReady(api, number);
  });

  it("follows the labels, and falls back to the default", async () => {
    const number = await issue("backlog", "P0");
    repo.as("alice").label(number, "P3");
    repo.as("alice").unlabel(number, "P0");
    await world.settled();
    expect(await api.item(number)).toMatchObject({ priority: "P3" });
    repo.as("alice").unlabel(number, "P3");
    await world.settled();
    expect(await api.item(number)).toMatchObject({ priority: "P2" });
  });

  it("without a label is the epic's, whenever that or the link changes; a label of its own goes before", async () => {
    const [epic, plain, own] = [
      await issue("backlog", "P1"),
      await issue("backlog"),
      await issue("backlog", "P3"),
    ];
    const priorityOf = async (number: number) => (await api.item(number)).priority;
    for (const number of [plain, own]) {
      const links = { add: { partOf: [`mem/backlog/issue-${epic}`] } };
      await api.repo("PATCH", `/items/${number}`, { body: { links } });
    }
    await world.settled();
    expect([await priorityOf(plain), await priorityOf(own)]).toEqual(["P1", "P3"]);
    repo.as("alice").label(epic, "P0");
    repo.as("alice").unlabel(epic, "P1");
    await world.settled();
    expect([await priorityOf(plain), await priorityOf(own)]).toEqual(["P0", "P3"]);
    // Its own news changes nothing of that.
    repo.as("alice").label(plain, "bug");
    await world.settled();
    expect(await priorityOf(plain)).toBe("P0");
  });

  it("orders the ready set before age does", async () => {
    const other = await world.repository("acme/order");
    const open = (...labels: string[]) => {
      stories.later();
      return other.as("alice").openIssue({ title: "x", labels: ["backlog", ...labels] });
    };
    const [late, second, first, third] = [open("P3"), open(), open("P0"), open()];
    await world.settled();
    expect(await readyNumbers(api.with({ repo: "acme/order" }))).toEqual([first, second, third, late]);
  });

  it("may be set by a bot, and while a worker holds the item", async () => {
    const number = await issue("backlog");
    const { fencingToken } = await granted(api, number, "worker/a");
    repo.as("triage[bot]").label(number, "P0");
    await world.settled();
    expect(await api.item(number)).toMatchObject({ priority: "P0", isClaimed: true });
    expect(await api.renew(number, fencingToken)).toMatchObject({ granted: true });
  });
});

describe("taking the label away", () => {
  it("ends being an item, and forgets nothing", async () => {
    const number = await issue("backlog", "P1");
    const { fencingToken } = await granted(api, number, "worker/a");
    await api.release(number, fencingToken);
    repo.as("alice").unlabel(number, "backlog");
    await world.settled();
    await expectNoItem(number);

    stories.later();
    repo.as("alice").label(number, "backlog");
    await world.settled();
    await expectReady(api, number);
    expect(await api.item(number)).toMatchObject({ priority: "P1", attempts: { grants: 1 } });
    expect(await api.claim(number, "worker/b")).toMatchObject({ granted: true, attempt: 2 });
  });

  it("leaves a live claim alone: its holder writes and releases", async () => {
    const number = await issue("backlog");
    const { fencingToken } = await granted(api, number, "worker/a");
    repo.as("alice").unlabel(number, "backlog");
    await world.settled();
    expect(await api.renew(number, fencingToken)).toMatchObject({ granted: true });
    expect(await api.release(number, fencingToken)).toEqual({ released: true });
  });

  it("frees nobody who waits for it", async () => {
    const [first, second] = [await issue("backlog"), await issue("backlog")];
    await api.block(second, first);
    repo.as("alice").unlabel(first, "backlog");
    await world.settled();
    await expectNotReady(api, second);
    await expectRefused(api, second, "blocked");
  });
});

describe("a label that is no label of ours", () => {
  it("changes nothing", async () => {
    const number = await issue("backlog");
    const before = await api.item(number);
    repo.as("rita").label(number, "question");
    await world.settled();
    const after = await api.item(number);
    expect(after.labels).toEqual(["backlog", "question"]);
    expect({ ...after, labels: [], updatedAt: "" }).toEqual({ ...before, labels: [], updatedAt: "" });
    expect(await defectsOf(api, number)).toEqual([]);
  });
});

/** Anchors (protocol 11): what a file was when something was anchored to it, and who notices that it changed. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { World } from "../harness/world.ts";
import { defectsOf, down, expectReady, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
});
afterAll(() => world.end());

const FILES = {
  "src/parser/lexer.ts": "lexer 1",
  "src/parser/tree.ts": "tree 1",
  "src/main.ts": "main 1",
  "docs/guide.md": "guide 1",
};
const LEXER = "src/parser/lexer.ts";

interface Place {
  readonly repo: FakeRepository;
  readonly api: ApiClient;
}
let made = 0;

/** A repository of its own for a story, with files that nobody was told of. */
async function place(files: Record<string, string> = FILES): Promise<Place> {
  const repo = world.github.repository(`anchors/r${++made}`, {
    collaborators: { alice: "admin", will: "write" },
  });
  repo.silently(() => repo.as("alice").push("main", { files }));
  await world.install(repo);
  return { repo, api: world.api.with({ repo: repo.fullName }) };
}

const keys = (paths: string[]) => ({ anchoredTo: paths.map((path) => `file/${path}`) });

async function anchor({ api }: Place, number: number, ...paths: string[]): Promise<void> {
  await api.repo("PATCH", `/items/${number}`, { body: { links: { add: keys(paths) } } });
  await world.settled();
}

/** An item anchored to these paths, which are captured. */
async function anchored(at: Place, ...paths: string[]): Promise<number> {
  stories.later();
  const number = at.repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  if (paths.length > 0) await anchor(at, number, ...paths);
  return number;
}

async function push(
  { repo }: Place,
  files: Record<string, string | null>,
  branch = "main",
  more: object = {},
) {
  stories.later();
  repo.as("will").push(branch, { files, ...more });
  await world.settled();
}

/** The push happens, but nobody hears of it; answers its payload. */
function lostPush(change: () => unknown) {
  stories.later();
  world.github.hold();
  change();
  const pushes = world.github.drop().filter(({ event }) => event === "push");
  world.github.release();
  expect(pushes).toHaveLength(1);
  return JSON.parse(pushes[0]?.payload ?? "null");
}

/** What an item says of its anchors: their state, and the paths that drifted. */
async function told({ repo, api }: Place, number: number) {
  const { anchors, stale, staleLinks } = await api.item(number);
  const paths = staleLinks.map((key: string) => key.replace(`repo/${repo.fullName}/file/`, ""));
  return { anchors, stale, paths };
}
const FRESH = { anchors: "fresh", stale: false, paths: [] };
const PENDING = { anchors: "pending", stale: null, paths: [] };
const stale = (...paths: string[]) => ({ anchors: "stale", stale: true, paths });

const reads = ({ repo }: Place) =>
  world.github.requestsTo("GET", new RegExp(`^/repos/${repo.fullName}/git/`)).map(({ path }) => path);

describe("an item", () => {
  it("without anchors says so, and is not stale", async () => {
    const at = await place();
    expect(await told(at, await anchored(at))).toEqual({ anchors: "none", stale: false, paths: [] });
    expect(reads(at)).toEqual([]);
  });

  it("anchored to a file is fresh until a push changes the file, and again when it is put back", async () => {
    const at = await place();
    const number = await anchored(at, LEXER, "docs/guide.md");
    expect(await told(at, number)).toEqual(FRESH);
    await push(at, { [LEXER]: "lexer 2" });
    expect(await told(at, number)).toEqual(stale(LEXER));
    await push(at, { [LEXER]: "lexer 1" });
    expect(await told(at, number)).toEqual(FRESH);
  });

  it("that is stale shows a defect with what to do, and stays ready", async () => {
    const at = await place();
    const number = await anchored(at, LEXER, "docs/guide.md");
    await push(at, { [LEXER]: "lexer 2", "docs/guide.md": null });
    const { defects } = await at.api.item(number);
    expect(defects).toEqual([
      {
        code: "stale_anchor",
        number,
        value: `docs/guide.md, ${LEXER}`,
        detail: expect.stringMatching(
          /^docs\/guide\.md is gone from main, src\/parser\/lexer\.ts changed on main since .* add the same links again/,
        ),
        since: expect.any(String),
      },
    ]);
    const { code, value, detail } = defects[0];
    expect((await at.api.ready()).defects).toMatchObject([{ code, value, detail, number }]);
    const since = defects[0].since;
    await stories.pass(60);
    await push(at, { [LEXER]: "lexer 3" });
    expect((await at.api.item(number)).defects[0].since).toBe(since);
    await expectReady(at.api, number);
  });

  it("is anchored anew by adding the link again, or left alone by taking it away", async () => {
    const at = await place();
    const number = await anchored(at, LEXER, "docs/guide.md");
    await push(at, { [LEXER]: "lexer 2", "docs/guide.md": "guide 2" });
    await anchor(at, number, LEXER);
    expect(await told(at, number)).toEqual(stale("docs/guide.md"));
    await at.api.repo("PATCH", `/items/${number}`, { body: { links: { remove: keys(["docs/guide.md"]) } } });
    expect(await told(at, number)).toEqual(FRESH);
    expect(await defectsOf(at.api, number)).toEqual([]);
    await world.settled();
    expect((await at.api.ready()).defects).toEqual([]);
    await push(at, { [LEXER]: "lexer 1" });
    expect(await told(at, number)).toEqual(stale(LEXER));
  });

  it("covers what is below a directory, and what a glob matches, also what is added and removed", async () => {
    const at = await place();
    const directory = await anchored(at, "src/parser/");
    const glob = await anchored(at, "src/**/*.ts");
    const other = await anchored(at, "docs/");
    await push(at, { "src/parser/new.ts": "new" });
    expect(await told(at, directory)).toEqual(stale("src/parser/"));
    expect(await told(at, glob)).toEqual(stale("src/**/*.ts"));
    await push(at, { "src/parser/new.ts": null });
    expect(await told(at, directory)).toEqual(FRESH);
    expect(await told(at, glob)).toEqual(FRESH);
    await push(at, { "src/notes.md": "no TypeScript" });
    expect(await told(at, glob)).toEqual(FRESH);
    expect(await told(at, other)).toEqual(FRESH);
  });

  it("anchored to a file that is still to be written is stale when somebody else writes it", async () => {
    const at = await place();
    const number = await anchored(at, "src/new.ts");
    expect(await told(at, number)).toEqual(FRESH);
    await push(at, { "src/new.ts": "theirs" });
    expect(await told(at, number)).toEqual(stale("src/new.ts"));
  });

  it("anchored while GitHub is down is pending, and later takes the file as it was then", async () => {
    const at = await place();
    const first = await anchored(at, LEXER);
    down(world, new RegExp(`^/repos/${at.repo.fullName}/git/`));
    const number = await anchored(at, LEXER);
    expect(await told(at, number)).toEqual(PENDING);
    await push(at, { [LEXER]: "lexer 2" });
    world.github.clearFaults();
    await world.pass(60);
    await world.settled();
    expect(await told(at, number)).toEqual(stale(LEXER));
    expect(await told(at, first)).toEqual(stale(LEXER));
  });
});

describe("the branch is the item's base", () => {
  const based = async (at: Place, number: number, branch: string) => {
    const tags = { add: [`baseBranch:${branch}`], remove: ["baseBranch:main"] };
    await at.api.repo("PATCH", `/items/${number}`, { body: { tags } });
    await world.settled();
  };

  it("and pushes to others mean nothing", async () => {
    const at = await place();
    at.repo.as("will").createBranch("feat/epic/x");
    const number = await anchored(at);
    await based(at, number, "feat/epic/x");
    await anchor(at, number, LEXER);
    await push(at, { [LEXER]: "lexer 2" });
    expect(await told(at, number)).toEqual(FRESH);
    await push(at, { [LEXER]: "lexer 3" }, "feat/epic/x");
    expect(await told(at, number)).toEqual(stale(LEXER));
  });

  it("which shows nothing before it is made, and what was is gone with it", async () => {
    const at = await place();
    const number = await anchored(at);
    await based(at, number, "feat/epic/y");
    await anchor(at, number, LEXER);
    expect(await told(at, number)).toEqual(PENDING);
    at.repo.as("will").createBranch("feat/epic/y");
    await world.settled();
    expect(await told(at, number)).toEqual(FRESH);
    at.repo.as("will").deleteBranch("feat/epic/y");
    await world.settled();
    expect(await told(at, number)).toEqual(stale(LEXER));
    at.repo.as("will").createBranch("feat/epic/y");
    await world.settled();
    expect(await told(at, number)).toEqual(FRESH);
  });

  it("and when it becomes another, what was captured is compared with what is there", async () => {
    const at = await place();
    await push(at, { [LEXER]: "lexer of x" }, "feat/epic/z");
    const [moved, same] = [await anchored(at, LEXER), await anchored(at, "docs/guide.md")];
    await based(at, moved, "feat/epic/z");
    await based(at, same, "feat/epic/z");
    expect(await told(at, moved)).toEqual(stale(LEXER));
    expect(await told(at, same)).toEqual(FRESH);
  });

  it("row 68: a renamed default branch changes nothing, and the next push to it counts", async () => {
    const at = await place();
    const number = await anchored(at, LEXER);
    await at.api.repo("PUT", "/memory/notes/a", { body: { links: keys([LEXER]) } });
    await world.settled();
    stories.later();
    at.repo.as("alice").renameBranch("main", "trunk");
    await world.settled();
    expect(await told(at, number)).toEqual(FRESH);
    expect((await at.api.item(number)).baseBranch).toBe("trunk");
    await push(at, { [LEXER]: "lexer 2" }, "trunk");
    expect(await told(at, number)).toEqual(stale(LEXER));
    expect((await at.api.repo("GET", "/memory/notes/a")).stale).toBe(true);
  });
});

describe("a record of another topic", () => {
  it("is evaluated when it is recalled, by the default branch", async () => {
    const at = await place();
    const written = await at.api.repo("PUT", "/memory/decisions/lexer", { body: { links: keys([LEXER]) } });
    expect([written.stale, written.staleLinks]).toEqual([null, []]);
    await world.settled();
    const recall = () => at.api.repo("GET", "/memory/decisions/lexer");
    expect(await recall()).toMatchObject({ stale: false, staleLinks: [] });
    await push(at, { [LEXER]: "lexer 2" });
    expect(await recall()).toMatchObject({
      stale: true,
      staleLinks: [`repo/${at.repo.fullName}/file/${LEXER}`],
    });
    await at.api.repo("PUT", "/memory/decisions/lexer", { body: { links: keys([LEXER]) } });
    await world.settled();
    expect(await recall()).toMatchObject({ stale: false, staleLinks: [] });
  });

  it("may be anchored to a file of another repository", async () => {
    const [at, other] = [await place(), await place()];
    const key = `repo/${other.repo.fullName}/file/${LEXER}`;
    await at.api.repo("PUT", "/memory/notes/far", { body: { links: { anchoredTo: [key] } } });
    await world.settled();
    await push(at, { [LEXER]: "lexer 2" });
    expect((await at.api.repo("GET", "/memory/notes/far")).stale).toBe(false);
    await push(other, { [LEXER]: "lexer 2" });
    expect(await at.api.repo("GET", "/memory/notes/far")).toMatchObject({ stale: true, staleLinks: [key] });
  });

  it("that is forgotten leaves nothing to be read", async () => {
    const at = await place();
    await at.api.repo("PUT", "/memory/notes/gone", { body: { links: keys([LEXER]) } });
    await world.settled();
    await at.api.repo("DELETE", "/memory/notes/gone");
    const before = reads(at).length;
    await push(at, { [LEXER]: "lexer 2" });
    expect(reads(at)).toHaveLength(before);
  });
});

describe("pushes", () => {
  it("that touch nothing anchored are not looked into", async () => {
    const at = await place();
    const number = await anchored(at, LEXER);
    const before = reads(at);
    await push(at, { "src/main.ts": "main 2" });
    await push(at, { "docs/guide.md": "guide 2" });
    expect(reads(at)).toEqual(before);
    await push(at, { [LEXER]: "lexer 2" });
    expect(await told(at, number)).toEqual(stale(LEXER));
    expect(reads(at)).toHaveLength(before.length + 2);
  });

  it("row 9: one that never arrived is noticed by the next, whatever that touches", async () => {
    const at = await place();
    const number = await anchored(at, LEXER);
    at.repo.silently(() => at.repo.as("will").push("main", { files: { [LEXER]: "lexer 2" } }));
    expect(await told(at, number)).toEqual(FRESH);
    await push(at, { "docs/guide.md": "guide 2" });
    expect(await told(at, number)).toEqual(stale(LEXER));
  });

  it("row 9: one that never arrived is found within a day, without another", async () => {
    const at = await place();
    const number = await anchored(at, LEXER);
    at.repo.silently(() => at.repo.as("will").push("main", { files: { [LEXER]: "lexer 2" } }));
    await world.pass(80_000);
    await world.settled();
    expect(await told(at, number)).toEqual(FRESH);
    await world.pass(7_000);
    await world.settled();
    expect(await told(at, number)).toEqual(stale(LEXER));
  });

  it("row 64: of more commits than GitHub names, the one that counts may be left out", async () => {
    const at = await place();
    const number = await anchored(at, LEXER);
    const commits = Array.from({ length: 2_050 }, (_, index) => ({
      files: index === 0 ? { [LEXER]: "lexer 2" } : ["other.txt"],
    }));
    const payload = lostPush(() => at.repo.as("will").push("main", { commits }));
    expect(payload.commits).toHaveLength(2_048);
    expect(JSON.stringify(payload)).not.toContain(LEXER);
    await world.github.deliver({ event: "push", payload, guid: `late-push-${at.repo.id}` });
    await world.settled();
    expect(await told(at, number)).toEqual(stale(LEXER));
  });

  it("row 64: an anchor in the first of 21 commits is noticed", async () => {
    const at = await place();
    const number = await anchored(at, LEXER);
    const commits = Array.from({ length: 21 }, (_, index) => ({
      files: { [index === 0 ? LEXER : "other.txt"]: `${index}` },
    }));
    await push(at, {}, "main", { commits });
    expect(await told(at, number)).toEqual(stale(LEXER));
  });

  it("that are forced take away what they do not name", async () => {
    const at = await place();
    await push(at, { [LEXER]: "lexer 2" });
    const number = await anchored(at, LEXER);
    await push(at, { "docs/guide.md": "guide 2" }, "main", { forced: true });
    expect(await told(at, number)).toEqual(stale(LEXER));
  });

  it("row 67: of tags, one or four at once, and of merge queues are none of the base branch", async () => {
    const at = await place();
    const number = await anchored(at);
    const tags = { add: ["baseBranch:dev"], remove: ["baseBranch:main"] };
    at.repo.as("will").createBranch("dev");
    await at.api.repo("PATCH", `/items/${number}`, { body: { tags } });
    await anchor(at, number, LEXER);
    const before = reads(at);
    at.repo.as("will").pushTags("dev");
    at.repo.as("will").pushTags("a", "b", "c", "d");
    await push(at, { [LEXER]: "lexer 2" }, "gh-readonly-queue/dev/pr-1-x", { from: "dev" });
    expect(reads(at)).toEqual(before);
    expect(await told(at, number)).toEqual(FRESH);
  });

  it("that come twice, or late, change nothing that a reading has found", async () => {
    const at = await place();
    const number = await anchored(at, LEXER);
    const payload = lostPush(() => at.repo.as("will").push("main", { files: { [LEXER]: "lexer 2" } }));
    await push(at, { [LEXER]: "lexer 3" });
    await anchor(at, number, LEXER);
    await world.github.deliver({ event: "push", payload, guid: `late-push-${at.repo.id}` });
    await world.settled();
    expect(await told(at, number)).toEqual(FRESH);
    await push(at, { [LEXER]: "lexer 4" });
    expect(await told(at, number)).toEqual(stale(LEXER));
  });
});

describe("reading", () => {
  it("costs two requests a branch, however much is anchored on it", async () => {
    const at = await place();
    const number = await anchored(at, LEXER, "src/", "src/**/*.ts", "docs/guide.md");
    expect(reads(at)).toHaveLength(2);
    expect(await told(at, number)).toEqual(FRESH);
  });

  it("a tree that GitHub cuts off goes on directory by directory, to the same ids", async () => {
    const at = await place();
    const paths = [LEXER, "src/parser/", "src/**/*.ts", "docs/*", "none.md"];
    const number = await anchored(at, ...paths);
    at.repo.record.maxTreeEntries = 3;
    await push(at, { "docs/other.txt": "x" });
    expect(reads(at).length).toBeGreaterThan(6);
    expect(await told(at, number)).toEqual(stale("docs/*"));
    at.repo.record.maxTreeEntries = 1;
    await push(at, { "docs/other.txt": null });
    expect(await told(at, number)).toEqual(stale("docs/*"));
    await waitFor("the log to tell of it", async () =>
      world.logged.lines.some((line) => JSON.stringify(line).includes("too large")) ? null : "it does not",
    );
  });

  it("waits while GitHub says so", async () => {
    const at = await place();
    const number = await anchored(at, LEXER);
    world.github.fault({
      path: new RegExp(`^/repos/${at.repo.fullName}/git/`),
      kind: "status",
      status: 429,
      headers: { "retry-after": "120" },
      times: 1,
    });
    await push(at, { [LEXER]: "lexer 2" });
    const before = reads(at).length;
    await world.pass(100);
    await world.settled();
    expect(reads(at)).toHaveLength(before);
    await world.pass(30);
    await world.settled();
    expect(await told(at, number)).toEqual(stale(LEXER));
  });
});

describe("overlapping", () => {
  it("is told with the grant, which is given all the same", async () => {
    const at = await place();
    const [first, second, third, far] = [
      await anchored(at, "src/parser/"),
      await anchored(at, LEXER),
      await anchored(at, "src/**/*.ts"),
      await anchored(at, "docs/"),
    ];
    expect((await at.api.claim(first, "w/1")).overlaps).toEqual([]);
    // The item by itself says why claim-next passes it over.
    expect((await at.api.item(second)).reasons).toEqual([
      {
        reason: "overlapping",
        on: [first],
        detail: expect.stringContaining(`would touch the files of #${first}, in flight`),
      },
    ]);
    expect((await at.api.item(far)).reasons).toEqual([]);
    expect((await at.api.claim(second, "w/2")).overlaps).toEqual([first]);
    expect((await at.api.claim(far, "w/3")).overlaps).toEqual([]);
    expect((await at.api.claim(third, "w/4")).overlaps).toEqual([first, second]);
  });

  it("of what is not anchored is nothing, unless the configuration wants anchors: then it is everything", async () => {
    const at = await place();
    const [free, other, research, placed] = [
      await anchored(at),
      await anchored(at),
      await anchored(at),
      await anchored(at, LEXER),
    ];
    await at.api.repo("PATCH", `/items/${research}`, {
      body: { tags: { add: ["phase:research"], remove: ["phase:implementation"] } },
    });
    const claim = await at.api.claim(placed, "w/1");
    expect((await at.api.ready()).overlapping).toEqual([]);
    expect((await at.api.claim(free, "w/2")).overlaps).toEqual([]);

    await push(at, { ".github/leasehold.yml": "requireAnchors: true\n" });
    const { ready, overlapping } = await at.api.ready();
    expect(ready.map((item: { number: number }) => item.number)).toEqual([research]);
    expect(overlapping).toEqual([{ number: other, with: [free, placed] }]);
    const next = () => at.api.repo("POST", "/claim-next", { body: { owner: "w/3" } });
    expect(await next()).toMatchObject({ granted: true, number: research, overlaps: [] });
    expect(await next()).toMatchObject({ granted: false, reason: "none_ready", verdict: "overlapping" });
    expect((await at.api.claim(other, "w/4")).overlaps).toEqual([free, placed]);
    await at.api.release(placed, claim.fencingToken);
    expect((await at.api.ready()).overlapping).toEqual([{ number: placed, with: [free, other] }]);
    expect((await at.api.repo("GET", "/report")).anchors).toEqual({ anchored: 1, pending: 4, percent: 25 });
  });
});

/** What one worker leaves for the next: the resume block, and what a grant hands over of the work (protocol 2 and 4). */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { expectProblem } from "../http/support/expect-problem.ts";
import { granted, type Stories, startStories } from "./support/stories.ts";

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

async function readyItem(title = "Work"): Promise<number> {
  const number = repo.as("alice").openIssue({ title, labels: ["backlog"] });
  await world.settled();
  return number;
}

const SHA = "0123456789abcdef0123456789abcdef01234567";
const NOTE = "The parser is done; the printer is left.";

const patch = (number: number, body: object, fence?: number) =>
  api.tryRepo("PATCH", `/items/${number}`, { body, ...(fence === undefined ? {} : { fence }) });

describe("the resume block", () => {
  it("is written by the holder, and shows who wrote it", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/7f3a");
    const lastLocation = { branch: `feat/issue-${number}`, pullRequest: 12, sha: SHA };
    const answer = await patch(number, { resume: { lastLocation, resumeNote: NOTE } }, fencingToken);
    const block = {
      lastLocation,
      resumeNote: NOTE,
      writtenAt: expect.stringMatching(/Z$/),
      owner: "worker/7f3a",
      fencingToken,
    };
    expect(answer).toMatchObject({ status: 200, body: { number, resume: block } });
    expect((await api.item(number)).resume).toEqual(block);
  });

  it("keeps the part that is not named, and loses the one that is null", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "w");
    await patch(number, { resume: { lastLocation: { branch: "feat/x" }, resumeNote: NOTE } }, fencingToken);
    await patch(number, { resume: { resumeNote: "more" } }, fencingToken);
    expect((await api.item(number)).resume).toMatchObject({
      lastLocation: { branch: "feat/x", pullRequest: null, sha: null },
      resumeNote: "more",
    });
    await patch(number, { resume: { lastLocation: null } }, fencingToken);
    expect((await api.item(number)).resume).toMatchObject({ lastLocation: null, resumeNote: "more" });
  });

  it.each([
    ["never claimed", async () => undefined, "claim_required"],
    ["claimed, without the token", async (n: number) => void (await granted(api, n, "w")), "claim_required"],
    [
      "released",
      async (n: number) => {
        const { fencingToken } = await granted(api, n, "w");
        await api.release(n, fencingToken);
      },
      "claim_required",
    ],
  ])("is refused on an item that is %s", async (_, prepare, code) => {
    const number = await readyItem();
    await prepare(number);
    expectProblem(await patch(number, { resume: { resumeNote: NOTE } }), { status: 409, code });
    expect((await api.item(number)).resume).toBeNull();
  });

  it("is not written under a token made up for an item that nobody ever claimed", async () => {
    const number = await readyItem();
    expectProblem(await patch(number, { resume: { resumeNote: NOTE } }, 7), {
      status: 409,
      code: "claim_required",
    });
  });

  it("that comes too late is kept as a late result", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "slow");
    await stories.pass(31);
    await granted(api, number, "quick");
    const answer = await patch(
      number,
      { resume: { resumeNote: NOTE, lastLocation: { sha: SHA } } },
      fencingToken,
    );
    expectProblem(answer, { status: 409, code: "stale_token" });
    const kept = await api.repo("GET", `/memory/${answer.body.lateResult.split("/mem/")[1]}`);
    expect(kept.body).toContain(NOTE);
    expect(kept.body).toContain(SHA);
    expect(kept.links.related).toEqual([`repo/acme/widgets/mem/backlog/issue-${number}`]);
    expect((await api.item(number)).resume).toBeNull();
  });

  it("of a part is written under the epic's token", async () => {
    const epic = await readyItem("Epic");
    const part = await readyItem("Part");
    await api.repo("PATCH", `/items/${part}`, {
      body: { links: { add: { partOf: [`mem/backlog/issue-${epic}`] } } },
    });
    const { fencingToken } = await granted(api, epic, "orchestrator", { scope: "subtree" });
    const answer = await patch(part, { resume: { resumeNote: NOTE } }, fencingToken);
    expect(answer).toMatchObject({ status: 200, body: { resume: { owner: "orchestrator", fencingToken } } });
  });

  it.each([
    [{}, "body"],
    [{ resume: {} }, "resume"],
    [{ resume: { lastLocation: { sha: "HEAD" } } }, "resume.lastLocation.sha"],
    [{ resume: { lastLocation: { branch: "refs/heads/x" } } }, "resume.lastLocation.branch"],
    [{ resume: { lastLocation: { pullRequest: 0 } } }, "resume.lastLocation.pullRequest"],
    [{ resume: { attempts: 0 } }, "resume.attempts"],
    [{ title: "T" }, "title"],
  ])("is refused when it reads %j", async (body, field) => {
    expectProblem(await patch(await readyItem(), body), { status: 400, code: "validation_failed", field });
  });
});

describe("PATCH of an item", () => {
  it("changes tags and links, and answers the item", async () => {
    const [number, other] = [await readyItem(), await readyItem()];
    const answer = await patch(number, {
      tags: { add: ["team:red"] },
      links: { add: { related: [`mem/backlog/issue-${other}`] } },
    });
    expect(answer.status).toBe(200);
    expect(answer.body.tags).toContain("team:red");
    expect(answer.body.links.related).toEqual([`repo/acme/widgets/mem/backlog/issue-${other}`]);
    expect((await patch(number, { tags: { remove: ["team:red"] } })).body.tags).not.toContain("team:red");
  });

  it("refuses the tags that have their own way in", async () => {
    expectProblem(await patch(await readyItem(), { tags: { add: ["state:complete"] } }), {
      status: 400,
      code: "reserved",
    });
  });

  it("of an issue that is no item answers 404", async () => {
    const number = repo.as("alice").openIssue({ title: "No item" });
    await world.settled();
    expectProblem(await patch(number, { tags: { add: ["x"] } }), { status: 404, code: "not_found" });
  });
});

describe("a grant", () => {
  it("of what nobody had hands nothing over", async () => {
    expect(await api.claim(await readyItem(), "w")).toMatchObject({
      granted: true,
      resume: null,
      previous: null,
    });
  });

  it("hands over the note, the place, the pull request with its checks, and the paths that were changed", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/dies");
    const branch = `feat/issue-${number}`;
    const alice = repo.as("alice");
    alice.push(branch, { files: ["src/parser.ts", "docs/old.md"] });
    alice.push(branch, { files: ["src/printer.ts"] });
    const pull = alice.openPull({ title: "Parser", body: `Fixes #${number}`, head: branch, base: "main" });
    const sha = repo.pull(pull).headSha;
    repo.checkSuite(sha, { status: "completed", conclusion: "failure" });
    await world.settled();
    await patch(
      number,
      { resume: { lastLocation: { branch, pullRequest: pull, sha }, resumeNote: NOTE } },
      fencingToken,
    );
    await stories.pass(7200);

    expect(await api.claim(number, "worker/next")).toMatchObject({
      granted: true,
      previous: { owner: "worker/dies", fencingToken, lapsed: true },
      resume: {
        lastLocation: { branch, pullRequest: pull, sha },
        resumeNote: NOTE,
        owner: "worker/dies",
        fencingToken,
        pullRequest: { number: pull, branch, baseBranch: "main", sha, draft: false, checks: "red" },
        changedPaths: ["docs/old.md", "src/parser.ts", "src/printer.ts"],
        changedPathsTruncated: false,
      },
    });
  });

  it("does not take a stranger's pull request for the item's own", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "w");
    await api.release(number, fencingToken);
    const mallory = repo.as("mallory");
    mallory.openPull({ title: "Mine", body: `Fixes #${number}`, head: "patch-1", base: "main", fork: true });
    await world.settled();
    expect(await api.claim(number, "w2")).toMatchObject({ granted: true, resume: null });
  });
});

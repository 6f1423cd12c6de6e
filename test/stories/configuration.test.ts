/** `.github/leasehold.yml` (protocol 12): how it comes in, whose changes take effect, and what it never breaks. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { World } from "../harness/world.ts";
import { down, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
});
afterAll(() => world.end());

const PATH = ".github/leasehold.yml";
const file = (text: string | null) => ({ files: { [PATH]: text } });
let made = 0;

/** A repository of its own for a story: wanda is a machine that GitHub calls a user, and may push. */
async function repository(text: string | null = "agents: [wanda]\n"): Promise<FakeRepository> {
  const repo = world.github.repository(`conf/r${++made}`, {
    collaborators: { alice: "admin", wanda: "write", will: "write", rita: "read" },
  });
  if (text !== null) repo.silently(() => repo.as("alice").push("main", file(text)));
  await world.install(repo);
  return repo;
}

const apiOf = (repo: FakeRepository): ApiClient => world.api.with({ repo: repo.fullName });

/** What health says of the repository's file. */
async function told(repo: FakeRepository): Promise<string[]> {
  const { body } = await world.api.send("GET", "/health");
  return body.repos.find(({ repo: name }: { repo: string }) => name === repo.fullName).config;
}

async function push(
  repo: FakeRepository,
  login: string,
  text: string | null,
  more: object = {},
): Promise<void> {
  stories.later();
  repo.as(login).push("main", { ...file(text), ...more });
  await world.settled();
}

async function item(repo: FakeRepository, labels: string[] = ["backlog"], by = "alice"): Promise<number> {
  stories.later();
  const number = repo.as(by).openIssue({ title: "Work", labels });
  await world.settled();
  return number;
}

/** The threshold that an item is judged by: a setting that is easily seen, and whose raising loosens a guard. */
async function thresholdOf(repo: FakeRepository): Promise<number> {
  const { attempts } = await apiOf(repo).item(await item(repo));
  return attempts.threshold;
}

/** The push happens, but nobody hears of it; answers its payload. */
function lostPush(change: () => unknown) {
  world.github.hold();
  change();
  const pushes = world.github.drop().filter(({ event }) => event === "push");
  world.github.release();
  expect(pushes).toHaveLength(1);
  return JSON.parse(pushes[0]?.payload ?? "null");
}

const readsOf = (repo: FakeRepository) =>
  world.github.requestsTo("GET", new RegExp(`^/repos/${repo.fullName}/contents/`)).length;

describe("the first file", () => {
  it("is taken as it is found: whoever installed the App accepted it", async () => {
    const repo = await repository("enroll: all\npoisonThreshold: 7\ndefaults: {priority: P1}\n");
    const number = await item(repo, []);
    expect(await apiOf(repo).item(number)).toMatchObject({ priority: "P1", attempts: { threshold: 7 } });
    expect(await told(repo)).toEqual([]);
  });

  it("that is none leaves the defaults", async () => {
    const repo = await repository(null);
    expect(await thresholdOf(repo)).toBe(3);
    expect(await told(repo)).toEqual([]);
    expect(repo.labels()).toEqual(expect.arrayContaining(["backlog", "needs-specification", "stale"]));
  });

  it("names the labels before any is made, and before an issue is judged by them", async () => {
    const repo = world.github.repository("conf/labels-first", { collaborators: { alice: "admin" } });
    const text = "labels: {backlog: queue, needs-specification: draft}\n";
    repo.silently(() => repo.as("alice").push("main", file(text)));
    const [ready, gated] = repo.silently(() => [
      repo.as("alice").openIssue({ title: "Ready", labels: ["queue"] }),
      repo.as("alice").openIssue({ title: "Draft", labels: ["queue", "draft"] }),
    ]);
    await world.install(repo);
    expect(repo.labels().sort()).toEqual(["draft", "queue", "stale"]);
    expect(await apiOf(repo).item(ready as number)).toMatchObject({ admitted: true });
    expect(await apiOf(repo).item(gated as number)).toMatchObject({ admitted: false });
  });

  it("that is not valid leaves the defaults, and what mends it is a change like any other", async () => {
    const repo = await repository("poisonThreshold: [\n");
    expect(await told(repo)).toEqual([expect.stringMatching(/not valid.*line 2, column 1/)]);
    await push(repo, "ci[bot]", "poisonThreshold: 9\n");
    expect(await thresholdOf(repo)).toBe(3);
    expect(await told(repo)).toEqual([expect.stringMatching(/stays 3.*until a human/)]);
  });

  it("is the backfill's to take, though a push comes before", async () => {
    const repo = world.github.repository("conf/early", { collaborators: { alice: "admin", wanda: "write" } });
    repo.silently(() => repo.as("alice").push("main", file("agents: [wanda]\n")));
    down(world, `/repos/${repo.fullName}/contents/.github/leasehold.yml`);
    await world.install(repo);
    await push(repo, "wanda", "agents: [wanda]\nquarantineSeconds: 1000\n");
    world.github.clearFaults();
    await stories.pass(60);
    world.app.deps.wake.backfill(repo.id);
    // A backfill that failed is not waited for by `settled`.
    await waitFor("the backfill to go on", async () => {
      const row = world.db.selectFrom("repository").select("backfill_state").where("id", "=", repo.id);
      return (await row.executeTakeFirst())?.backfill_state === "done" ? null : "not done";
    });
    await world.settled();
    expect(await told(repo)).toEqual([]);
    await push(repo, "wanda", "quarantineSeconds: 1000\n");
    expect(await told(repo)).toEqual([expect.stringContaining("still lists wanda")]);
  });
});

describe("a push", () => {
  it("brings its settings in, for what is there and what comes", async () => {
    const repo = await repository();
    const before = await item(repo);
    await push(
      repo,
      "alice",
      "agents: [wanda]\npoisonThreshold: 5\ndefaults: {phase: research, type: fix}\n",
    );
    const after = await item(repo);
    expect(await apiOf(repo).item(before)).toMatchObject({
      phase: "implementation",
      attempts: { threshold: 5 },
    });
    expect(await apiOf(repo).item(after)).toMatchObject({ phase: "research", attempts: { threshold: 5 } });
    expect(await apiOf(repo).claim(after, "worker/a")).toMatchObject({ workingBranch: `fix/issue-${after}` });
    expect(await told(repo)).toEqual([]);
  });

  it("that leaves the file alone costs no request", async () => {
    const repo = await repository();
    const before = readsOf(repo);
    repo.as("alice").push("main", { files: ["src/a.ts"] });
    repo.as("alice").push("feature", file("poisonThreshold: 9\n"));
    await world.settled();
    expect(readsOf(repo)).toBe(before);
    expect(await thresholdOf(repo)).toBe(3);
  });

  it("of an invalid file changes nothing, and is reported until it is mended", async () => {
    const repo = await repository("poisonThreshold: 5\n");
    await push(repo, "alice", "poisonThreshold: 2\nagnets: [wanda]\n");
    expect(await thresholdOf(repo)).toBe(5);
    expect(await told(repo)).toEqual([
      ".github/leasehold.yml is not valid and changes nothing: line 2, column 1: agnets: unknown key; did you mean agents?",
    ]);
    await push(repo, "alice", "poisonThreshold: 2\nagents: [wanda]\n");
    expect(await thresholdOf(repo)).toBe(2);
    expect(await told(repo)).toEqual([]);
  });

  it.each([
    ["a folder", { [PATH]: null, [`${PATH}/a`]: "x" }, "it is a folder"],
    ["too large", { [PATH]: `# ${"x".repeat(40_000)}` }, "it is larger than 32768 bytes"],
  ])("of what is %s changes nothing either", async (_, files, reason) => {
    const repo = await repository("poisonThreshold: 5\n");
    repo.as("alice").push("main", { files });
    await world.settled();
    expect(await thresholdOf(repo)).toBe(5);
    expect(await told(repo)).toEqual([expect.stringContaining(reason)]);
  });

  it("[64] of more commits than it lists is looked into", async () => {
    const repo = await repository();
    const commits = [
      file("poisonThreshold: 2\n"),
      ...Array.from({ length: 2_048 }, () => ({ files: ["a.ts"] })),
    ];
    repo.as("alice").push("main", { commits });
    await world.settled();
    expect(await thresholdOf(repo)).toBe(2);
  });

  it("heard of late does not bring an old file back", async () => {
    const repo = await repository();
    const late = lostPush(() => repo.as("alice").push("main", file("poisonThreshold: 9\n")));
    await push(repo, "alice", "poisonThreshold: 4\n");
    await world.github.deliver({ event: "push", payload: late, guid: "late-push" });
    await world.settled();
    expect(await thresholdOf(repo)).toBe(4);
  });

  it("while GitHub does not answer is looked into later", async () => {
    const repo = await repository();
    down(world, `/repos/${repo.fullName}/contents/.github/leasehold.yml`);
    await push(repo, "alice", "poisonThreshold: 5\n");
    expect(await thresholdOf(repo)).toBe(3);
    world.github.clearFaults();
    await stories.pass(700);
    await world.settled();
    expect(await thresholdOf(repo)).toBe(5);
  });
});

describe("a change that loosens a guard", () => {
  const LOOSER = "agents: [wanda]\npoisonThreshold: 9\nquarantineSeconds: 1000\n";

  it.each(["wanda", "ci[bot]", "rita"])(
    "pushed by %s is held back and told; the rest of the file holds",
    async (login) => {
      const repo = await repository();
      await push(repo, login, LOOSER);
      expect(await thresholdOf(repo)).toBe(3);
      expect(await told(repo)).toEqual([
        ".github/leasehold.yml: `poisonThreshold` stays 3, and does not become 9, until a human with triage rights pushes or merges a change of the file",
      ]);
      const { rows } = await world.app.deps.database.pool.query(
        "select settings ->> 'quarantineSeconds' as seconds from repository where id = $1",
        [repo.id],
      );
      expect(rows).toEqual([{ seconds: "1000" }]);
    },
  );

  it("stays held back whatever a human pushes beside it, and takes effect when one changes the file", async () => {
    const repo = await repository();
    await push(repo, "wanda", LOOSER);
    repo.as("alice").push("main", { files: ["src/a.ts"] });
    await world.settled();
    expect(await told(repo)).toHaveLength(1);
    await push(repo, "alice", `# Agreed.\n${LOOSER}`);
    expect(await thresholdOf(repo)).toBe(9);
    expect(await told(repo)).toEqual([]);
  });

  it("is accepted by the human who merges it", async () => {
    const repo = await repository();
    repo.as("wanda").push("looser", file(LOOSER));
    repo.as("will").merge(repo.as("wanda").openPull({ head: "looser" }));
    await world.settled();
    expect(await thresholdOf(repo)).toBe(9);
  });

  it("is not accepted by the agent who merges it", async () => {
    const repo = await repository();
    repo.as("alice").push("looser", file(LOOSER));
    repo.as("wanda").merge(repo.as("alice").openPull({ head: "looser" }));
    await world.settled();
    expect(await thresholdOf(repo)).toBe(3);
  });

  it("takes no agent off the list by which it is judged", async () => {
    const repo = await repository();
    await push(repo, "wanda", "agents: []\npoisonThreshold: 9\n");
    expect(await told(repo)).toEqual([
      expect.stringContaining("`agents` still lists wanda"),
      expect.stringContaining("`poisonThreshold` stays 3"),
    ]);
    await push(repo, "wanda", "agents: []\npoisonThreshold: 8\n");
    expect(await thresholdOf(repo)).toBe(3);
    await push(repo, "alice", "agents: []\npoisonThreshold: 7\n");
    await push(repo, "wanda", "agents: []\npoisonThreshold: 8\n");
    expect(await thresholdOf(repo)).toBe(8);
  });

  it("by a human that was pushed over before it was heard of is not the agent's gain", async () => {
    const repo = await repository();
    world.github.hold();
    repo.as("alice").push("main", file("agents: [wanda]\npoisonThreshold: 4\n"));
    stories.later();
    repo.as("wanda").push("main", file("agents: [wanda]\npoisonThreshold: 9\n"));
    world.github.release();
    await world.settled();
    expect(await thresholdOf(repo)).toBe(3);
    expect(await told(repo)).toEqual([expect.stringContaining("does not become 9")]);
  });

  it("by a deploy key of a human is nobody's", async () => {
    const repo = await repository();
    const payload = lostPush(() => repo.as("alice").push("main", file(LOOSER)));
    payload.pusher.name = "release-key";
    await world.github.deliver({ event: "push", payload, guid: `deploy-key-${repo.id}` });
    await world.settled();
    expect(await thresholdOf(repo)).toBe(3);
  });

  it("is not accepted by a forced push that did not change the file, but by one that did", async () => {
    const repo = await repository();
    await push(repo, "wanda", LOOSER);
    repo.as("alice").push("main", { files: ["src/a.ts"] });
    stories.later();
    repo.as("alice").push("main", { files: ["src/b.ts"], forced: true });
    await world.settled();
    expect(await thresholdOf(repo)).toBe(3);
    await push(repo, "alice", `# Agreed.\n${LOOSER}`, { forced: true });
    expect(await thresholdOf(repo)).toBe(9);
  });

  it("that is found when the repository is read again is nobody's", async () => {
    const keeper = await repository();
    const repo = await repository();
    repo.silently(() => repo.as("alice").push("main", file(LOOSER)));
    world.github.removeFromInstallation(repo);
    await world.settled();
    await world.install(repo);
    expect(await thresholdOf(repo)).toBe(3);
    expect(await told(repo)).toHaveLength(1);
    expect(await told(keeper)).toEqual([]);
  });
});

describe("the file deleted", () => {
  it("by a human leaves the defaults", async () => {
    const repo = await repository("agents: [wanda]\npoisonThreshold: 2\n");
    await push(repo, "alice", null);
    expect(await thresholdOf(repo)).toBe(3);
    expect(await told(repo)).toEqual([]);
  });

  it("by an agent leaves every guard as it was", async () => {
    const repo = await repository("agents: [wanda]\npoisonThreshold: 2\ndefaults: {priority: P0}\n");
    await push(repo, "wanda", null);
    expect(await apiOf(repo).item(await item(repo))).toMatchObject({
      priority: "P2",
      attempts: { threshold: 2 },
    });
    expect(await told(repo)).toHaveLength(2);
  });
});

describe("another default branch", () => {
  it("brings its own file; what that loosens is held back", async () => {
    const repo = await repository();
    repo.as("alice").push("trunk", file("poisonThreshold: 9\nquarantineSeconds: 1000\n"));
    // Two that look at once: one of them looks again, a moment later than everything is worked off.
    await world.settled();
    world.github.changeDefaultBranch(repo, "trunk");
    await world.settled();
    expect(await told(repo)).toEqual([
      expect.stringContaining("still lists wanda"),
      expect.stringContaining("`poisonThreshold` stays 3"),
    ]);
    repo.as("alice").push("main", file("poisonThreshold: 8\n"));
    await world.settled();
    expect(await thresholdOf(repo)).toBe(3);
    repo.as("alice").push("trunk", file("poisonThreshold: 7\n"));
    await world.settled();
    expect(await thresholdOf(repo)).toBe(7);
  });

  it("by another name changes nothing", async () => {
    const repo = await repository("agents: [wanda]\npoisonThreshold: 9\n");
    stories.later();
    repo.as("alice").renameBranch("main", "trunk");
    await world.settled();
    expect(await thresholdOf(repo)).toBe(9);
    expect(await told(repo)).toEqual([]);
    repo.as("alice").push("trunk", file("agents: [wanda]\npoisonThreshold: 4\n"));
    await world.settled();
    expect(await thresholdOf(repo)).toBe(4);
  });
});

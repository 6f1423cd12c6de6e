import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeGitHub } from "./fake-github.ts";
import type { FakeRepository } from "./fake-repository.ts";
import { appOctokit, statusOf } from "./octokit-for-tests.ts";
import type { Person } from "./person.ts";
import { closingReferences } from "./state/closing-keywords.ts";

const widgets = { owner: "acme", repo: "widgets" };

let github: FakeGitHub;
let repo: FakeRepository;
let alice: Person;
let octokit: ReturnType<typeof appOctokit>;

beforeEach(async () => {
  github = await FakeGitHub.start();
  repo = github.repository("acme/widgets", { collaborators: { alice: "admin" } });
  alice = repo.as("alice");
  octokit = appOctokit(
    github,
    github.silently(() => github.install(repo)),
  );
});

afterEach(async () => {
  await github.stop();
});

/** The names of the webhooks that the change causes, without GitHub's own check suites. */
function webhooksOf(change: () => void): string[] {
  const before = github.deliveries.length;
  change();
  return github.deliveries
    .slice(before)
    .map(({ event, action }) => (action === null ? event : `${event}.${action}`))
    .filter((name) => name !== "check_suite.requested");
}

describe("merging", () => {
  test("into the default branch: closed, pushed, and GitHub closes what the body names", () => {
    const issue = alice.openIssue({ title: "It rattles" });
    const pull = alice.openPull({ head: "feat/x", body: `Fixes #${issue}` });
    expect(webhooksOf(() => alice.merge(pull))).toEqual(["pull_request.closed", "push", "issues.closed"]);
    expect(repo.issue(issue)).toMatchObject({ state: "closed", stateReason: "completed" });
    expect(repo.events(issue).at(-1)).toMatchObject({ event: "closed", actor: "alice" });
    expect(repo.pull(pull)).toMatchObject({ merged: true, mergeCommitSha: repo.tip("main") });
  });

  test("into another branch: GitHub closes nothing", () => {
    const issue = alice.openIssue({ title: "It rattles" });
    alice.createBranch("dev");
    const pull = alice.openPull({ head: "feat/x", base: "dev", body: `Fixes #${issue}` });
    expect(webhooksOf(() => alice.merge(pull))).toEqual(["pull_request.closed", "push"]);
    expect(repo.issue(issue).state).toBe("open");
  });

  test("closing keywords of a commit count when it reaches the default branch", () => {
    const issue = alice.openIssue({ title: "It rattles" });
    alice.push("dev", { message: `Close #${issue}` });
    expect(repo.issue(issue).state).toBe("open");
    alice.push("main", { message: `Close #${issue}` });
    expect(repo.issue(issue).state).toBe("closed");
  });

  test.each(["merge", "squash", "rebase"] as const)("by %s", async (method) => {
    alice.push("feat/x", { files: { "a.txt": "1\n" } });
    alice.push("feat/x", { files: { "b.txt": "2\n" } });
    const pull_number = alice.openPull({ head: "feat/x" });
    alice.push("main", { files: { "c.txt": "3\n" } });
    alice.merge(pull_number, { method });
    const { data } = await octokit.rest.repos.getContent({ ...widgets, path: "" });
    expect(data).toMatchObject(["README.md", "c.txt", "a.txt", "b.txt"].map((name) => ({ name })));
    const commits = await octokit.rest.pulls.listCommits({ ...widgets, pull_number });
    expect(commits.data).toHaveLength(2);
  });

  test("the App may merge, if the head is what it thought", async () => {
    const pull_number = alice.openPull({ head: "feat/x" });
    const sha = repo.pull(pull_number).headSha;
    alice.push("feat/x");
    expect(await statusOf(octokit.rest.pulls.merge({ ...widgets, pull_number, sha }))).toBe(409);
    repo.setMergeability(pull_number, { mergeable: false, state: "dirty" });
    expect(await statusOf(octokit.rest.pulls.merge({ ...widgets, pull_number }))).toBe(405);
    repo.setMergeability(pull_number, null);
    const { data } = await octokit.rest.pulls.merge({ ...widgets, pull_number });
    expect(data.sha).toBe(repo.tip("main"));
    expect(await statusOf(octokit.rest.pulls.merge({ ...widgets, pull_number }))).toBe(405);
  });
});

describe("the life of a pull request", () => {
  test("opening makes the branch, pushing synchronizes, retargeting is an edit", () => {
    let pull = 0;
    expect(webhooksOf(() => (pull = alice.openPull({ head: "feat/x" })))).toEqual([
      "create",
      "push",
      "pull_request.opened",
    ]);
    expect(webhooksOf(() => alice.push("feat/x"))).toEqual(["push", "pull_request.synchronize"]);
    alice.createBranch("dev");
    expect(webhooksOf(() => alice.editPull(pull, { base: "dev" }))).toEqual(["pull_request.edited"]);
    const { payload = "{}" } = github.deliveries.at(-1) ?? {};
    expect(JSON.parse(payload)).toMatchObject({ changes: { base: { ref: { from: "main" } } } });
  });

  test("from a fork: the branch is the fork's, whose pushes are not heard here", async () => {
    const mallory = repo.as("mallory");
    const pull_number = mallory.openPull({ head: "patch", fork: true });
    const fork = github.existingRepository("mallory/widgets");
    expect(webhooksOf(() => fork.as("mallory").push("patch"))).toEqual(["pull_request.synchronize"]);
    const { data } = await octokit.rest.pulls.get({ ...widgets, pull_number });
    expect(data).toMatchObject({
      head: { label: "mallory:patch", repo: { fork: true, full_name: "mallory/widgets" } },
      author_association: "NONE",
      commits: 2,
    });
    expect(repo.branches()).toEqual(["main"]);
  });

  test("deleting the merged base retargets what was stacked on it", () => {
    const epic = alice.openPull({ head: "feat/epic/x" });
    const stacked = alice.openPull({ head: "feat/y", base: "feat/epic/x" });
    alice.merge(epic);
    alice.deleteBranch("feat/epic/x");
    expect(repo.pull(stacked)).toMatchObject({ base: "main", state: "open" });
  });

  test("a renamed default branch takes its pull requests along and redirects", async () => {
    const pull = alice.openPull({ head: "feat/x" });
    expect(webhooksOf(() => alice.renameBranch("main", "trunk"))).toEqual([
      "pull_request.edited",
      "repository.edited",
    ]);
    expect(repo.pull(pull).base).toBe("trunk");
    const { data } = await octokit.rest.repos.getBranch({ ...widgets, branch: "main" });
    expect(data.name).toBe("trunk");
  });

  test("its labels and comments are those of an issue, its webhooks say that it is none", async () => {
    const pull = alice.openPull({ head: "feat/x" });
    expect(webhooksOf(() => alice.label(pull, "bug"))).toEqual(["label.created", "pull_request.labeled"]);
    alice.comment(pull, "Hello");
    const { payload = "{}" } = github.deliveries.at(-1) ?? {};
    expect(JSON.parse(payload)).toMatchObject({ issue: { number: pull, pull_request: { merged_at: null } } });
  });

  test("reopening shows what was pushed meanwhile; a merged one stays closed", () => {
    const pull = alice.openPull({ head: "feat/x" });
    alice.closePull(pull);
    const sha = alice.push("feat/x");
    expect(repo.pull(pull).headSha).not.toBe(sha);
    alice.reopenPull(pull);
    expect(repo.pull(pull).headSha).toBe(sha);
    alice.merge(pull);
    expect(() => alice.reopenPull(pull)).toThrow("Validation Failed");
  });

  test("more than three tags at once go unheard", () => {
    expect(webhooksOf(() => alice.pushTags("v1", "v2", "v3", "v4"))).toEqual([]);
    expect(webhooksOf(() => alice.pushTags("v5"))).toEqual(["create", "push"]);
  });

  test("reviews are submitted and dismissed", async () => {
    const pull_number = alice.openPull({ head: "feat/x" });
    repo.as("bob").review(pull_number, "changes_requested");
    repo.as("bob").review(pull_number, "dismissed");
    const { data } = await octokit.rest.pulls.listReviews({ ...widgets, pull_number });
    expect(data.map(({ state }) => state)).toEqual(["DISMISSED"]);
  });

  test("lists find a pull request by its head and base", async () => {
    const pull = alice.openPull({ head: "feat/x" });
    alice.openPull({ head: "feat/y" });
    const { data } = await octokit.rest.pulls.list({ ...widgets, head: "acme:feat/x", base: "main" });
    expect(data.map(({ number }) => number)).toEqual([pull]);
  });
});

describe("checks", () => {
  test("a push opens the App's own empty suite; others' verdicts stand beside it", async () => {
    const pull_number = alice.openPull({ head: "feat/x" });
    const ref = repo.pull(pull_number).headSha;
    const suites = async () => {
      const { data } = await octokit.rest.checks.listSuitesForRef({ ...widgets, ref });
      return data.check_suites.map(({ app, status, conclusion }) => [app?.slug, status, conclusion]);
    };
    expect(await suites()).toEqual([["leasehold", "queued", null]]);
    repo.checkSuite(pull_number, { status: "completed", conclusion: "failure" });
    expect(await suites()).toContainEqual(["ci", "completed", "failure"]);
    const { data } = await octokit.rest.pulls.get({ ...widgets, pull_number });
    expect(data.mergeable_state).toBe("unstable");
  });

  test("the App keeps a check run on a commit", async () => {
    const head_sha = alice.push("feat/x");
    const { data: run } = await octokit.rest.checks.create({
      ...widgets,
      head_sha,
      name: "leasehold/claim",
      conclusion: "failure",
      output: { title: "Superseded", summary: "Stop." },
    });
    await octokit.rest.checks.update({ ...widgets, check_run_id: run.id, conclusion: "success" });
    const { data } = await octokit.rest.checks.listForRef({ ...widgets, ref: "feat/x" });
    expect(data.check_runs).toMatchObject([{ conclusion: "success", output: { title: "Superseded" } }]);
  });

  test("commit statuses are combined", async () => {
    const ref = alice.push("feat/x");
    expect((await octokit.rest.repos.getCombinedStatusForRef({ ...widgets, ref })).data.state).toBe(
      "pending",
    );
    repo.status(ref, "failure");
    repo.status(ref, "success");
    expect((await octokit.rest.repos.getCombinedStatusForRef({ ...widgets, ref })).data.state).toBe(
      "success",
    );
  });
});

test("a comparison names the files, three hundred at most", async () => {
  const files = Array.from({ length: 310 }, (_, index) => `f/${String(index).padStart(3, "0")}.txt`);
  const before = repo.tip("main");
  alice.push("main", { files });
  const basehead = `${before}...main`;
  const { data } = await octokit.rest.repos.compareCommitsWithBasehead({ ...widgets, basehead });
  expect(data).toMatchObject({ status: "ahead", ahead_by: 1 });
  expect(data.files).toHaveLength(300);
});

test.each([
  ["FIXES: #7", [7]],
  ["closes o/r#7", [7]],
  ["Resolves https://github.com/o/r/issues/7#issuecomment-1", [7]],
  ["does not fix #7", [7]],
  ["fixes GH-7", [7]],
  ["Fixes #6, #7", [6]],
  ["fixes #6, fixes #7", [6, 7]],
  ["closing #7, close#7, prefixes #7", []],
  ["`Fixes #7`", []],
  ["```\nFixes #7\n```", []],
  ["<!-- Fixes #7 -->", []],
])("GitHub closes by %j", (text, numbers) => {
  expect(closingReferences(text).map(({ number }) => number)).toEqual(numbers);
});

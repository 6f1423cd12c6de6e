import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeGitHub } from "./fake-github.ts";
import type { FakeRepository } from "./fake-repository.ts";
import { appOctokit, statusOf } from "./octokit-for-tests.ts";

const widgets = { owner: "acme", repo: "widgets" };

let clock: Date;
let github: FakeGitHub;
let repo: FakeRepository;
let octokit: ReturnType<typeof appOctokit>;

beforeEach(async () => {
  clock = new Date();
  github = await FakeGitHub.start({ now: () => clock });
  repo = github.repository("acme/widgets", {
    collaborators: { alice: "admin", bob: "triage", mary: "maintain" },
    labels: ["backlog"],
  });
  octokit = appOctokit(github, github.install(repo));
});

afterEach(async () => {
  await github.stop();
});

function passTime(milliseconds: number): void {
  clock = new Date(clock.getTime() + milliseconds);
}

describe("issues", () => {
  test("lists are paged, and name pull requests as such", async () => {
    const alice = repo.as("alice");
    for (let count = 0; count < 250; count += 1) alice.openIssue({ title: `Issue ${count}` });
    alice.openPull({ head: "feat/x" });
    const rows = await octokit.paginate(octokit.rest.issues.listForRepo, {
      ...widgets,
      per_page: 100,
      direction: "asc",
    });
    expect(rows).toHaveLength(251);
    expect(rows.filter((row) => row.pull_request).map(({ number }) => number)).toEqual([251]);
    expect(github.requestsTo("GET", /issues$/)).toHaveLength(3);
  });

  test("every comment of a long thread is read", async () => {
    const number = repo.as("alice").openIssue({ title: "Long" });
    for (let count = 1; count <= 250; count += 1) repo.as("bob").comment(number, `Comment ${count}`);
    const rows = await octokit.paginate(octokit.rest.issues.listComments, {
      ...widgets,
      issue_number: number,
    });
    expect(
      rows.map(({ body }) => body).filter((body) => /Comment (1|101|201)$/.test(body ?? "")),
    ).toHaveLength(3);
    expect(rows).toHaveLength(250);
  });

  test("labels match without regard to case", async () => {
    const issue_number = repo.as("alice").openIssue({ title: "It rattles", labels: ["Backlog"] });
    await octokit.rest.issues.addLabels({ ...widgets, issue_number, labels: ["BACKLOG", "new one"] });
    expect(repo.issue(issue_number).labels).toEqual(["backlog", "new one"]);
    await octokit.rest.issues.removeLabel({ ...widgets, issue_number, name: "New One" });
    const again = octokit.rest.issues.removeLabel({ ...widgets, issue_number, name: "new one" });
    expect(await statusOf(again)).toBe(404);
    expect(await statusOf(octokit.rest.issues.createLabel({ ...widgets, name: "Backlog" }))).toBe(422);
  });

  test("events tell who acted, and through which App", async () => {
    const issue_number = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
    repo.as("alice", { viaApp: "some-agent" }).unlabel(issue_number, "backlog");
    await octokit.rest.issues.addLabels({ ...widgets, issue_number, labels: ["backlog"] });
    const { data } = await octokit.rest.issues.listEvents({ ...widgets, issue_number });
    const told = data.map((row) => [row.event, row.actor?.login, row.performed_via_github_app?.slug ?? null]);
    expect(told).toEqual([
      ["labeled", "alice", null],
      ["unlabeled", "alice", "some-agent"],
      ["labeled", "leasehold[bot]", "leasehold"],
    ]);
    const { data: timeline } = await octokit.rest.issues.listEventsForTimeline({ ...widgets, issue_number });
    expect(timeline).toHaveLength(3);
  });

  test("times have whole seconds, and every change moves updated_at", async () => {
    const issue_number = repo.as("alice").openIssue({ title: "It rattles" });
    const before = (await octokit.rest.issues.get({ ...widgets, issue_number })).data;
    expect(before.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    passTime(5000);
    await octokit.rest.issues.createComment({ ...widgets, issue_number, body: "Hello" });
    const after = (await octokit.rest.issues.get({ ...widgets, issue_number })).data;
    expect(Date.parse(after.updated_at) - Date.parse(before.updated_at)).toBe(5000);
    const { data: changed } = await octokit.rest.issues.listForRepo({ ...widgets, since: after.updated_at });
    expect(changed).toHaveLength(1);
  });

  test("a body longer than 65,536 characters is refused", async () => {
    const issue_number = repo.as("alice").openIssue({ title: "Long", body: "x".repeat(65_536) });
    const tooLong = { ...widgets, issue_number, body: "x".repeat(65_537) };
    expect(await statusOf(octokit.rest.issues.createComment(tooLong))).toBe(422);
    expect(() => github.assertQuiet()).toThrow("422");
  });

  test("closing says why, and who", async () => {
    const issue_number = repo.as("alice").openIssue({ title: "It rattles" });
    await octokit.rest.issues.update({
      ...widgets,
      issue_number,
      state: "closed",
      state_reason: "not_planned",
    });
    const { data } = await octokit.rest.issues.get({ ...widgets, issue_number });
    expect(data).toMatchObject({ state_reason: "not_planned", closed_by: { login: "leasehold[bot]" } });
    repo.as("bob").reopen(issue_number);
    expect(repo.issue(issue_number)).toMatchObject({ state: "open", stateReason: "reopened" });
  });

  test("a deleted issue is gone, a transferred one redirects", async () => {
    const other = github.repository("acme/gadgets");
    github.install(other);
    const alice = repo.as("alice");
    const deleted = alice.openIssue({ title: "Oops" });
    const moved = alice.openIssue({ title: "Belongs there" });
    alice.deleteIssue(deleted);
    expect(alice.transfer(moved, other)).toBe(1);
    expect(await statusOf(octokit.rest.issues.get({ ...widgets, issue_number: deleted }))).toBe(410);
    const { data } = await octokit.rest.issues.get({ ...widgets, issue_number: moved });
    expect(data).toMatchObject({ number: 1, repository_url: `${github.url}/repos/acme/gadgets` });
    expect(alice.openIssue({ title: "Next" })).toBe(3);
  });

  test("an archived repository refuses writes", async () => {
    const issue_number = repo.as("alice").openIssue({ title: "Old" });
    github.archive(repo);
    const write = octokit.rest.issues.createComment({ ...widgets, issue_number, body: "Hello" });
    await expect(write).rejects.toMatchObject({ status: 403, message: expect.stringContaining("archived") });
  });
});

test("sub-issues and dependencies name the other issue by its id", async () => {
  const alice = repo.as("alice");
  const [epic, first, second] = ["Epic", "First", "Second"].map((title) => alice.openIssue({ title }));
  if (!epic || !first || !second) throw new Error("numbers start at 1");
  const of = (issue_number: number) => ({ ...widgets, issue_number });
  await octokit.rest.issues.addSubIssue({ ...of(epic), sub_issue_id: repo.issue(first).id });
  await octokit.rest.issues.addBlockedByDependency({ ...of(second), issue_id: repo.issue(first).id });
  expect((await octokit.rest.issues.getParent(of(first))).data.number).toBe(epic);
  expect((await octokit.rest.issues.listDependenciesBlocking(of(first))).data).toMatchObject([
    { number: second, issue_dependencies_summary: { blocked_by: 1 } },
  ]);
  const again = octokit.rest.issues.addSubIssue({ ...of(second), sub_issue_id: repo.issue(first).id });
  expect(await statusOf(again)).toBe(422);
  alice.close(first);
  const { data } = await octokit.rest.issues.get(of(epic));
  expect(data.sub_issues_summary).toEqual({ total: 1, completed: 1, percent_completed: 100 });
});

describe("repositories", () => {
  test("a renamed one redirects, and keeps its id", async () => {
    github.renameRepository(repo, "gizmos");
    const { data } = await octokit.rest.repos.get(widgets);
    expect(data).toMatchObject({ id: repo.id, full_name: "acme/gizmos" });
  });

  test("triage and maintain show only as role names", async () => {
    const roleOf = async (username: string) => {
      const { data } = await octokit.rest.repos.getCollaboratorPermissionLevel({ ...widgets, username });
      return [data.permission, data.role_name, data.user?.permissions?.triage];
    };
    github.user("passer-by");
    expect(await roleOf("bob")).toEqual(["read", "triage", true]);
    expect(await roleOf("mary")).toEqual(["write", "maintain", true]);
    expect(await roleOf("passer-by")).toEqual(["read", "read", false]);
    await expect(roleOf("nobody")).rejects.toMatchObject({ status: 404 });
    github.bot("ci");
    await expect(roleOf("ci[bot]")).rejects.toMatchObject({ status: 404 });
  });

  test("files are read with their git blob id", async () => {
    repo.setFile("main", "docs/a.txt", "hello\n");
    const file = await octokit.rest.repos.getContent({ ...widgets, path: "docs/a.txt" });
    expect(file.data).toMatchObject({ sha: "ce013625030ba8dba906f756967f9e9ca394464a", type: "file" });
    const folder = await octokit.rest.repos.getContent({ ...widgets, path: "docs" });
    expect(folder.data).toMatchObject([{ path: "docs/a.txt" }]);
    expect(await statusOf(octokit.rest.repos.getContent({ ...widgets, path: "none" }))).toBe(404);
    const raw = { ...widgets, path: "docs/a.txt", mediaType: { format: "raw" } };
    expect((await octokit.rest.repos.getContent(raw)).data).toBe("hello\n");
  });

  test("trees are listed by commit and by their own id, whole or one level, and cut off where they are too large", async () => {
    repo.setFile("main", "docs/a.txt", "hello\n");
    repo.setFile("main", "docs/deep/b.txt", "b\n");
    const list = async (tree_sha: string, recursive?: string) => {
      const { data } = await octokit.rest.git.getTree({
        ...widgets,
        tree_sha,
        ...(recursive ? { recursive } : {}),
      });
      return { paths: data.tree.map(({ path, type }) => `${path} ${type}`), ...data };
    };
    const all = await list(repo.tip("main"), "0");
    expect(all.paths).toEqual(
      expect.arrayContaining(["docs tree", "docs/a.txt blob", "docs/deep tree", "docs/deep/b.txt blob"]),
    );
    expect(all.truncated).toBe(false);
    expect(all.tree.find(({ path }) => path === "docs/a.txt")?.sha).toBe(
      "ce013625030ba8dba906f756967f9e9ca394464a",
    );
    const docs = all.tree.find(({ path }) => path === "docs")?.sha ?? "";
    expect((await list(docs)).paths).toEqual(["a.txt blob", "deep tree"]);
    expect((await list(docs, "1")).paths).toEqual(["a.txt blob", "deep tree", "deep/b.txt blob"]);
    repo.record.maxTreeEntries = 2;
    expect(await list(docs, "1")).toMatchObject({ truncated: true, paths: ["a.txt blob", "deep tree"] });
    expect(await statusOf(octokit.rest.git.getTree({ ...widgets, tree_sha: "0".repeat(40) }))).toBe(404);
  });

  test("the App makes a branch if it may write contents", async () => {
    const ref = { ...widgets, ref: "refs/heads/feat/epic/x", sha: repo.tip("main") };
    await octokit.rest.git.createRef(ref);
    expect((await octokit.rest.repos.getBranch({ ...widgets, branch: "feat/epic/x" })).status).toBe(200);
    expect((await octokit.rest.git.getRef({ ...widgets, ref: "heads/feat/epic/x" })).status).toBe(200);
    expect(await statusOf(octokit.rest.git.createRef(ref))).toBe(422);
    expect(await statusOf(octokit.rest.git.createRef({ ...ref, ref: "refs/heads/feat/epic/x/y" }))).toBe(422);
  });
});

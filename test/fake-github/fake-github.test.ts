import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeGitHub } from "./fake-github.ts";
import type { FakeRepository } from "./fake-repository.ts";
import { appOctokit, statusOf } from "./octokit-for-tests.ts";

const widgets = { owner: "acme", repo: "widgets" };

let clock: Date;
let github: FakeGitHub;
let repo: FakeRepository;
let installationId: number;
let octokit: ReturnType<typeof appOctokit>;

beforeEach(async () => {
  clock = new Date();
  github = await FakeGitHub.start({ now: () => clock });
  repo = github.repository("acme/widgets", {
    collaborators: { alice: "admin", bob: "triage", mary: "maintain" },
    labels: ["backlog"],
  });
  installationId = github.install(repo);
  octokit = appOctokit(github, installationId);
});

afterEach(async () => {
  await github.stop();
});

function passTime(milliseconds: number): void {
  clock = new Date(clock.getTime() + milliseconds);
}

describe("authentication", () => {
  test("the App's token opens the App's own endpoints", async () => {
    const { data } = await appOctokit(github).rest.apps.getAuthenticated();
    expect(data).toMatchObject({ id: github.app.id, slug: "leasehold" });
    const { data: installation } = await octokit.rest.apps.getRepoInstallation(widgets);
    expect(installation).toMatchObject({ id: installationId, account: { login: "acme" } });
  });

  test("an installation token reaches its own repositories only", async () => {
    github.repository("acme/secrets");
    expect(await statusOf(octokit.rest.repos.get({ owner: "acme", repo: "secrets" }))).toBe(404);
    const { data } = await octokit.rest.apps.listReposAccessibleToInstallation();
    expect(data.repositories.map(({ full_name }) => full_name)).toEqual(["acme/widgets"]);
    github.assertQuiet();
  });

  test("an installation token dies after an hour", async () => {
    const { token } = (
      await octokit.rest.apps.createInstallationAccessToken({ installation_id: installationId })
    ).data;
    const get = () =>
      fetch(`${github.url}/repos/acme/widgets`, { headers: { authorization: `Bearer ${token}` } });
    expect((await get()).status).toBe(200);
    passTime(3_600_000);
    expect((await get()).status).toBe(401);
  });

  test("a token may be cut down to some permissions", async () => {
    const { token } = (
      await octokit.rest.apps.createInstallationAccessToken({
        installation_id: installationId,
        permissions: { issues: "read" },
      })
    ).data;
    const response = await fetch(`${github.url}/repos/acme/widgets/issues`, {
      method: "POST",
      headers: { authorization: `token ${token}` },
      body: JSON.stringify({ title: "No" }),
    });
    expect(response.status).toBe(403);
  });

  test("a suspended installation is refused by name", async () => {
    github.suspend("acme");
    await expect(octokit.rest.repos.get(widgets)).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining("suspended"),
    });
    github.unsuspend("acme");
    expect((await octokit.rest.repos.get(widgets)).status).toBe(200);
  });

  test("a wrong clock is refused in the words that Octokit corrects itself by", async () => {
    passTime(2 * 3_600_000);
    const { data } = await appOctokit(github).rest.apps.getAuthenticated();
    expect(data?.slug).toBe("leasehold");
    expect(github.requestsTo("GET", "/app").map(({ status }) => status)).toEqual([401, 200]);
  });

  test("a revoked key is refused, and the new one works", async () => {
    github.rotatePrivateKey();
    expect(await statusOf(octokit.rest.repos.get(widgets))).toBe(401);
    const withNewKey = appOctokit(github, installationId);
    expect((await withNewKey.rest.repos.get(widgets)).status).toBe(200);
    github.assertQuiet();
  });

  test("a manifest code is good once", async () => {
    const code = github.manifestCode();
    const { data } = await octokit.rest.apps.createFromManifest({ code });
    expect(data).toMatchObject({ id: github.app.id, webhook_secret: github.app.webhookSecret });
    expect(await statusOf(octokit.rest.apps.createFromManifest({ code }))).toBe(404);
  });

  test("what no correct App sends is remembered", async () => {
    await fetch(`${github.url}/repos/acme/widgets/issues`);
    await fetch(`${github.url}/graphql`, { method: "POST", body: "{}" });
    expect(github.unexpected).toHaveLength(2);
    expect(() => github.assertQuiet()).toThrow("the fake has no route for POST /graphql");
  });
});

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

  test("the App makes a branch if it may write contents", async () => {
    const ref = { ...widgets, ref: "refs/heads/feat/epic/x", sha: repo.tip("main") };
    await octokit.rest.git.createRef(ref);
    expect((await octokit.rest.repos.getBranch({ ...widgets, branch: "feat/epic/x" })).status).toBe(200);
    expect((await octokit.rest.git.getRef({ ...widgets, ref: "heads/feat/epic/x" })).status).toBe(200);
    expect(await statusOf(octokit.rest.git.createRef(ref))).toBe(422);
    expect(await statusOf(octokit.rest.git.createRef({ ...ref, ref: "refs/heads/feat/epic/x/y" }))).toBe(422);
  });
});

import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeGitHub } from "./fake-github.ts";
import type { FakeRepository } from "./fake-repository.ts";
import { appOctokit, statusOf } from "./octokit-for-tests.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

const widgets = { owner: "acme", repo: "widgets" };

let github: FakeGitHub;
let repo: FakeRepository;
let receiver: WebhookReceiver;
let installationId: number;

beforeEach(async () => {
  github = await FakeGitHub.start({ webhookTimeoutMs: 200 });
  receiver = await WebhookReceiver.start(github.app.webhookSecret);
  github.deliverTo(receiver.url);
  repo = github.repository("acme/widgets", {
    collaborators: { alice: "admin" },
    labels: ["backlog", "stale"],
  });
  installationId = github.silently(() => github.install(repo));
});

afterEach(async () => {
  await github.stop();
  await receiver.stop();
});

test("a change arrives signed, with the headers and the shape that GitHub sends", async () => {
  const number = repo.as("alice").openIssue({ title: "It rattles 😊", labels: ["backlog"] });
  await github.delivered();
  expect(receiver.names()).toEqual(["issues.opened", "issues.labeled"]);
  const [, labeled] = receiver.received;
  expect(labeled).toMatchObject({
    isSigned: true,
    headers: {
      "user-agent": expect.stringMatching(/^GitHub-Hookshot\//),
      "x-github-hook-id": String(github.app.hookId),
      "x-github-hook-installation-target-type": "integration",
    },
    payload: {
      issue: { number, labels: [{ name: "backlog" }], author_association: "COLLABORATOR" },
      label: { name: "backlog" },
      repository: { id: repo.id, default_branch: "main" },
      sender: { login: "alice", type: "User" },
      installation: { id: installationId },
    },
  });
});

test("the App's own writes come back with its bot as the sender", async () => {
  const issue_number = repo.as("alice").openIssue({ title: "It rattles" });
  await appOctokit(github, installationId).rest.issues.createComment({
    ...widgets,
    issue_number,
    body: "Hi",
  });
  await github.delivered();
  expect(receiver.received.at(-1)?.payload).toMatchObject({
    sender: { login: "leasehold[bot]", type: "Bot", id: github.app.botId },
    comment: { performed_via_github_app: { slug: "leasehold" } },
  });
});

test("nothing is sent to where the App is not installed, or is suspended", async () => {
  github.repository("acme/other").as("alice").openIssue({ title: "Elsewhere" });
  github.suspend("acme");
  repo.as("alice").openIssue({ title: "Unheard" });
  github.unsuspend("acme");
  await github.delivered();
  expect(receiver.names()).toEqual(["installation.suspend", "installation.unsuspend"]);
});

test("the first repository installs the App, the next is added, the last uninstalls it", async () => {
  github.silently(() => github.uninstall(repo));
  const other = github.repository("acme/other");
  github.install(repo);
  github.install(other);
  github.uninstall(repo);
  github.uninstall(other);
  await github.delivered();
  expect(receiver.names()).toEqual([
    "installation.created",
    "installation_repositories.added",
    "installation_repositories.removed",
    "installation.deleted",
  ]);
});

test("held webhooks are released in another order", async () => {
  github.hold();
  const number = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  repo.as("alice").comment(number, "Hello");
  github.release({ order: [2, 0, 1] });
  await github.delivered();
  expect(receiver.names()).toEqual(["issue_comment.created", "issues.opened", "issues.labeled"]);
  expect(() => {
    github.hold();
    repo.as("alice").comment(number, "Again");
    github.release({ order: [0, 1] });
  }).toThrow("no permutation");
});

test("a dropped webhook failed, a silent change was never sent", async () => {
  const number = repo.silently(() => repo.as("alice").openIssue({ title: "Unheard" }));
  github.hold();
  repo.as("alice").label(number, "stale");
  github.drop();
  github.release();
  await github.delivered();
  expect(receiver.received).toEqual([]);
  const { data } = await appOctokit(github).rest.apps.listWebhookDeliveries({ status: "failure" });
  expect(data.map(({ event, action }) => `${event}.${action}`)).toEqual(["issues.labeled"]);
});

test("a failed delivery is not repeated, until somebody asks for it", async () => {
  receiver.answer = () => 503;
  repo.as("alice").openIssue({ title: "It rattles" });
  await github.delivered();
  expect(github.deliveries.map(({ status }) => status)).toEqual([503]);
  expect(() => github.assertQuiet()).toThrow("issues.opened");

  receiver.answer = () => 200;
  const octokit = appOctokit(github);
  const [failed] = (await octokit.rest.apps.listWebhookDeliveries({ per_page: 1 })).data;
  expect(failed).toMatchObject({ status_code: 503, redelivery: false });
  await octokit.rest.apps.redeliverWebhookDelivery({ delivery_id: failed?.id ?? 0 });
  await github.delivered();
  const guids = receiver.received.map(({ guid }) => guid);
  expect(guids).toEqual([failed?.guid, failed?.guid]);
  const again = await github.redeliver(guids[0] ?? "");
  expect(again).toMatchObject({ status: 200, redelivery: true });
});

test("deliveries are listed newest first, by cursor, for three days", async () => {
  let now = new Date();
  await github.stop();
  github = await FakeGitHub.start({ now: () => now });
  github.deliverTo(receiver.url);
  const other = github.repository("acme/widgets");
  github.install(other);
  for (let count = 0; count < 5; count += 1) other.as("alice").openIssue({ title: `Issue ${count}` });
  await github.delivered();
  const octokit = appOctokit(github);
  const first = await octokit.request("GET /app/hook/deliveries", { per_page: 4 });
  const cursor = /cursor=([^&>]+)/.exec(first.headers.link ?? "")?.[1] ?? "";
  const second = await octokit.request("GET /app/hook/deliveries", { per_page: 4, cursor });
  expect([...first.data, ...second.data].map(({ event }) => event)).toEqual([
    ...Array(5).fill("issues"),
    "installation",
  ]);
  now = new Date(now.getTime() + 4 * 24 * 3_600_000);
  expect((await octokit.rest.apps.listWebhookDeliveries()).data).toEqual([]);
  const tooLate = octokit.rest.apps.redeliverWebhookDelivery({ delivery_id: Number(first.data[0]?.id) });
  expect(await statusOf(tooLate)).toBe(404);
});

test("an App that does not answer in time, or at all, is recorded", async () => {
  receiver.answer = () => null;
  repo.as("alice").openIssue({ title: "Slow" });
  await github.delivered();
  github.deliverTo("http://127.0.0.1:9/nobody");
  repo.as("alice").openIssue({ title: "Down" });
  await github.delivered();
  expect(github.deliveries.map(({ status }) => status)).toEqual(["timed out", "unreachable"]);
});

test("waiting for webhooks that go nowhere says which", async () => {
  github.deliverTo(null);
  repo.as("alice").openIssue({ title: "It rattles" });
  await expect(github.delivered(20)).rejects.toThrow("without a target (deliverTo): issues.opened");
});

test("a hand-made delivery is sent byte for byte, signed as the test likes", async () => {
  const payload = '{"a" : 1, "emoji": "😊\u2028"}';
  expect(await github.deliver({ event: "ping", payload })).toEqual({ status: 200, body: "received" });
  await github.deliver({ event: "ping", payload, secret: "another", guid: "g-1" });
  await github.deliver({ event: "ping", payload, signature: null });
  expect(receiver.received.map(({ isSigned, raw }) => [isSigned, raw === payload])).toEqual([
    [true, true],
    [false, true],
    [false, true],
  ]);
  expect(receiver.received[1]?.guid).toBe("g-1");
});

test("a deleted label: an `unlabeled` without its label for each issue, then `label.deleted`", async () => {
  const alice = repo.as("alice");
  github.silently(() => [1, 2].map(() => alice.openIssue({ title: "x", labels: ["stale"] })));
  alice.deleteLabel("stale");
  await github.delivered();
  expect(receiver.names()).toEqual(["issues.unlabeled", "issues.unlabeled", "label.deleted"]);
  expect(receiver.received[0]?.payload.label).toBeUndefined();
});

test("a renamed label: `label.edited` and nothing for its issues", async () => {
  const number = github.silently(() => repo.as("alice").openIssue({ title: "x", labels: ["stale"] }));
  repo.as("alice").renameLabel("stale", "old");
  await github.delivered();
  expect(receiver.names()).toEqual(["label.edited"]);
  expect(receiver.received[0]?.payload).toMatchObject({ changes: { name: { from: "stale" } } });
  expect(repo.issue(number).labels).toEqual(["old"]);
});

test("a transfer: `opened` there and `transferred` here", async () => {
  const other = github.repository("acme/other");
  github.silently(() => github.install(other));
  const number = github.silently(() => repo.as("alice").openIssue({ title: "x" }));
  repo.as("alice").transfer(number, other);
  await github.delivered();
  expect(receiver.names()).toEqual(["issues.opened", "issues.transferred"]);
  expect(receiver.received.map(({ payload }) => payload.changes)).toMatchObject([
    { old_issue: { number }, old_repository: { full_name: "acme/widgets" } },
    { new_issue: { number: 1 }, new_repository: { full_name: "acme/other" } },
  ]);
});

test("links between issues: two events for each edge", async () => {
  const alice = repo.as("alice");
  const [a, b] = github.silently(() => [alice.openIssue({ title: "a" }), alice.openIssue({ title: "b" })]);
  alice.addSubIssue(a, b);
  alice.blockBy(a, b);
  alice.removeSubIssue(a, b);
  await github.delivered();
  expect(receiver.names()).toEqual([
    "sub_issues.sub_issue_added",
    "sub_issues.parent_issue_added",
    "issue_dependencies.blocked_by_added",
    "issue_dependencies.blocking_added",
    "sub_issues.sub_issue_removed",
    "sub_issues.parent_issue_removed",
  ]);
  expect(receiver.received[0]?.payload).toMatchObject({
    parent_issue_id: repo.issue(a).id,
    sub_issue_id: repo.issue(b).id,
    sub_issue_repo: { full_name: "acme/widgets" },
  });
});

import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeGitHub } from "./fake-github.ts";
import { appOctokit, statusOf } from "./octokit-for-tests.ts";

const widgets = { owner: "acme", repo: "widgets" };

let clock: Date;
let github: FakeGitHub;
let installationId: number;
let octokit: ReturnType<typeof appOctokit>;

beforeEach(async () => {
  clock = new Date();
  github = await FakeGitHub.start({ now: () => clock });
  installationId = github.install(github.repository("acme/widgets"));
  octokit = appOctokit(github, installationId);
});

afterEach(async () => {
  await github.stop();
});

function passTime(milliseconds: number): void {
  clock = new Date(clock.getTime() + milliseconds);
}

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

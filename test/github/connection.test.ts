/** The connection to GitHub: each request once, whatever comes back, and its tokens whatever the clocks say. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GitHubConnection } from "../../src/github/connection.ts";
import { failureOf } from "../../src/github/failure.ts";
import { postComment } from "../../src/github/writes.ts";
import { FakeGitHub } from "../fake-github/fake-github.ts";
import { type RecordedLog, recordedLog } from "../harness/recorded-log.ts";

let github: FakeGitHub;
let logged: RecordedLog;
/** How far GitHub's clock is from ours. */
let skewSeconds = 0;

beforeEach(async () => {
  skewSeconds = 0;
  github = await FakeGitHub.start({ now: () => new Date(Date.now() + skewSeconds * 1000) });
  logged = recordedLog();
});
afterEach(() => github.stop());

const REPO = { owner: "acme", name: "widgets" };

function connect() {
  const connection = new GitHubConnection({ baseUrl: github.url, log: logged.log });
  const { id, privateKey, webhookSecret } = github.app;
  connection.connect({ appId: id, privateKey, webhookSecrets: [webhookSecret] });
  const repo = github.repository("acme/widgets", { collaborators: { alice: "admin" } });
  const installationId = github.install(repo);
  const number = repo.as("alice").openIssue({ title: "It rattles" });
  const path = `/repos/acme/widgets/issues/${number}/comments`;
  return { connection, installationId, repo, number, path };
}

describe("row 70: a write is sent once", () => {
  it.each([
    ["500", { kind: "status", status: 500 }],
    ["502 though it was written", { kind: "effect-then-status", status: 502 }],
    ["a cut connection", { kind: "effect-then-drop" }],
    ["429 with retry-after", { kind: "status", status: 429, headers: { "retry-after": "1" } }],
    ["403, a secondary limit", { kind: "status", status: 403, body: { message: "secondary rate limit" } }],
    ["422", { kind: "status", status: 422 }],
  ] as const)("%s", async (_, fault) => {
    const { connection, installationId, number, path } = connect();
    github.fault({
      method: "POST",
      path,
      times: 10,
      ...fault,
      ...("headers" in fault ? { headers: { ...fault.headers } } : {}),
    });
    const client = await connection.client(installationId);
    await expect(postComment(client, REPO, number, "Hello")).rejects.toThrow();
    expect(github.requestsTo("POST", path)).toHaveLength(1);
  });
});

describe("row 75: our clock is wrong", () => {
  it.each([90, -90, 900, -900])(
    "GitHub's is %i s ahead: tokens are had all the same, and the key is not blamed",
    async (seconds) => {
      skewSeconds = seconds;
      const { connection, installationId, repo, number } = connect();
      const client = await connection.client(installationId);
      await postComment(client, REPO, number, "Hello");
      expect(repo.issue(number).comments).toHaveLength(1);
      expect(await connection.check()).toMatchObject({ status: "connected" });
      expect(connection.keyRefusal).toBe(null);
    },
  );
});

describe("row 72: a token that died", () => {
  it("is replaced, also in a repository whose name begins like an address of the App", async () => {
    const connected = connect();
    const repo = github.repository("acme/app", { collaborators: { alice: "admin" } });
    github.install(repo);
    const number = repo.as("alice").openIssue({ title: "Work" });
    const client = await connected.connection.client(connected.installationId);
    await postComment(client, { owner: "acme", name: "app" }, number, "One");
    const path = `/repos/acme/app/issues/${number}/comments`;
    // Once only: within the first seconds of a token Octokit itself waits for GitHub to know it.
    github.fault({ method: "POST", path, kind: "status", status: 401, body: { message: "Bad credentials" } });
    await postComment(client, { owner: "acme", name: "app" }, number, "Two");
    expect(repo.issue(number).comments.map(({ body }) => body)).toEqual(["One", "Two"]);
    expect(connected.connection.keyRefusal).toBe(null);
  });
});

describe("row 76: a key that GitHub does not take", () => {
  it("is noted when a token is asked for, once, and forgotten with the next key", async () => {
    const { connection, installationId, number } = connect();
    const told: string[] = [];
    connection.superviseWith({
      inTurn: (_, write) => write(),
      refused: async () => {},
      keyRefused: (message) => told.push(message),
    });
    const before = github.app.privateKey;
    const app = { appId: github.app.id, privateKey: before, webhookSecrets: ["s"] };
    connection.connect(app);
    github.rotatePrivateKey();
    for (let time = 0; time < 3; time += 1) {
      const client = await connection.client(installationId);
      const error = await postComment(client, REPO, number, "Hello").catch((thrown: unknown) => thrown);
      expect(failureOf(error)).toMatchObject({ kind: "unauthorized", status: 401 });
    }
    expect(told).toEqual([expect.stringContaining("could not be decoded")]);
    expect(connection.isUsable).toBe(false);
    expect(connection.keyRefusal?.message).toContain("could not be decoded");

    expect(await connection.tryKey(before)).toBe("refused");
    expect(await connection.tryKey("no key at all")).toBe("refused");
    expect(await connection.tryKey(github.app.privateKey)).toBe("accepted");
    connection.connect({ ...app, privateKey: github.app.privateKey });
    expect(connection.isUsable).toBe(true);
    await postComment(await connection.client(installationId), REPO, number, "Hello");
  });
});

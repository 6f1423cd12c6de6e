/** A workflow calls with the token that GitHub Actions made for it, as far as its repository's configuration trusts it. */

import { generateKeyPair } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WorkflowTokenRefused, WorkflowTokens } from "../../src/github/workflow-tokens.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { waitFor } from "../harness/wait-for.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "../http/support/expect-problem.ts";
import { LocalIssuer } from "./support/local-issuer.ts";

let issuer: LocalIssuer;
let world: World;
let repo: FakeRepository;

const MAIN = "repo:acme/widgets:ref:refs/heads/main";
const CONFIGURATION = `oidc:
  "${MAIN}": [read, claim]
  "repo:acme/widgets:environment:*": [read]
`;

beforeAll(async () => {
  issuer = await LocalIssuer.start();
  world = await World.start({ config: { oidc: { issuer: issuer.url, audience: "leasehold" } } });
  repo = world.github.repository("acme/widgets", { collaborators: { alice: "admin", rita: "read" } });
  repo.as("alice").push("main", { message: "configure", files: { ".github/leasehold.yml": CONFIGURATION } });
  await world.install(repo);
  await world.repository("acme/gadgets");
}, 60_000);
afterAll(async () => {
  await world.end();
  await issuer.stop();
});

const now = async (): Promise<number> => {
  const { rows } = await world.app.deps.database.pool.query(
    "select extract(epoch from db_now())::int as now",
  );
  return rows[0].now;
};

const tokenOf = async (
  claims: Record<string, unknown> = {},
  over: Parameters<LocalIssuer["token"]>[1] = {},
) =>
  issuer.token(
    { sub: MAIN, exp: (await now()) + 300, repository_id: String(repo.id), run_id: "42", ...claims },
    over,
  );
const ask = async (token: string, path = "/items") => world.api.with({ token }).tryRepo("GET", path);

describe("a workflow that is trusted", () => {
  it("may do what its subject was given, in its repository only, as one actor for its run", async () => {
    const number = repo.as("alice").openIssue({ title: "work", labels: ["backlog"] });
    await world.settled();
    const api = world.api.with({ token: await tokenOf() });
    const { fencingToken } = await api.claim(number, "actions/job-1");
    // The same run, another token: what it claimed it can renew.
    const later = world.api.with({ token: await tokenOf({ iat: 1 }) });
    expect((await later.renew(number, fencingToken)).granted).toBe(true);
    const other = world.api.with({ token: await tokenOf({ run_id: "43" }) });
    expectProblem(await other.tryRepo("POST", `/items/${number}/claim/renew`, { body: { fencingToken } }), {
      status: 409,
      code: "not_holder",
    });
    expectProblem(await api.tryRepo("PATCH", `/items/${number}`, { body: { tags: { add: ["a:b"] } } }), {
      status: 403,
      code: "insufficient_capability",
    });
    expectProblem(await api.with({ repo: "acme/gadgets" }).tryRepo("GET", "/items"), {
      status: 403,
      code: "scope_forbidden",
    });
    const { transitions } = await world.api.repo("GET", `/items/${number}/transitions`);
    expect(transitions.at(-1).actor).toBe(`actions/${repo.id}/42`);
  });

  it("may be trusted by a pattern", async () => {
    const token = await tokenOf({ sub: "repo:acme/widgets:environment:staging" });
    expect((await ask(token)).status).toBe(200);
    expect(
      (await world.api.with({ token }).tryRepo("POST", "/claim-next", { body: { owner: "w" } })).status,
    ).toBe(403);
  });

  it("is trusted no more as soon as the configuration says so", async () => {
    const token = await tokenOf({ sub: "repo:acme/widgets:environment:prod" });
    expect((await ask(token)).status).toBe(200);
    const files = { ".github/leasehold.yml": `oidc:\n  "${MAIN}": [read, claim]\n` };
    repo.as("alice").push("main", { message: "trust less", files });
    await world.settled();
    await waitFor("the change to be heard of", async () =>
      (await ask(token)).status === 401 ? null : "not yet",
    );
  });
});

describe("a token that is not taken", () => {
  const refused = async (token: string, why: RegExp) => {
    const answer = await ask(token);
    expectProblem(answer, { status: 401, code: "unauthenticated" });
    expect(answer.body.detail).toMatch(why);
  };

  it("has expired, by the database's clock", async () => {
    const token = await tokenOf({ exp: (await now()) + 60 });
    expect((await ask(token)).status).toBe(200);
    await world.pass(61);
    await refused(token, /it has expired: ask GitHub for another one/);
  });

  it("is for another audience, of another issuer, or signed by somebody else", async () => {
    await refused(await tokenOf({ aud: "sts.example.com" }), /another audience: .* leasehold$/);
    await refused(await tokenOf({}, { issuer: "https://evil.example" }), /is not of http/);
    const { privateKey } = await generateKeyPair("RS256");
    await refused(await tokenOf({}, { key: privateKey }), /not signed by GitHub Actions/);
  });

  it("is not signed at all, or by a secret in place of a key", async () => {
    const [, claims = ""] = (await tokenOf()).split(".");
    const header = (alg: string) => Buffer.from(JSON.stringify({ alg, typ: "JWT" })).toString("base64url");
    await refused(`${header("none")}.${claims}.`, /not signed by GitHub Actions/);
    await refused(`${header("HS256")}.${claims}.c2lnbmF0dXJl`, /not signed by GitHub Actions/);
    await refused("a.b.c", /not signed by GitHub Actions/);
  });

  it("is of a subject that is not trusted, of a repository that is not here, or says too little", async () => {
    await refused(
      await tokenOf({ sub: "repo:acme/widgets:pull_request" }),
      /does not trust repo:acme\/widgets:pull_request/,
    );
    await refused(await tokenOf({ repository_id: "999999" }), /not connected here/);
    // Trusted by widgets, but of the workflow of another repository.
    const gadgets = world.github.repository("acme/sheds", { collaborators: { alice: "admin" } });
    await world.install(gadgets);
    await refused(
      await tokenOf({ repository_id: String(gadgets.id) }),
      /configuration of acme\/sheds does not trust/,
    );
    await refused(await tokenOf({ run_id: undefined }), /does not name its workflow's repository and run/);
  });
});

describe("the issuer's keys", () => {
  const claims = { sub: "repo:a/b:x", repository_id: "1", run_id: "2", exp: 2_000_000_000 };
  const at = new Date(1_900_000_000_000);

  it("are asked for once, and anew when they were rotated; the old one is worth nothing then", async () => {
    const own = await LocalIssuer.start();
    const tokens = new WorkflowTokens({ issuer: own.url, audience: "leasehold", cooldownMs: 0 });
    const old = await own.token(claims);
    for (let count = 0; count < 3; count += 1) await tokens.verify(old, at);
    expect(own.asked).toBe(1);
    await own.rotate();
    expect(await tokens.verify(await own.token(claims), at)).toMatchObject({ repository_id: 1, run_id: 2 });
    expect(own.asked).toBe(2);
    await expect(tokens.verify(old, at)).rejects.toThrow(WorkflowTokenRefused);
    await own.stop();
  });

  it("that cannot be read let nobody in, and it is said that this is not the token's fault", async () => {
    const own = await LocalIssuer.start();
    const tokens = new WorkflowTokens({ issuer: own.url, audience: "leasehold" });
    own.broken = true;
    const token = await own.token(claims);
    await expect(tokens.verify(token, at)).rejects.toMatchObject({ name: "IssuerUnreachable" });
    await own.stop();
    await expect(tokens.verify(token, at)).rejects.toMatchObject({ name: "IssuerUnreachable" });
  });
});

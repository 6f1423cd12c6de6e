/** Only what is signed with the App's secret gets in, by the bytes that were signed; the rest leaves no trace. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "../http/support/expect-problem.ts";
import { quietSince } from "../http/support/quiet-log.ts";
import { inbox, keepBackOne, type Post, post, sign, withValues } from "./support/deliveries.ts";

let world: World;
let repo: FakeRepository;
let secret: string;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
  secret = world.github.app.webhookSecret;
});
afterAll(() => world.end());
beforeEach(async () => {
  await world.db.deleteFrom("inbox").execute();
});

const unauthenticated = { status: 401, code: "unauthenticated" };
const CANARY = "the-canary-in-the-body";
const BODY = JSON.stringify({ zen: CANARY });

/** Nothing stored, nothing logged, nothing told. */
async function expectRefused(sent: Post): Promise<void> {
  const expectQuiet = quietSince(world);
  const answer = await post(world, sent);
  expectProblem(answer, unauthenticated);
  expect(await inbox(world)).toEqual([]);
  expect(JSON.stringify(answer.body)).not.toContain(CANARY);
  expect(world.logged.text()).not.toContain(CANARY);
  expectQuiet();
}

describe("a delivery is refused", () => {
  it("without a signature", () => expectRefused({ body: BODY, signature: null }));

  it("with an empty signature", () => expectRefused({ body: BODY, signature: "" }));

  it("with a wrong signature", () => expectRefused({ body: BODY, signature: `sha256=${"0".repeat(64)}` }));

  it.each(["sha256", "sha256=", "sha256=zz", "nonsense", "0"])("with the signature %s", (signature) =>
    expectRefused({ body: BODY, signature }),
  );

  it("signed with another secret", () =>
    expectRefused({ body: BODY, signature: sign(BODY, "another secret") }));

  it("signed with no secret at all", () => expectRefused({ body: BODY, signature: sign(BODY, "") }));

  it.each(["sha1", "sha512", "md5"])("signed by %s, though with the right secret", (algorithm) =>
    expectRefused({ body: BODY, signature: sign(BODY, secret, algorithm) }),
  );

  it("with the right hash and no name of its algorithm", () =>
    expectRefused({ body: BODY, signature: sign(BODY, secret).replace("sha256=", "") }));

  it("signed in the old header only", () =>
    expectRefused({
      body: BODY,
      signature: null,
      headers: { "x-hub-signature": sign(BODY, secret, "sha1") },
    }));

  it("with the signature of another body", () =>
    expectRefused({ body: BODY, signature: sign(`${BODY} `, secret) }));

  it("with a signature of the same JSON, spaced otherwise", () =>
    expectRefused({ body: JSON.stringify(JSON.parse(BODY), null, 1), signature: sign(BODY, secret) }));

  it("with nothing in it", () => expectRefused({ body: "", signature: sign("x", secret) }));

  it("that is malformed besides: the signature comes first", async () => {
    await expectRefused({ body: `{"${CANARY}`, signature: null });
    const notUtf8 = Buffer.concat([Buffer.from(BODY), Buffer.from([0xff, 0xfe, 0xc3])]);
    await expectRefused({ body: notUtf8, signature: null });
    await expectRefused({ body: notUtf8, signature: `sha256=${"0".repeat(64)}` });
  });

  it("that has no headers besides: the signature comes first", async () => {
    const answer = await post(world, {
      body: BODY,
      signature: null,
      headers: { "x-github-event": "", "x-github-delivery": "" },
    });
    expectProblem(answer, unauthenticated);
  });
});

describe("a delivery is taken by its raw bytes", () => {
  it("row 10: with emoji, U+2028 and odd spacing, and its text arrives as it is", async () => {
    const title = "It rattles 😊 \u2028 and \u00e9 \u0065\u0301";
    const kept = keepBackOne(world.github, "issues.opened", () =>
      repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] }),
    );
    const payload = withValues(kept.payload, { "issue.title": title });
    const body = ` \n${JSON.stringify(payload, null, " \t").replaceAll('":', '" :')}\r\n `;
    expect(body).toContain("😊");
    expect(body).toContain("\u2028");
    const answer = await post(world, { body, event: "issues", guid: "odd" });
    expect(answer.status).toBe(202);
    expect((await inbox(world, "odd"))[0]?.payload).toBe(body);
    await world.settled();
    expect((await world.api.item(payload.issue.number)).title).toBe(title);
  });

  it("row 11: with the secret before, while it is rotated out; and no other", async () => {
    const { github } = world.app.deps;
    const app = github.app;
    if (!app) throw new Error("the App is not configured");
    const post256 = (key: string) => post(world, { body: BODY, signature: sign(BODY, key) });

    github.connect({ ...app, webhookSecrets: ["the new secret", secret] });
    expect((await post256(secret)).status).toBe(202);
    expect((await post256("the new secret")).status).toBe(202);
    expectProblem(await post256("an older secret"), unauthenticated);

    github.connect({ ...app, webhookSecrets: ["the new secret"] });
    expectProblem(await post256(secret), unauthenticated);
    expect((await post256("the new secret")).status).toBe(202);
    github.connect(app);
    await world.settled();
  });

  it("with any content type that GitHub may be set to", async () => {
    for (const type of ["application/json", "application/json; charset=utf-8", "text/plain"]) {
      const answer = await post(world, { body: BODY, headers: { "content-type": type } });
      expect(answer.status, type).toBe(202);
    }
    await world.settled();
  });
});

describe("a signed delivery that cannot be read", () => {
  const invalid = { status: 400, code: "validation_failed" };

  it.each([
    ["malformed JSON", `{"action": "opened", "${CANARY}`],
    ["JSON cut short", BODY.slice(0, -1)],
    ["JSON and more", `${BODY}${BODY}`],
    ["an array", `["${CANARY}"]`],
    ["a string", `"${CANARY}"`],
    ["null", "null"],
    ["a number", "42"],
    ["nothing", ""],
    ["white space", " \n"],
    ["a form, as GitHub sends it when the hook is set so", `payload=${encodeURIComponent(BODY)}`],
    ["JSON after a byte order mark", `\ufeff${BODY}`],
    ["a NUL byte in it", `{"zen": "${CANARY}\u0000"}`],
    ["a NUL byte after it", `${BODY}\u0000`],
  ])("is told so, stored nowhere, and no news: %s", async (_, body) => {
    const expectQuiet = quietSince(world);
    const answer = await post(world, { body });
    expectProblem(answer, invalid);
    expect(JSON.stringify(answer.body)).not.toContain(CANARY);
    expect(await inbox(world)).toEqual([]);
    expect(world.logged.text()).not.toContain(CANARY);
    expectQuiet();
  });

  it("is told so: bytes that are no UTF-8", async () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"zen": "'), Buffer.from(bytes), Buffer.from('"}')]);
      expectProblem(await post(world, { body }), invalid);
    }
    expect(await inbox(world)).toEqual([]);
  });

  it.each(["x-github-event", "x-github-delivery"])("is told so: without the header %s", async (name) => {
    for (const value of ["", "x".repeat(201)]) {
      const answer = await post(world, { body: BODY, headers: { [name]: value } });
      expectProblem(answer, invalid);
      expect(answer.body.detail).toContain(name);
    }
    expect(await inbox(world)).toEqual([]);
  });

  it("is told so: with a hook id that is longer than any", async () => {
    const answer = await post(world, { body: BODY, headers: { "x-github-hook-id": "9".repeat(4000) } });
    expectProblem(answer, invalid);
  });
});

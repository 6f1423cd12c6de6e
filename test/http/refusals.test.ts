/** Bad input: a clear answer that names the field, and a quiet log. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Sent } from "../harness/api-client.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";
import { quietSince } from "./support/quiet-log.ts";

let world: World;
let item: number;
let expectQuiet: () => void;

beforeAll(async () => {
  world = await World.start();
  const repo = await world.repository();
  item = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  await world.settled();
});
afterAll(() => world.end());
beforeEach(() => {
  expectQuiet = quietSince(world);
});
afterEach(() => expectQuiet());

const REPO = "/api/v1/repos/acme/widgets";
const invalid = (field?: string) => ({ status: 400, code: "validation_failed", ...(field ? { field } : {}) });

/** Claims `item` with this body. */
const claim = (body: unknown) => world.api.tryRepo("POST", `/items/${item}/claim`, { body });
const claimRaw = (raw: string, headers: Record<string, string> = {}) =>
  world.api.tryRepo("POST", `/items/${item}/claim`, { raw, headers });
const cursor = (text: string) => Buffer.from(text).toString("base64url");

describe("the body", () => {
  it.each([
    ["is malformed JSON", '{"owner": "w",'],
    ["is empty", ""],
    ["would set a prototype", '{"owner": "w", "__proto__": {"admin": true}}'],
  ])("%s", async (_, raw) => {
    expectProblem(await claimRaw(raw), invalid("body"));
  });

  it.each(["[]", "null", '"w"', "42"])("is no object: %s", async (raw) => {
    expectProblem(await claimRaw(raw), invalid("body"));
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"])(
    "has the content type %s",
    async (type) => {
      const answer = await claimRaw('{"owner": "w"}', { "content-type": type });
      expectProblem(answer, { status: 415, code: "unsupported_media_type" });
    },
  );

  it("is missing", async () => {
    expectProblem(await world.api.tryRepo("POST", `/items/${item}/claim`), invalid("body"));
  });

  it("has a field that nobody knows", async () => {
    expectProblem(await claim({ owner: "w", leaseSecs: 30 }), invalid("leaseSecs"));
  });

  it("is over the limit", async () => {
    const answer = await claim({ owner: "w".repeat(9 * 1024 * 1024) });
    expectProblem(answer, { status: 413, code: "payload_too_large" });
  });

  it("has more mistakes than anybody wants to read", async () => {
    const links = { related: Array.from({ length: 400 }, () => 7) };
    const answer = await world.api.tryRepo("PUT", "/memory/notes/wrong", { body: { links } });
    expectProblem(answer, invalid("links.related.0"));
    expect(answer.body.errors.length).toBeLessThanOrEqual(20);
    expect(answer.body.detail).toContain("380 more");
  });
});

describe("a claim's owner", () => {
  it.each([
    ["with a space", "worker 7"],
    ["that would end the marker", "w-->"],
    ["that is empty", ""],
    ["of 129 characters", "w".repeat(129)],
    ["with a line break", "w\nowner=x"],
    ["with a NUL", "w\u0000"],
    ["that is a number", 7],
    ["that is null", null],
    ["that is missing", undefined],
  ])("%s", async (_, owner) => {
    expectProblem(await claim({ owner }), invalid("owner"));
  });

  it("may have 128 characters of every kind allowed", async () => {
    const owner = "aZ9._:@/+-".padEnd(128, "x");
    const granted = await world.api.claim(item, owner);
    expect(granted).toMatchObject({ granted: true, owner });
    await world.api.release(item, granted.fencingToken);
  });
});

describe("a lease", () => {
  it.each(["-1", "0", "1.5", '"x"', '"30"', "1e400", "-1e400", "null", "[]", "true"])(
    "of %s is refused",
    async (seconds) => {
      expectProblem(await claimRaw(`{"owner": "w", "leaseSeconds": ${seconds}}`), invalid("leaseSeconds"));
    },
  );

  it.each([1801, 1e15, 1e17, 1e300])("of %d, over the maximum, is capped", async (leaseSeconds) => {
    const path = `/memory/notes/lease-${String(leaseSeconds).replace("+", "-")}`;
    await world.api.repo("PUT", path, { body: { title: "To be claimed" } });
    const granted = await world.api.repo("POST", `${path}/claim`, { body: { owner: "w", leaseSeconds } });
    expect(granted).toMatchObject({ granted: true, leaseSeconds: 1800 });
  });

  it.each(["-1", "0", "1.5", '"x"', "null"])("is not renewed for %s", async (seconds) => {
    const raw = `{"fencingToken": 1, "leaseSeconds": ${seconds}}`;
    const answer = await world.api.tryRepo("POST", `/items/${item}/claim/renew`, { raw });
    expectProblem(answer, invalid("leaseSeconds"));
  });
});

describe("a claim's other fields", () => {
  it.each([
    ["region", "no where"],
    ["region", 7],
    ["scope", "everything"],
    ["maxWaitSeconds", -1],
    ["maxWaitSeconds", 61],
    ["takeover", "yes"],
  ])("%s = %j", async (field, value) => {
    expectProblem(await claim({ owner: "w", [field]: value }), invalid(field));
  });

  it.each(["renew", "release"])("%s refuses what is no token", async (call) => {
    for (const fencingToken of [0, -1, 1.5, "41", null, undefined, 1e300]) {
      const answer = await world.api.tryRepo("POST", `/items/${item}/claim/${call}`, {
        body: { fencingToken },
      });
      expectProblem(answer, invalid("fencingToken"));
    }
  });

  it.each([
    ["over its limit", "n".repeat(20_001)],
    ["with a NUL", "it rattles\u0000"],
    ["with half a surrogate pair", "it rattles \ud800"],
    ["that is a number", 7],
  ])("a note %s", async (_, note) => {
    const body = { fencingToken: 1, note };
    const answer = await world.api.tryRepo("POST", `/items/${item}/claim/release`, { body });
    expectProblem(answer, invalid("note"));
  });
});

describe("an item's number", () => {
  it.each(["0", "-1", "abc", "1.5", "01", "1e3", "99999999999", "2147483648", "%20"])(
    "%s",
    async (number) => {
      expectProblem(await world.api.tryRepo("GET", `/items/${number}`), invalid("number"));
      const body = { owner: "w" };
      expectProblem(await world.api.tryRepo("POST", `/items/${number}/claim`, { body }), invalid("number"));
    },
  );

  it("of an item that is not there: a claim answers `missing`, a read 404", async () => {
    expect(await world.api.claim(4711, "w")).toMatchObject({
      granted: false,
      reason: "missing",
      key: "repo/acme/widgets/mem/backlog/issue-4711",
    });
    expectProblem(await world.api.tryRepo("GET", "/items/4711"), { status: 404, code: "not_found" });
    expect(await world.api.renew(4711, 1)).toEqual({ granted: false, reason: "missing" });
    expect(await world.api.release(4711, 1)).toEqual({ released: false, reason: "missing" });
    expect(await world.api.status(4711)).toMatchObject({ exists: false, claimed: false, isHeld: false });
  });
});

describe("a repository", () => {
  it.each([
    "/api/v1/repos/acme/gadgets/ready",
    "/api/v1/repos/acme/gadgets/items",
    "/api/v1/repos/acme/gadgets/items/1",
    "/api/v1/repos/acme/gadgets/memory/notes/x",
  ])("that nobody knows: GET %s", async (path) => {
    expectProblem(await world.api.send("GET", path), { status: 404, code: "not_found" });
  });

  it("that nobody knows is not made by a write when an App is configured", async () => {
    const answer = await world.api.with({ repo: "acme/gadgets" }).tryRepo("PUT", "/memory/notes/x", {
      body: { title: "x" },
    });
    expectProblem(answer, { status: 404, code: "not_found" });
  });

  it.each([
    ["acme%20corp", "widgets", "owner"],
    ["acme%2Fcorp", "widgets", "owner"],
    ["acme", "wid%00gets", "repo"],
    ["acme", "wid--%3Egets", "repo"],
    ["acme", "%F0%9F%98%8A", "repo"],
    ["a".repeat(101), "widgets", "owner"],
  ])("with the odd name %s/%s", async (owner, name, field) => {
    expectProblem(await world.api.send("GET", `/api/v1/repos/${owner}/${name}/ready`), invalid(field));
  });

  it("is found in any case", async () => {
    const answer = await world.api.send("GET", "/api/v1/repos/ACME/Widgets/ready");
    expect(answer.status).toBe(200);
  });
});

describe("a record's address", () => {
  it.each([
    ["No-Capitals", "x", "topic"],
    ["with%20space", "x", "topic"],
    [".hidden", "x", "topic"],
    ["t".repeat(65), "x", "topic"],
    ["notes", "with%20space", "id"],
    ["notes", "-->", "id"],
    ["notes", "a%2Fb", "id"],
    ["notes", "i".repeat(129), "id"],
    ["notes", "%F0%9F%98%8A", "id"],
  ])("%s/%s", async (topic, id, field) => {
    const path = `/memory/${topic}/${id}`;
    expectProblem(await world.api.tryRepo("GET", path), invalid(field));
    expectProblem(await world.api.tryRepo("PUT", path, { body: { title: "x" } }), invalid(field));
    expectProblem(await world.api.tryRepo("POST", `${path}/claim`, { body: { owner: "w" } }), invalid(field));
  });

  it("of a record that is not there: `exists: false`", async () => {
    expect(await world.api.repo("GET", "/memory/notes/nothing")).toEqual({
      exists: false,
      key: "repo/acme/widgets/mem/notes/nothing",
    });
  });
});

describe("the header Fencing-Token", () => {
  it.each(["0", "-1", "1.5", "abc", "99999999999999999999", "9007199254740993", "1, 2", "0x1", "1e3"])(
    "%s",
    async (fence) => {
      for (const method of ["PUT", "PATCH"]) {
        const sent: Sent = { fence, body: { title: "x" } };
        expectProblem(await world.api.tryRepo(method, "/memory/notes/x", sent), invalid("fencing-token"));
      }
      expectProblem(
        await world.api.tryRepo("DELETE", "/memory/notes/x", { fence }),
        invalid("fencing-token"),
      );
    },
  );
});

describe("a query", () => {
  it.each([
    ["/items?limit=0", "limit"],
    ["/items?limit=101", "limit"],
    ["/items?limit=x", "limit"],
    ["/items?limit=", "limit"],
    ["/items?limit=1.5", "limit"],
    ["/items?limit=0x10", "limit"],
    ["/items?limit=1&limit=2", "limit"],
    ["/items?role=boss", "role"],
    ["/items?state=alive", "state"],
    ["/items?epic=x", "epic"],
    ["/items?epic=0", "epic"],
    ["/items?epic=99999999999", "epic"],
    ["/items?tag=", "tag"],
    ["/items?tag=%00", "tag"],
    ["/items?q=%00", "q"],
    ["/items?colour=red", "colour"],
    ["/ready?limit=0", "limit"],
    ["/ready?limit=101", "limit"],
    ["/ready?limit=x", "limit"],
    ["/ready?epic=-1", "epic"],
    ["/ready?region=no%20where", "region"],
    ["/ready?owner=with%20space", "owner"],
    ["/ready?colour=red", "colour"],
  ])("GET R%s", async (path, field) => {
    expectProblem(await world.api.tryRepo("GET", path), invalid(field));
  });

  it.each([
    ["/api/v1/repos?limit=0", "limit"],
    ["/api/v1/repos?limit=101", "limit"],
    ["/api/v1/repos?limit=x", "limit"],
    ["/api/v1/repos?colour=red", "colour"],
  ])("GET %s", async (path, field) => {
    expectProblem(await world.api.send("GET", path), invalid(field));
  });

  it.each([
    ["rubbish", "rubbish"],
    ["of another kind", cursor("before:1")],
    ["beyond every number", cursor("after:9999999999999999")],
    ["beyond every issue", cursor("after:2147483648")],
    ["with something after it", cursor("after:1; drop table item")],
    ["that is empty", ""],
  ])("a cursor %s", async (_, text) => {
    expectProblem(await world.api.tryRepo("GET", `/items?cursor=${text}`), invalid("cursor"));
  });

  it("a cursor of the repositories that is none", async () => {
    expectProblem(await world.api.send("GET", "/api/v1/repos?cursor=rubbish"), invalid("cursor"));
  });

  it.each(["-1", "x", "1.5", "", "99999999999"])("lapseSeconds=%s forgets nothing", async (seconds) => {
    await world.api.repo("PUT", "/memory/notes/kept", { body: { title: "Kept" } });
    const answer = await world.api.tryRepo("DELETE", `/memory/notes/kept?lapseSeconds=${seconds}`);
    expectProblem(answer, invalid("lapseSeconds"));
    expect(await world.api.repo("GET", "/memory/notes/kept")).toMatchObject({
      exists: true,
      expiresAt: null,
    });
  });

  it("misspelt, forgets nothing", async () => {
    await world.api.repo("PUT", "/memory/notes/kept", { body: { title: "Kept" } });
    const answer = await world.api.tryRepo("DELETE", "/memory/notes/kept?lapseSecond=60");
    expectProblem(answer, invalid("lapseSecond"));
    expect(await world.api.repo("GET", "/memory/notes/kept")).toMatchObject({ exists: true });
  });
});

describe("an address", () => {
  it.each([
    ["GET", "/nothing"],
    ["GET", "/api/v1/nothing"],
    ["GET", "/api/v2/repos"],
    ["DELETE", "/api/v1/repos"],
    ["PUT", `${REPO}/items/1/claim`],
    ["POST", `${REPO}/ready`],
    ["GET", "/api/github/webhooks"],
    ["GET", "/docs/nothing"],
  ])("that is not there: %s %s", async (method, path) => {
    expectProblem(await world.api.send(method, path), { status: 404, code: "not_found" });
  });

  it.each(["/api/v1/repos/acme/%zz/ready", "/%", "/api/v1/repos/%c3%28/widgets/ready"])(
    "that cannot be decoded: %s",
    async (path) => {
      expectProblem(await world.api.send("GET", path), invalid());
    },
  );

  it("that is longer than any name", async () => {
    const answer = await world.api.send("GET", `/api/v1/repos/acme/${"w".repeat(2000)}/ready`);
    expectProblem(answer, invalid());
    expect(JSON.stringify(answer.body).length).toBeLessThan(1000);
  });
});

describe("a caller", () => {
  const unauthenticated = { status: 401, code: "unauthenticated" };

  it.each([
    ["without a token", {}],
    ["with a wrong token", { authorization: "Bearer lh_wrong" }],
    ["with an empty token", { authorization: "Bearer " }],
    ["with the token of another scheme", { authorization: "Basic lh_test_admin_token_0123456789" }],
    ["with a bare token", { authorization: "lh_test_admin_token_0123456789" }],
    ["with a token and more", { authorization: "Bearer lh_test_admin_token_0123456789 x" }],
    ["with a token in another case", { authorization: "Bearer LH_TEST_ADMIN_TOKEN_0123456789" }],
  ])("%s", async (_, headers) => {
    const answer = await world.api.send("GET", "/api/v1/repos", { token: null, headers });
    expectProblem(answer, unauthenticated);
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });

  it("may write the scheme in any case", async () => {
    const headers = { authorization: "bearer lh_test_admin_token_0123456789" };
    expect((await world.api.send("GET", "/api/v1/repos", { token: null, headers })).status).toBe(200);
  });

  it.each([
    ["GET", `${REPO}/items/abc`, {}],
    ["GET", "/api/v1/repos/acme/gadgets/ready", {}],
    ["GET", "/api/v1/repos?limit=x", {}],
    ["POST", `${REPO}/items/1/claim`, { raw: "{" }],
    ["POST", `${REPO}/items/1/claim`, { raw: "x", headers: { "content-type": "text/plain" } }],
    ["PUT", `${REPO}/memory/notes/x`, { body: { title: 7 }, fence: "abc" }],
    ["PUT", `${REPO}/memory/notes/x`, { body: { body: "x".repeat(9 * 1024 * 1024) } }],
  ] as [string, string, Sent][])(
    "is asked for a token before %s %s is looked at",
    async (method, path, sent) => {
      expectProblem(await world.api.send(method, path, { ...sent, token: null }), unauthenticated);
    },
  );

  it("leaves nothing of a wrong token in the log", async () => {
    await world.api.send("GET", "/api/v1/repos", { token: "lh_a_guess_that_was_wrong" });
    expect(world.logged.text()).not.toContain("lh_a_guess_that_was_wrong");
    expect(world.logged.text()).not.toContain("lh_test_admin_token");
  });
});

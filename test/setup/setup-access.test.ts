/** Who is let in to /setup, and how the pages keep themselves to themselves. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ADMIN_TOKEN, type Seen, type SetUp, startSetUp } from "./support/set-up.ts";

let setUp: SetUp;
beforeAll(async () => {
  setUp = await startSetUp();
});
afterAll(() => setUp.stop());

const location = (seen: Seen) => ({ status: seen.status, to: seen.headers.get("location") });
const TO_SETUP = { status: 303, to: "/setup" };

describe("a stranger", () => {
  it("sees where the code and the token are, and nothing else", async () => {
    const page = await setUp.browser().get("/setup");
    expect(page.status).toBe(401);
    expect(page.text).toContain("start-up message");
    expect(page.text).toContain("LEASEHOLD_ADMIN_TOKEN");
    expect(page.text).not.toContain('name="publicUrl"');
  });

  it("gets problem+json when it is no browser", async () => {
    const answer = await setUp.browser().get("/setup", { accept: "*/*" });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(JSON.parse(answer.text)).toMatchObject({ code: "unauthenticated", status: 401 });
  });

  it.each([
    ["GET", "/setup/callback?code=abc&state=def"],
    ["POST", "/setup/start"],
    ["POST", "/setup/save"],
  ])("can do nothing: %s %s", async (method, path) => {
    const browser = setUp.browser();
    const seen = method === "GET" ? await browser.get(path) : await browser.post(path, {});
    expect(seen.status).toBe(401);
    expect(setUp.github.requests).toEqual([]);
  });

  it.each([
    ["a code", "/setup?code=guessed", {}],
    ["an empty code", "/setup?code=", {}],
    ["two codes", "/setup?code=a&code=b", {}],
    ["a token", "/setup", { authorization: "Bearer guessed" }],
    ["a cookie", "/setup", { cookie: "leasehold_setup=guessed" }],
  ])("does not get in by guessing %s", async (_, path, headers) => {
    const seen = await setUp.browser().get(path, headers as Record<string, string>);
    expect(seen.status).toBe(401);
    expect(seen.headers.get("set-cookie")).toBeNull();
  });

  it("may see that an installation went well, which tells nothing of this server", async () => {
    const page = await setUp.browser().get("/setup/installed?installation_id=1&setup_action=install");
    expect(page.status).toBe(200);
    expect(page.text).toContain("The App is installed");
  });
});

describe("whoever runs the server", () => {
  it("comes in with the code, once, and the code does not stay in the address", async () => {
    const code = setUp.sessions.issueCode();
    const browser = setUp.browser();
    expect(location(await browser.get(`/setup?code=${code}`))).toEqual(TO_SETUP);
    expect((await browser.get("/setup")).text).toContain("Register a GitHub App");
    expect((await setUp.browser().get(`/setup?code=${code}`)).status).toBe(401);
    // The browser that used it may follow the link again.
    expect(location(await browser.get(`/setup?code=${code}`))).toEqual(TO_SETUP);
  });

  it("does not lose the code to a link checker", async () => {
    const code = setUp.sessions.issueCode();
    const head = await fetch(`${setUp.address}/setup?code=${code}`, { method: "HEAD" });
    expect(head.status).not.toBe(303);
    expect(location(await setUp.browser().get(`/setup?code=${code}`))).toEqual(TO_SETUP);
  });

  it("comes in with the admin token in the header", async () => {
    const browser = setUp.browser();
    const seen = await browser.get("/setup", { authorization: `Bearer ${ADMIN_TOKEN}` });
    expect(location(seen)).toEqual(TO_SETUP);
    expect((await browser.get("/setup")).status).toBe(200);
  });

  it("comes in with the admin token in the form, and not with another", async () => {
    const browser = setUp.browser();
    const refused = await browser.post("/setup/sign-in", { token: "not it" });
    expect(refused.status).toBe(401);
    expect(refused.text).toContain("This is not the admin token.");
    expect(refused.text).not.toContain("not it");
    expect(location(await browser.post("/setup/sign-in", { token: ` ${ADMIN_TOKEN} ` }))).toEqual(TO_SETUP);
    expect((await browser.get("/setup")).status).toBe(200);
  });
});

describe("the pages", () => {
  it("cannot be framed, kept, or made to load or send anything elsewhere", async () => {
    const browser = await setUp.admitted();
    for (const path of ["/setup", "/setup/installed", "/setup/callback"]) {
      const { headers, text } = await browser.get(path);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-frame-options")).toBe("DENY");
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("base-uri 'none'");
      expect(policy).not.toContain("unsafe");
      expect(text).not.toMatch(/<script|<img|<link| on\w+=| style=/);
    }
  });

  it("let a form go only where it is meant to", async () => {
    const browser = await setUp.admitted();
    const form = await browser.get("/setup");
    expect(form.headers.get("content-security-policy")).toContain("form-action 'self';");
    const handedOff = await browser.post("/setup/start", { publicUrl: "https://leasehold.example.com" });
    expect(handedOff.headers.get("content-security-policy")).toContain(`form-action ${setUp.github.url};`);
    const installed = await browser.get("/setup/installed");
    expect(installed.headers.get("content-security-policy")).toContain("form-action 'none';");
  });

  it.each([
    ["another site", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }],
    ["a neighbour", { origin: "https://evil.example", "sec-fetch-site": "same-site" }],
    ["another site, in an old browser", { origin: "https://evil.example" }],
    ["nobody knows where", { origin: "null" }],
  ])("take no form of %s", async (_, headers) => {
    const browser = await setUp.admitted();
    const fields = { publicUrl: "https://leasehold.example.com" };
    const seen = await browser.post("/setup/start", fields, headers as Record<string, string>);
    expect(seen.status).toBe(403);
    expect(seen.text).not.toContain("manifest");
  });

  it.each(["/setup/sign-in", "/setup/start", "/setup/save"])("lead back from %s", async (path) =>
    expect(location(await setUp.browser().get(path))).toEqual(TO_SETUP),
  );

  it("say that a form could not be read", async () => {
    const browser = await setUp.admitted();
    const seen = await browser.post("/setup/start", {}, { "content-type": "text/csv" });
    expect(seen.status).toBe(400);
    expect(seen.text).toContain("could not be read");
  });
});

it("nothing secret was logged", () => {
  expect(setUp.logged.text()).not.toContain(ADMIN_TOKEN);
  expect(setUp.logged.lines.filter(({ level }) => level >= 40)).toEqual([]);
});

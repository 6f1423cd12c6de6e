/** The flow itself: the form, GitHub's answer, the file, the connection; and everything that can go wrong. */

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { handOff, registerOnGitHub, type SetUp, startSetUp } from "./support/set-up.ts";

let setUp: SetUp;
afterEach(async () => {
  const { app } = setUp.github;
  const text = setUp.logged.text();
  for (const secret of [app.webhookSecret, app.clientSecret, "PRIVATE KEY", "manifest-code-"]) {
    expect(text).not.toContain(secret);
  }
  await setUp.stop();
});

describe("the form", () => {
  it("is filled with the address it was asked for at, and warns of a local one", async () => {
    setUp = await startSetUp({ apiUrl: "https://api.github.com" });
    const browser = await setUp.admitted();
    const page = await browser.get("/setup");
    expect(page.text).toContain(`value="${setUp.address}"`);
    expect(page.text).toContain("This address is local.");
    expect(page.text).toContain("Issues <small>read and write</small>");
  });

  it("does not warn where GitHub is on the same network", async () => {
    setUp = await startSetUp();
    expect((await (await setUp.admitted()).get("/setup")).text).not.toContain("This address is local.");
  });

  it("goes to the organisation's form on GitHub, with the manifest", async () => {
    setUp = await startSetUp({ apiUrl: "https://api.github.com" });
    const browser = await setUp.admitted();
    const page = await browser.post("/setup/start", {
      account: "organization",
      organization: " acme ",
      publicUrl: "https://leasehold.example.com/",
    });
    expect(page.status).toBe(200);
    expect(page.text).not.toContain("This address is local.");
    const { url, state, manifest } = handOff(page);
    expect(url).toBe("https://github.com/organizations/acme/settings/apps/new");
    expect(state.length).toBeGreaterThan(30);
    expect(manifest).toMatchObject({
      name: "Leasehold acme",
      url: "https://leasehold.example.com",
      public: false,
      hook_attributes: { url: "https://leasehold.example.com/api/github/webhooks" },
      redirect_url: `${setUp.address}/setup/callback`,
      default_permissions: { issues: "write", contents: "read" },
    });
  });

  it("brings the browser back to where it is, behind a proxy too", async () => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const page = await browser.post(
      "/setup/start",
      { publicUrl: "https://leasehold.example.com" },
      { origin: "https://leasehold.example.com", "sec-fetch-site": "same-origin" },
    );
    const { manifest } = handOff(page);
    expect(manifest.redirect_url).toBe("https://leasehold.example.com/setup/callback");
  });

  it("warns once more of an address that GitHub cannot reach, and of one without https", async () => {
    setUp = await startSetUp({ apiUrl: "https://ghe.example.com/api/v3" });
    const browser = await setUp.admitted();
    const start = async (publicUrl: string) => (await browser.post("/setup/start", { publicUrl })).text;
    expect(await start("http://10.0.0.7:3000")).toContain("ghe.example.com can probably not deliver");
    expect(await start("http://leasehold.example.com")).toContain("Without https");
    expect(await start("https://leasehold.example.com")).not.toContain('class="note"');
  });

  it("says beside the field what is wrong, keeps what was typed, and escapes it", async () => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const page = await browser.post("/setup/start", {
      account: "organization",
      organization: '"><script>alert(1)</script>',
      publicUrl: "javascript:'<b>'",
    });
    expect(page.status).toBe(422);
    expect(page.text).toContain("Enter the organisation&#39;s name");
    expect(page.text).toContain("This is not a web address.");
    expect(page.text).toContain("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(page.text).not.toMatch(/<script|<b>/);
    expect(page.text).not.toContain("apps/new");
  });
});

describe("the way back", () => {
  it("saves the credentials, puts them in force, and shows what to do next", async () => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const page = await browser.get(await registerOnGitHub(setUp, browser));
    expect(page.status).toBe(200);
    expect(page.text).toContain("The App is registered");
    expect(page.text).toContain(`href="https://github.com/apps/leasehold/installations/new"`);
    expect(page.text).not.toContain(setUp.github.app.webhookSecret);

    expect(await readFile(setUp.envFile, "utf8")).toContain(`APP_ID=${setUp.github.app.id}`);
    expect(setUp.connection.app).toEqual({
      appId: setUp.github.app.id,
      privateKey: setUp.github.app.privateKey,
      webhookSecrets: [setUp.github.app.webhookSecret],
    });
    expect(await setUp.connection.check()).toEqual({ status: "connected", slug: "leasehold" });
    setUp.github.assertQuiet();
  });

  it("afterwards /setup says what is configured and changes nothing", async () => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const back = await registerOnGitHub(setUp, browser);
    await browser.get(back);
    const page = await browser.get("/setup");
    expect(page.text).toContain("A GitHub App is configured");
    expect(page.text).toContain(String(setUp.github.app.id));
    expect(page.text).toContain("https://github.com/apps/leasehold/installations/new");
    expect(page.text).not.toContain("<form");
    const begun = await browser.post("/setup/start", { publicUrl: "https://leasehold.example.com" });
    expect(begun.headers.get("location")).toBe("/setup");
    // The way back, reloaded.
    expect((await browser.get(back)).headers.get("location")).toBe("/setup");
    expect(setUp.github.requestsTo("POST", /conversions/)).toHaveLength(1);
  });

  it("of two at once the second takes nothing, and says what to do with its App", async () => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const backs = [await registerOnGitHub(setUp, browser), await registerOnGitHub(setUp, browser)];
    const pages = await Promise.all(backs.map((back) => browser.get(back)));
    expect(pages.map(({ status }) => status)).toEqual([200, 409]);
    expect(pages[1]?.text).toContain("is used by nobody: delete it");
    expect(setUp.github.requestsTo("POST", /conversions/)).toHaveLength(1);
  });

  it.each([
    ["a state of nobody", "made-up"],
    ["no state", ""],
  ])("with %s takes up nothing", async (_, state) => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const page = await browser.get(`/setup/callback?code=${setUp.github.manifestCode()}&state=${state}`);
    expect(page.status).toBe(400);
    expect(page.text).toContain("Begin again");
    expect(setUp.github.requests).toEqual([]);
    expect(setUp.connection.app).toBeNull();
  });

  it("with another session's state takes up nothing", async () => {
    setUp = await startSetUp();
    const back = await registerOnGitHub(setUp, await setUp.admitted());
    expect((await (await setUp.admitted()).get(back)).status).toBe(400);
    expect(setUp.github.requests).toEqual([]);
  });

  it.each(["", "../../app", "a%2Fb"])("with the code %j asks GitHub nothing", async (code) => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const { state } = handOff(await browser.post("/setup/start", { publicUrl: "https://l.example.com" }));
    const page = await browser.get(`/setup/callback?code=${code}&state=${state}`);
    expect(page.status).toBe(400);
    expect(page.text).toContain("GitHub sent no code");
    expect(setUp.github.requests).toEqual([]);
  });

  it("with a code that GitHub does not know says to begin again", async () => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const back = await registerOnGitHub(setUp, browser);
    const page = await browser.get(back.replace(/code=[^&]+/, "code=expired"));
    expect(page.status).toBe(410);
    expect(page.text).toContain("GitHub does not know this code");
    expect(setUp.connection.app).toBeNull();
  });

  it("when GitHub is down can be gone again, with the same code", async () => {
    setUp = await startSetUp();
    const browser = await setUp.admitted();
    const back = await registerOnGitHub(setUp, browser);
    setUp.github.fault({ method: "POST", path: /conversions/, kind: "status", status: 502 });
    const failed = await browser.get(back);
    expect(failed.status).toBe(502);
    expect(failed.text).toContain("it answered with status 502");
    expect(failed.text).toContain(`href="${back.replaceAll("&", "&amp;")}"`);
    expect((await browser.get(back)).text).toContain("The App is registered");
  });

  it("when GitHub cannot be reached says why", async () => {
    setUp = await startSetUp({ apiUrl: await closedAddress() });
    const browser = await setUp.admitted();
    const page = await browser.get(await registerOnGitHub(setUp, browser));
    expect(page.status).toBe(502);
    expect(page.text).toContain("ECONNREFUSED");
  });

  it.each([
    [
      "a part missing",
      { id: 1, slug: "s", name: "S", html_url: "https://github.com/apps/s", pem: "secret pem" },
    ],
    ["a link that is none", { id: 1, slug: "s", name: "S", html_url: "javascript:alert(1)" }],
    ["no JSON", "<html>"],
  ])("with an answer that has %s says so, and repeats none of it", async (_, answer) => {
    const server = createServer((_request, response) => {
      response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(answer));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    setUp = await startSetUp({ apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const browser = await setUp.admitted();
    const page = await browser.get(await registerOnGitHub(setUp, browser));
    server.close();
    expect(page.status).toBe(502);
    expect(page.text).toContain("cannot be used");
    expect(page.text).not.toMatch(/secret pem|javascript:/);
    expect(setUp.connection.app).toBeNull();
  });
});

describe("when .env cannot be written", () => {
  it("the App is in force, and what to save is shown until it is saved", async () => {
    setUp = await startSetUp();
    await mkdir(setUp.envFile);
    const browser = await setUp.admitted();
    const page = await browser.get(await registerOnGitHub(setUp, browser));
    const { app } = setUp.github;
    for (const seen of [page, await browser.get("/setup")]) {
      expect(seen.text).toContain("Registered, but not saved");
      expect(seen.text).toContain("there is a folder of that name");
      expect(seen.text).toContain(setUp.envFile);
      expect(seen.text).toContain(`WEBHOOK_SECRET=${app.webhookSecret}`);
      expect(seen.text).toContain("-----BEGIN PRIVATE KEY-----\\n");
    }
    expect(await setUp.connection.check()).toMatchObject({ status: "connected" });
    expect((await setUp.browser().get("/setup")).text).not.toContain(app.webhookSecret);

    await browser.post("/setup/save", {});
    expect((await browser.get("/setup")).text).toContain("Registered, but not saved");
    await rm(setUp.envFile, { recursive: true });
    expect((await browser.post("/setup/save", {})).headers.get("location")).toBe("/setup");
    const after = await browser.get("/setup");
    expect(after.text).toContain("A GitHub App is configured");
    expect(after.text).not.toContain(app.webhookSecret);
    expect(await readFile(setUp.envFile, "utf8")).toContain(app.webhookSecret);
  });

  it("a file that names another App meanwhile is not overwritten", async () => {
    setUp = await startSetUp();
    await writeFile(setUp.envFile, "APP_ID=7\n");
    const browser = await setUp.admitted();
    const page = await browser.get(await registerOnGitHub(setUp, browser));
    expect(page.text).toContain("the file sets APP_ID already");
    expect(await readFile(setUp.envFile, "utf8")).toBe("APP_ID=7\n");
  });
});

it("a configured App that GitHub does not accept is told as such", async () => {
  setUp = await startSetUp();
  setUp.connection.connect({ appId: 999, privateKey: setUp.github.app.privateKey, webhookSecrets: ["x"] });
  const page = await (await setUp.admitted()).get("/setup");
  expect(page.text).toContain("GitHub does not answer for this App");
  expect(page.text).toContain("999");
});

/** An address where nothing listens. */
async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

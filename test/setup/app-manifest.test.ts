import type { Probot } from "probot";
import { describe, expect, it } from "vitest";
import { PERMISSION_WORDS } from "../../src/edges/http/setup-pages.ts";
import { registerHandlers } from "../../src/edges/webhooks/handlers.ts";
import { webBaseOf } from "../../src/github/manifest.ts";
import {
  buildManifest,
  checkPublicUrl,
  isEnterpriseServer,
  isLocalAddress,
  loadAppDefinition,
  registrationUrl,
  suggestedName,
} from "../../src/services/app-manifest.ts";
import type { Deps } from "../../src/services/deps.ts";

describe("app.yml", () => {
  it("asks to be told of exactly the events that are handled", async () => {
    const handled: string[] = [];
    const probot = { on: (event: string) => handled.push(event) };
    registerHandlers(probot as unknown as Probot, {} as Deps);
    const { default_events } = await loadAppDefinition();
    // These two come to every App unasked.
    expect([...default_events, "installation", "installation_repositories"].sort()).toEqual(handled.sort());
  });

  it("asks for no permission that the page does not explain, and writes only to issues and checks", async () => {
    const { default_permissions: permissions } = await loadAppDefinition();
    expect(Object.keys(PERMISSION_WORDS).sort()).toEqual(Object.keys(permissions).sort());
    expect(Object.entries(permissions).filter(([, level]) => level === "write")).toEqual([
      ["issues", "write"],
      ["checks", "write"],
    ]);
  });

  it("is refused with what it may not hold", async () => {
    await expect(loadAppDefinition(import.meta.filename)).rejects.toThrow();
  });
});

it("the manifest has the addresses of this deployment", async () => {
  const definition = await loadAppDefinition();
  const manifest = buildManifest(definition, {
    name: "Leasehold acme",
    publicUrl: "https://leasehold.example.com",
    browserUrl: "http://127.0.0.1:3000",
    enterpriseServer: false,
  });
  expect(manifest).toEqual({
    name: "Leasehold acme",
    description: definition.description,
    url: "https://leasehold.example.com",
    public: false,
    hook_attributes: { url: "https://leasehold.example.com/api/github/webhooks", active: true },
    redirect_url: "http://127.0.0.1:3000/setup/callback",
    setup_url: "https://leasehold.example.com/setup/installed",
    default_permissions: definition.default_permissions,
    default_events: definition.default_events,
  });
});

it("row 77: a manifest for Enterprise Server names no event that it does not know", async () => {
  const definition = await loadAppDefinition();
  const addresses = {
    name: "Leasehold",
    publicUrl: "https://l.example.com",
    browserUrl: "https://l.example.com",
  };
  const manifest = buildManifest(definition, { ...addresses, enterpriseServer: true });
  const missing = definition.default_events.filter((event) => !manifest.default_events.includes(event));
  expect(missing.sort()).toEqual(["issue_dependencies", "sub_issues"]);
  expect(
    ["https://github.com", "https://octocorp.ghe.com", "https://ghe.example.com"].map(isEnterpriseServer),
  ).toEqual([false, false, true]);
});

it("a suggested name is never longer than GitHub allows", () => {
  expect(suggestedName("Leasehold", "acme")).toBe("Leasehold acme");
  expect(suggestedName("Leasehold", "a".repeat(39))).toHaveLength(34);
});

describe("where GitHub's own pages are", () => {
  it.each([
    ["https://api.github.com", "https://github.com"],
    ["https://ghe.example.com/api/v3", "https://ghe.example.com"],
    ["https://api.octocorp.ghe.com", "https://octocorp.ghe.com"],
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
  ])("%s belongs to %s", (api, web) => expect(webBaseOf(api)).toBe(web));

  it("the form goes to the account that is to own the App", () => {
    expect(registrationUrl("https://github.com", null, "a b")).toBe(
      "https://github.com/settings/apps/new?state=a%20b",
    );
    expect(registrationUrl("https://github.com", "acme", "s")).toBe(
      "https://github.com/organizations/acme/settings/apps/new?state=s",
    );
  });
});

describe("the public address", () => {
  it.each([
    ["https://leasehold.example.com", "https://leasehold.example.com"],
    [" HTTPS://Leasehold.Example.com:8443/ ", "https://leasehold.example.com:8443"],
    ["https://example.com/leasehold/", "https://example.com/leasehold"],
    ["http://10.0.0.7:3000", "http://10.0.0.7:3000"],
  ])("%s is taken as %s", (given, url) => expect(checkPublicUrl(given)).toEqual({ url }));

  it.each([
    ["", /Enter the address/],
    ["leasehold.example.com", /not a web address/],
    ["ftp://example.com", /not a web address/],
    ["javascript:alert(1)", /not a web address/],
    ["https://", /not a web address/],
    ["https://me:secret@example.com", /user name/],
    ["https://example.com/?a=b", /Leave out what follows/],
    ["https://example.com/#x", /Leave out what follows/],
  ])("%s is refused", (given, problem) =>
    expect(checkPublicUrl(given)).toEqual({ problem: expect.stringMatching(problem) }),
  );

  it.each([
    ["http://localhost:3000", true],
    ["http://leasehold.localhost", true],
    ["http://leasehold:3000", true],
    ["http://box.local", true],
    ["http://localhost.:3000", true],
    ["http://127.0.0.1:3000", true],
    ["http://2130706433", true],
    ["http://0.0.0.0:3000", true],
    ["http://10.1.2.3", true],
    ["http://172.31.0.1", true],
    ["http://172.32.0.1", false],
    ["http://192.168.1.1", true],
    ["http://100.64.0.1", true],
    ["http://[::1]:3000", true],
    ["http://[::ffff:192.168.0.1]", true],
    ["http://[fd00::1]", true],
    ["http://[2001:db8::1]", false],
    ["https://leasehold.example.com", false],
    ["http://203.0.113.7", false],
  ])("%s is local: %s", (url, local) => expect(isLocalAddress(url)).toBe(local));
});

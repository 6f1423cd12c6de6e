/** The server's environment: where GitHub is, where keys are kept, how fast is written. */

import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigError, parseConfig } from "../../src/config.ts";

const pem = (): string =>
  generateKeyPairSync("rsa", { modulusLength: 1024 })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString()
    .trim();
const FIRST = pem();
const SECOND = pem();

function parse(env: Record<string, string>, files: Record<string, string> = {}) {
  return parseConfig(env, {
    envFile: "/app/.env",
    isTerminal: false,
    readFile: (path) => {
      const text = files[path];
      if (text === undefined) throw new Error(`ENOENT: ${path}`);
      return text;
    },
  });
}

function complaints(env: Record<string, string>): readonly string[] {
  try {
    parse(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("row 77: GitHub Enterprise Server", () => {
  it.each([
    [{}, "https://api.github.com"],
    [{ GHE_HOST: "github.example.com" }, "https://github.example.com/api/v3"],
    [{ GHE_HOST: "127.0.0.1:8080", GHE_PROTOCOL: "http" }, "http://127.0.0.1:8080/api/v3"],
    [{ GITHUB_API_URL: "https://github.example.com/api/v3/" }, "https://github.example.com/api/v3"],
    [
      { GHE_HOST: "github.example.com", GITHUB_API_URL: "https://github.example.com/api/v3" },
      "https://github.example.com/api/v3",
    ],
  ])("%j", (env, url) => expect(parse(env).githubApiUrl).toBe(url));

  it.each([
    [{ GHE_HOST: "https://github.example.com" }, /GHE_HOST is .*a host name is needed/],
    [{ GHE_HOST: "github.example.com/api" }, /GHE_HOST is .*a host name is needed/],
    [{ GHE_HOST: "a b" }, /GHE_HOST is .*a host name is needed/],
    [{ GHE_HOST: "github.example.com", GHE_PROTOCOL: "ftp" }, /GHE_PROTOCOL is "ftp": https or http/],
    [
      { GHE_HOST: "github.example.com", GITHUB_API_URL: "https://api.github.com" },
      /GHE_HOST means https:\/\/github.example.com\/api\/v3, but GITHUB_API_URL is/,
    ],
  ])("%j is complained of", (env, wanted) => {
    const found = complaints(env);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(wanted);
  });
});

describe("the pace of writes", () => {
  it("is GitHub's unless told otherwise", () => {
    expect(parse({}).writePace).toEqual({
      spacingSeconds: 1,
      windows: [
        { writes: 75, seconds: 60 },
        { writes: 480, seconds: 3600 },
      ],
    });
  });

  it("may be set, and switched off for a server without limits", () => {
    const off = {
      LEASEHOLD_WRITE_SPACING_MS: "0",
      LEASEHOLD_WRITES_PER_MINUTE: "0",
      LEASEHOLD_WRITES_PER_HOUR: "0",
    };
    expect(parse(off).writePace).toEqual({ spacingSeconds: 0, windows: [] });
    expect(parse({ ...off, LEASEHOLD_WRITES_PER_HOUR: "9" }).writePace?.windows).toEqual([
      { writes: 9, seconds: 3600 },
    ]);
    expect(complaints({ LEASEHOLD_WRITES_PER_MINUTE: "-1" })).toHaveLength(1);
  });
});

describe("row 76: the private key", () => {
  const app = { APP_ID: "7", WEBHOOK_SECRET: "s" };

  it("of a file is read anew, several of them too", () => {
    const files: Record<string, string> = { "/key.pem": FIRST };
    const config = parse({ ...app, PRIVATE_KEY_PATH: "/key.pem" }, files);
    expect(config.app?.privateKey).toBe(FIRST);
    files["/key.pem"] = `${SECOND}\n${FIRST}`;
    expect(config.readPrivateKeys?.()).toEqual([SECOND, FIRST]);
    delete files["/key.pem"];
    expect(() => config.readPrivateKeys?.()).toThrow(/ENOENT/);
  });

  it("of the .env file is read anew, in each form that it may have there", () => {
    const folded = (text: string) => text.trim().replaceAll("\n", "\\n");
    const files: Record<string, string> = { "/app/.env": `PRIVATE_KEY=${folded(FIRST)}\n` };
    const config = parse({ ...app, PRIVATE_KEY: folded(FIRST) }, files);
    expect(config.app?.privateKey).toBe(FIRST);
    files["/app/.env"] = `PRIVATE_KEY=${Buffer.from(SECOND).toString("base64")}\n`;
    expect(config.readPrivateKeys?.()).toEqual([SECOND]);
    files["/app/.env"] = "# taken out\n";
    expect(config.readPrivateKeys?.()).toEqual([FIRST]);
  });

  it("that came with the environment stays, whatever is in the .env file", () => {
    const files = { "/app/.env": `PRIVATE_KEY="${SECOND}"\n` };
    const config = parse({ ...app, PRIVATE_KEY: FIRST }, files);
    expect(config.readPrivateKeys?.()).toEqual([FIRST]);
  });

  it("is found where /setup wrote it, though none was set", () => {
    const files: Record<string, string> = {};
    const config = parse({}, files);
    expect(config.readPrivateKeys?.()).toEqual([]);
    files["/app/.env"] = `PRIVATE_KEY="${FIRST}"\n`;
    expect(config.readPrivateKeys?.()).toEqual([FIRST]);
  });

  it("that is none is complained of", () => {
    expect(complaints({ ...app, PRIVATE_KEY: "secret" })[0]).toMatch(/PRIVATE_KEY holds no PEM key/);
    expect(complaints({ ...app, PRIVATE_KEY: "-----BEGIN RSA PRIVATE KEY-----" })[0]).toMatch(/no PEM key/);
  });
});

describe("row 11: the webhook's secrets", () => {
  it("are the current one, then the one before", () => {
    const app = { APP_ID: "7", PRIVATE_KEY: FIRST, WEBHOOK_SECRET: "new" };
    expect(parse(app).app?.webhookSecrets).toEqual(["new"]);
    expect(parse({ ...app, WEBHOOK_SECRET_PREVIOUS: "old" }).app?.webhookSecrets).toEqual(["new", "old"]);
  });

  it("of the .env file are read anew; those that came with the environment stay", () => {
    const app = { APP_ID: "7", PRIVATE_KEY: FIRST, WEBHOOK_SECRET: "old" };
    const files: Record<string, string> = { "/app/.env": "WEBHOOK_SECRET=old\n" };
    const ofFile = parse(app, files);
    const ofEnvironment = parse({ ...app, WEBHOOK_SECRET: "another" }, files);
    expect(ofFile.readWebhookSecrets?.()).toEqual(["old"]);
    files["/app/.env"] = "WEBHOOK_SECRET=new\nWEBHOOK_SECRET_PREVIOUS=old\n";
    expect(ofFile.readWebhookSecrets?.()).toEqual(["new", "old"]);
    expect(ofEnvironment.readWebhookSecrets?.()).toEqual([]);
    delete files["/app/.env"];
    expect(ofFile.readWebhookSecrets?.()).toEqual([]);
  });
});

import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config.ts";
import type { NewApp } from "../../src/github/manifest.ts";
import { EnvFileError, envContent, writeEnvFile } from "../../src/services/env-file.ts";

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  // As GitHub sends it.
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});
const APP: NewApp = {
  appId: 424_242,
  slug: "leasehold-acme",
  name: "Leasehold acme",
  htmlUrl: "https://github.com/apps/leasehold-acme",
  privateKey,
  webhookSecret: "0f1e2d3c4b5a69788796a5b4c3d2e1f001234567",
};

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasehold-env-"));
  path = join(folder, ".env");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** What the file says, as node reads it. */
const readBack = async () => parseEnv(await readFile(path, "utf8")) as Record<string, string>;
const configOf = (env: Record<string, string>) =>
  parseConfig(env, { envFile: path, isTerminal: false, readFile: () => "" });

describe("writeEnvFile", () => {
  it("writes what the next start reads back", async () => {
    await writeEnvFile(path, APP);
    const script = `process.loadEnvFile(${JSON.stringify(path)}); console.log(JSON.stringify(process.env))`;
    const env = execFileSync(process.execPath, ["-e", script], { env: {}, encoding: "utf8" });
    const { app } = configOf(JSON.parse(env) as Record<string, string>);
    expect(app).toEqual({
      appId: APP.appId,
      privateKey: privateKey.trim(),
      webhookSecrets: [APP.webhookSecret],
    });
    expect(createPrivateKey(app?.privateKey ?? "").asymmetricKeyType).toBe("rsa");
  });

  it("keeps the key on one line, whatever ends GitHub's lines", async () => {
    await writeEnvFile(path, { ...APP, privateKey: privateKey.replaceAll("\n", "\r\n") });
    const lines = (await readFile(path, "utf8")).split("\n");
    expect(lines.filter((line) => line.includes("PRIVATE_KEY"))).toHaveLength(1);
    expect(configOf(await readBack()).app?.privateKey).toBe(privateKey.trim());
  });

  it.each(["plain", "with # and 'single'", 'with "double" and # ', "a=b;c$d\\n"])(
    "a webhook secret such as %s comes back as it was",
    async (webhookSecret) => {
      await writeEnvFile(path, { ...APP, webhookSecret: webhookSecret.trim() });
      expect(configOf(await readBack()).app?.webhookSecrets).toEqual([webhookSecret.trim()]);
    },
  );

  it("keeps every other line, and fills in ours where they were left empty", async () => {
    const before = [
      "# my settings",
      "PORT=4000",
      "APP_ID=",
      "export PRIVATE_KEY=''",
      "WEBHOOK_SECRET=   # from GitHub",
      "# APP_ID=1 is a comment",
      'MOTTO="two\nlines"',
      "LEASEHOLD_REGION=eu",
    ];
    await writeFile(path, before.join("\n"));
    await writeEnvFile(path, APP);
    const after = await readFile(path, "utf8");
    expect(after).toMatch(
      /^# my settings\nPORT=4000\n# APP_ID=1 is a comment\nMOTTO="two\nlines"\nLEASEHOLD_REGION=eu\n\n/,
    );
    expect(await readBack()).toMatchObject({ PORT: "4000", MOTTO: "two\nlines", APP_ID: "424242" });
    expect(configOf(await readBack())).toMatchObject({ port: 4000, region: "eu", app: { appId: 424_242 } });
  });

  it("lets only the owner read it, though it was open before, and leaves no draft", async () => {
    await writeFile(path, "PORT=4000\n");
    await chmod(path, 0o644);
    await writeEnvFile(path, APP);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual([".env"]);
  });

  it("doing it again changes nothing", async () => {
    await writeEnvFile(path, APP);
    const once = await readFile(path, "utf8");
    await writeEnvFile(path, APP);
    expect(await readFile(path, "utf8")).toBe(once);
  });

  it("replaces the file that a link leads to, and not the link", async () => {
    const real = join(folder, "real.env");
    await writeFile(real, "PORT=4000\n");
    await symlink(real, path);
    await writeEnvFile(path, APP);
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect(await readFile(real, "utf8")).toContain("APP_ID=424242");
  });

  it("never overwrites another App", async () => {
    await writeFile(path, "APP_ID=7\nWEBHOOK_SECRET=theirs\n");
    await expect(writeEnvFile(path, APP)).rejects.toThrow(/sets APP_ID, WEBHOOK_SECRET already/);
    expect(await readFile(path, "utf8")).toBe("APP_ID=7\nWEBHOOK_SECRET=theirs\n");
  });

  it("says why it could not", async () => {
    await expect(writeEnvFile(join(folder, "none", ".env"), APP)).rejects.toThrow(
      "its folder does not exist",
    );
    await mkdir(path);
    await expect(writeEnvFile(path, APP)).rejects.toThrow(new EnvFileError("there is a folder of that name"));
    expect(await readdir(folder)).toEqual([".env"]);
  });
});

describe("envContent", () => {
  it.each([
    ["a line of ours inside another value", 'NOTES="first\nAPP_ID=\nlast"\n', APP],
    ["a quote left open", "NOTES='open\n", { ...APP, webhookSecret: 'a"b' }],
  ])("rather refuses than changes the meaning of %s", (_, before, app) =>
    expect(() => envContent(before, app)).toThrow(/NOTES would read differently/),
  );

  it("leaves a quote left open as it is, where it does no harm", () =>
    expect(envContent("NOTES='open\n", APP)).toMatch(/^NOTES='open\n\n#/));
});

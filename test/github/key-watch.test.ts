/** Row 76: the App's private key is replaced while the program runs. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GitHubConnection } from "../../src/github/connection.ts";
import type { Wake } from "../../src/services/deps.ts";
import { KeyWatch } from "../../src/services/key-watch.ts";
import { FakeGitHub } from "../fake-github/fake-github.ts";
import { ERROR, type RecordedLog, recordedLog, WARN } from "../harness/recorded-log.ts";

let github: FakeGitHub;
let logged: RecordedLog;
let connection: GitHubConnection;
let kept: string[];
let woken: number;
let watch: KeyWatch;

beforeEach(async () => {
  github = await FakeGitHub.start();
  logged = recordedLog();
  connection = new GitHubConnection({ baseUrl: github.url, log: logged.log });
  kept = [github.app.privateKey];
  woken = 0;
  const wake: Wake = {
    inbox: () => {
      woken += 1;
    },
    outbox: () => {},
    checks: () => {},
    pulls: () => {},
    anchors: () => {},
    backfill: () => {},
  };
  watch = new KeyWatch({ github: connection, log: logged.log, wake }, () => kept);
  connection.superviseWith({
    inTurn: (_, write) => write(),
    refused: async () => {},
    keyRefused: (message) => watch.refused(message),
  });
  connection.connect({ appId: github.app.id, privateKey: github.app.privateKey, webhookSecrets: ["s"] });
});
afterEach(() => github.stop());

const appRequests = () => github.requestsTo("GET", "/app").length;
const told = (level: number) => logged.lines.filter((line) => line.level === level).map(({ msg }) => msg);

describe("the private key", () => {
  it("that is kept as it was costs no request", async () => {
    kept = [`${github.app.privateKey}\n`];
    await watch.look();
    expect(appRequests()).toBe(0);
  });

  it("that is replaced while the old one holds is taken up, and the old one may go", async () => {
    const next = github.rotatePrivateKey({ keepOld: true });
    kept = [next, connection.app?.privateKey ?? ""];
    await watch.look();
    expect(connection.app?.privateKey).toBe(next);
    expect(appRequests()).toBe(1);
    github.app.publicKeys.shift();
    expect(await connection.check()).toMatchObject({ status: "connected" });
    expect(told(ERROR)).toEqual([]);
  });

  it("that is replaced by one that GitHub does not take stays in force; it is told once", async () => {
    const before = connection.app?.privateKey;
    const other = await FakeGitHub.start();
    kept = [other.rotatePrivateKey()];
    await other.stop();
    github.unexpected.length = 0;
    await watch.look();
    await watch.look();
    expect(connection.app?.privateKey).toBe(before);
    expect(told(WARN)).toEqual([expect.stringMatching(/the one before stays in force/)]);
  });

  it("that is replaced while GitHub is away is taken up later", async () => {
    const next = github.rotatePrivateKey({ keepOld: true });
    kept = [next];
    github.fault({ path: "/app", kind: "status", status: 502 });
    await watch.look();
    expect(connection.app?.privateKey).not.toBe(next);
    await watch.look();
    expect(connection.app?.privateKey).toBe(next);
  });

  it("that was revoked gives way to the other that is kept, at once", async () => {
    const before = connection.app?.privateKey ?? "";
    const next = github.rotatePrivateKey();
    kept = [before, next];
    expect(await connection.check()).toMatchObject({ status: "unreachable" });
    await expect.poll(() => connection.app?.privateKey).toBe(next);
    expect(connection.isUsable).toBe(true);
    expect(woken).toBe(1);
  });

  it("that was revoked, with no other: told once, and looked for until there is one", async () => {
    const next = github.rotatePrivateKey();
    await connection.check();
    for (let time = 0; time < 3; time += 1) await watch.look();
    expect(told(ERROR)).toEqual([expect.stringMatching(/GitHub refuses the App's private key/)]);
    expect(connection.isUsable).toBe(false);
    kept = [next];
    await watch.look();
    expect(connection.isUsable).toBe(true);
    expect(connection.keyRefusal).toBe(null);
  });

  it("that GitHub refused by mistake is taken up again", async () => {
    const message = "A JSON web token could not be decoded";
    github.fault({ path: "/app", kind: "status", status: 401, times: 2, body: { message } });
    await connection.check();
    expect(connection.isUsable).toBe(false);
    await watch.look();
    await watch.look();
    expect(connection.isUsable).toBe(true);
  });

  it("whose file cannot be read stays in force; it is told once", async () => {
    watch = new KeyWatch({ github: connection, log: logged.log, wake: {} as Wake }, () => {
      throw new Error("ENOENT: /run/secrets/key.pem");
    });
    await watch.look();
    await watch.look();
    expect(told(WARN)).toEqual([expect.stringMatching(/cannot be read/)]);
    expect(connection.isUsable).toBe(true);
  });
});

describe("row 11: the webhook secrets", () => {
  const secrets = () => connection.app?.webhookSecrets;
  let keptSecrets: string[];
  beforeEach(() => {
    keptSecrets = ["s"];
    const wake = {} as Wake;
    watch = new KeyWatch(
      { github: connection, log: logged.log, wake },
      () => [],
      () => keptSecrets,
    );
  });

  it("that are replaced are taken up, both while one replaces the other, without asking GitHub", async () => {
    keptSecrets = ["new", "s"];
    await watch.look();
    expect(secrets()).toEqual(["new", "s"]);
    keptSecrets = ["new"];
    await watch.look();
    expect(secrets()).toEqual(["new"]);
    expect(appRequests()).toBe(0);
    expect(JSON.stringify(logged.lines)).not.toContain('"new"');
  });

  it("stay where none are kept", async () => {
    keptSecrets = [];
    await watch.look();
    expect(secrets()).toEqual(["s"]);
  });

  it("leave the refusal of the key as it is", async () => {
    github.rotatePrivateKey();
    await expect((await connection.appClient()).request("GET /app")).rejects.toThrow();
    expect(connection.keyRefusal).not.toBe(null);
    keptSecrets = ["new"];
    // The look that the refusal brought about may have begun before.
    await watch.look();
    await watch.look();
    expect(secrets()).toEqual(["new"]);
    expect(connection.keyRefusal).not.toBe(null);
  });
});

/** The commands: found by their words, wrong calls explained, the server's refusals said as they are. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseCliConfig } from "../../src/config.ts";
import { CliError } from "../../src/edges/cli/api.ts";
import { runCli } from "../../src/edges/cli/run.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterAll(() => world.end());

async function run(words: string, token = ADMIN_TOKEN, url = world.app.address) {
  const said = { out: "", err: "" };
  const code = await runCli(words.split(" ").filter(Boolean), () => ({ url, token }), {
    out: (line) => {
      said.out += `${line}\n`;
    },
    err: (line) => {
      said.err += `${line}\n`;
    },
  });
  return { code, ...said };
}

describe("leasehold", () => {
  it("alone, or with help, lists the commands", async () => {
    const alone = await run("");
    expect(alone).toMatchObject({ code: 0, err: "" });
    expect(alone.out).toContain("leasehold health");
    expect(await run("--help")).toEqual(alone);
  });

  it("an unknown command is named", async () => {
    expect(await run("toekn create")).toEqual({
      code: 2,
      out: "",
      err: 'leasehold knows no command "toekn create"; leasehold help lists them\n',
    });
  });

  it("--help of a command shows its usage, without asking the server", async () => {
    expect(await run("health --help", "wrong", "http://127.0.0.1:1")).toMatchObject({ code: 0, err: "" });
  });

  it("health answers what the server says", async () => {
    const { code, out } = await run("health");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: "ok" });
  });

  it("a wrong call shows the usage", async () => {
    expect(await run("health now")).toMatchObject({
      code: 2,
      err: expect.stringContaining("usage: leasehold health"),
    });
  });

  it("a refusal is said in the server's words", async () => {
    const { code, err } = await run("health", "not-the-token");
    expect(code).toBe(1);
    expect(err).toMatch(/^unauthenticated: this token is not valid here/);
  });

  it("where no server is, it says what to do", async () => {
    const { code, err } = await run("health", ADMIN_TOKEN, "http://127.0.0.1:1");
    expect(code).toBe(1);
    expect(err).toMatch(/no server answers at http:\/\/127\.0\.0\.1:1 .*LEASEHOLD_URL/);
  });

  it("a token that cannot be found is a line, not a stack", async () => {
    let err = "";
    const code = await runCli(
      ["health"],
      () => {
        throw new CliError("no token");
      },
      {
        out: () => {},
        err: (line) => {
          err += line;
        },
      },
    );
    expect({ code, err }).toEqual({ code: 1, err: "no token" });
  });
});

describe("the command's configuration", () => {
  const none = (): string => {
    throw new Error("ENOENT");
  };
  it.each([
    [
      { LEASEHOLD_TOKEN: "t", LEASEHOLD_ADMIN_TOKEN: "a" },
      { url: "http://127.0.0.1:3000", token: "t" },
    ],
    [
      { LEASEHOLD_ADMIN_TOKEN: "a", PORT: "81" },
      { url: "http://127.0.0.1:81", token: "a" },
    ],
    [
      { LEASEHOLD_TOKEN: "t", LEASEHOLD_URL: "https://l.example/" },
      { url: "https://l.example", token: "t" },
    ],
  ])("%j", (env, wanted) => {
    expect(parseCliConfig(env, none)).toEqual(wanted);
  });

  it("without a token in the environment: the file beside the data", () => {
    const files: Record<string, string> = { "/data/admin-token": "lh_kept\n" };
    expect(parseCliConfig({ DATA_DIR: "/data" }, (path) => files[path] ?? none()).token).toBe("lh_kept");
  });

  it("no token at all, or an address that is none, is complained of", () => {
    expect(() => parseCliConfig({}, none)).toThrow(/LEASEHOLD_TOKEN is not set/);
    expect(() => parseCliConfig({ LEASEHOLD_URL: "here" }, none)).toThrow(/LEASEHOLD_URL is not a URL/);
  });
});

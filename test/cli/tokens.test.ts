/** `leasehold token …` against a running server. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../../src/edges/cli/run.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ unconfigured: true });
  await world.api.repo("PUT", "/memory/notes/one", { body: { title: "so that the repository is known" } });
});
afterAll(() => world.end());

async function run(...words: string[]) {
  const said = { out: "", err: "" };
  const code = await runCli(words, () => ({ url: world.app.address, token: ADMIN_TOKEN }), {
    out: (line) => {
      said.out += `${line}\n`;
    },
    err: (line) => {
      said.err += `${line}\n`;
    },
  });
  return { code, ...said };
}

it("a token is made, works, is listed without its secret, and is revoked", async () => {
  const made = await run(
    "token",
    "create",
    "m1",
    "--can",
    "read,claim",
    "--repo",
    "acme/widgets",
    "--days",
    "30",
  );
  expect(made).toMatchObject({ code: 0, err: "" });
  const token = made.out.trim();
  expect(token).toMatch(/^lh_[\w-]{43}$/);
  const asked = () => world.api.send("GET", "/api/v1/repos", { token });
  expect((await asked()).body.repos).toHaveLength(1);
  const { out } = await run("token", "list");
  expect(out).toMatch(/m1 {2}read,claim\n.*acme\/widgets; used .*expires/);
  expect(out).not.toContain(token);
  const id = out.split(" ")[0] ?? "";
  expect(await run("token", "revoke", id)).toMatchObject({ code: 0, out: `revoked ${id} (m1)\n` });
  expect((await asked()).status).toBe(401);
  expect((await run("token", "list")).out).not.toContain(id);
  expect((await run("token", "list", "--revoked")).out).toContain("revoked 20");
});

it.each([
  [["token", "create"], 2, /takes one name/],
  [["token", "create", "x"], 2, /--can/],
  [["token", "create", "x", "--can", "read", "--days", "soon"], 2, /whole number of days/],
  [["token", "create", "x", "--can", "root"], 1, /capabilities\.0/],
  [
    ["token", "create", "x", "--can", "read", "--repo", "acme/nowhere"],
    1,
    /repos\.0: acme\/nowhere is not known/,
  ],
  [["token", "revoke"], 2, /takes one id/],
  [["token", "revoke", "7"], 1, /id: the id of a token/],
])("%j is refused in words", async (words, code, text) => {
  const said = await run(...words);
  expect(said.code).toBe(code);
  expect(said.err).toMatch(text);
});

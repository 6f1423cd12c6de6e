/**
 * A client that is generated from the document, by somebody else's generator, and a worker that is written with it: it
 * passes the type checker, and talks to the running server.
 */

import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ADMIN_TOKEN, World } from "../harness/world.ts";

const run = promisify(execFile);
const BIN = resolve(import.meta.dirname, "../../node_modules/.bin");

let world: World;
let folder: string;
let item: number;

beforeAll(async () => {
  world = await World.start();
  const repo = await world.repository();
  item = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  await world.settled();
  folder = await mkdtemp(join(tmpdir(), "leasehold-client-"));
  await symlink(resolve(BIN, ".."), join(folder, "node_modules"));
  const document = await world.api.send("GET", "/openapi.json", { token: null });
  await writeFile(join(folder, "openapi.json"), JSON.stringify(document.body));
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  await writeFile(join(folder, "worker.ts"), WORKER);
  const options = ["--argumentStyle=object", "--futureStripLegacyMethods"];
  await run(join(BIN, "oazapfts"), ["openapi.json", "client.ts", ...options], { cwd: folder });
}, 120_000);
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await world.end();
});

/** A worker's round, as its author would write it. */
const WORKER = `
import * as api from "./client.ts";

const [address = "", token = "", number = ""] = process.argv.slice(2);
api.defaults.baseUrl = address;
api.defaults.headers = { authorization: "Bearer " + token };
const at = { owner: "acme", repo: "widgets" };
const item = { ...at, $number: number };

const before = await api.readyItems({ ...at, limit: 5 });
if (before.status !== 200) throw new Error(before.data.detail);
const claim = await api.takeClaim({ ...item, claimRequestInput: { owner: "worker/7f3a", leaseSeconds: 900 } });
if (claim.status !== 200 || !("fencingToken" in claim.data)) throw new Error("the claim was refused");
const fencingToken = String(claim.data.fencingToken);
const record = { ...at, topic: "gotchas", id: "rattling" };
const noted = await api.rememberRecord({ ...record, rememberRequestInput: { title: "It rattles when cold", kind: "Gotcha", tags: ["area:axle"], links: { informs: ["mem/backlog/issue-" + number] } } });
const found = await api.searchMemory({ ...at, q: "cold rattle" });
const near = await api.listNeighbors({ ...at, key: "mem/backlog/issue-" + number, depth: 2 });
const resumed = await api.updateItem({ ...item, fencingToken, itemPatchInput: { resume: { resumeNote: "half done" } } });
const refused = await api.updateItem({ ...item, itemPatchInput: { resume: { resumeNote: "without a token" } } });
const released = await api.releaseClaim({ ...item, releaseRequestInput: { fencingToken: claim.data.fencingToken } });
console.log(JSON.stringify({
  verdict: before.data.verdict,
  noted: noted.status,
  found: found.status === 200 ? found.data.results.map(({ id }) => id) : found.data.detail,
  near: near.status === 200 ? near.data.nodes.map(({ key }) => key) : near.data.detail,
  note: resumed.status === 200 ? resumed.data.resume?.resumeNote : resumed.data.detail,
  refused: refused.status === 409 ? refused.data.code : refused.status,
  released: released.status === 200 && released.data.released,
}));
`;

it("passes the type checker, with the worker", async () => {
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2024"];
  const types = ["--types", "node", "--allowImportingTsExtensions"];
  const checked = await run(join(BIN, "tsc"), [...options, ...types, "worker.ts"], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  );
  expect(checked.stdout).toBe("");
}, 120_000);

it("claims, remembers, searches and releases on the running server", async () => {
  const { stdout } = await run(process.execPath, [
    join(folder, "worker.ts"),
    world.app.address,
    ADMIN_TOKEN,
    String(item),
  ]);
  expect(JSON.parse(stdout)).toEqual({
    verdict: "ready",
    noted: 201,
    found: ["rattling"],
    near: [`repo/acme/widgets/mem/backlog/issue-${item}`, "repo/acme/widgets/mem/gotchas/rattling"],
    note: "half done",
    refused: "claim_required",
    released: true,
  });
}, 60_000);

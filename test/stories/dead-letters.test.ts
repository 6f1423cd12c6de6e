/** What was given up is seen by the operator and tried anew, without doubling a comment. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../../src/edges/cli/run.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { ADMIN_TOKEN, type World } from "../harness/world.ts";
import { expectProblem } from "../http/support/expect-problem.ts";
import { claimMarkers, granted, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;
beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  world.expectError(/refuses what was promised|is not of the form GitHub documents/);
  repo = await world.repository();
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

const failed = async (query = "") =>
  (await world.api.send("GET", `/api/v1/outbox?state=failed${query}`)).body;

/** A claim whose marker GitHub refuses; answers the item's number. */
async function refusedMarker(kind: "status" | "effect-then-status"): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
  await world.settled();
  stories.later();
  const path = `/repos/${repo.fullName}/issues/${number}/comments`;
  world.github.fault({ method: "POST", path, kind, status: 422, body: { message: "Validation Failed" } });
  // Its webhook would settle the promise by itself.
  world.github.hold();
  await granted(world.api, number, "worker/a");
  await expect.poll(async () => (await failed()).entries.length).toBe(1);
  world.github.drop();
  world.github.release();
  return number;
}

it("a write that GitHub refused is listed with the reason, and written when it is tried anew", async () => {
  const number = await refusedMarker("status");
  const { entries, nextCursor } = await failed(`&repo=${repo.fullName}`);
  expect(entries).toEqual([
    expect.objectContaining({
      repo: "acme/widgets",
      issue: number,
      kind: "claim_marker",
      state: "failed",
      attempts: 1,
      error: expect.stringContaining("422 Validation Failed"),
    }),
  ]);
  expect(nextCursor).toBe(null);
  expect((await world.api.send("GET", "/health")).body.problems).toEqual([
    expect.stringMatching(/leasehold outbox list/),
  ]);
  const [{ repositoryId, id }] = entries;
  const answer = await world.api.send("POST", `/api/v1/outbox/${repositoryId}/${id}/retry`);
  expect(answer).toMatchObject({ status: 200, body: { id, state: "pending" } });
  await world.settled();
  expect(claimMarkers(repo, number)).toHaveLength(1);
  expect(await failed()).toMatchObject({ entries: [] });
  expectProblem(await world.api.send("POST", `/api/v1/outbox/${repositoryId}/${id}/retry`), {
    status: 409,
    code: "conflict",
  });
});

it("row 70: a comment that was written although GitHub refused it is not written again by the retry", async () => {
  const number = await refusedMarker("effect-then-status");
  const [{ repositoryId, id }] = (await failed()).entries;
  const key = `${repositoryId}/${id}`;
  expect((await run("outbox", "list")).out).toMatch(
    new RegExp(`^${key}  acme/widgets  claim:\\d+ \\(#${number}\\)`),
  );
  expect(await run("outbox", "retry", key)).toEqual({ code: 0, out: `${key} is tried again\n`, err: "" });
  await world.settled();
  expect(claimMarkers(repo, number)).toHaveLength(1);
  expect(world.github.requestsTo("POST", `/repos/${repo.fullName}/issues/${number}/comments`)).toHaveLength(
    1,
  );
  expect((await run("outbox", "list")).out).toBe("nothing was given up\n");
});

it("all of a repository's are tried anew with one command; what waits is shown too", async () => {
  const number = await refusedMarker("status");
  world.github.archive(repo);
  await world.settled();
  const all = await run("outbox", "retry", "--all", "--repo", "acme/widgets");
  expect(all).toMatchObject({ code: 0, out: expect.stringMatching(/is tried again/) });
  expect((await run("outbox", "list", "--pending")).out).toMatch(/claim:\d+ .*next try/);
  // It waits for people, and so nothing is wrong.
  await stories.pass(900);
  expect((await world.api.send("GET", "/health")).body).toMatchObject({
    status: "ok",
    outbox: { pending: 1, held: 1, failed: 0, oldestSeconds: null },
  });
  world.github.unarchive(repo);
  await world.settled();
  expect(claimMarkers(repo, number)).toHaveLength(1);
});

it("a delivery that failed is listed and worked off anew", { timeout: 90_000 }, async () => {
  const delivery = {
    event: "issues",
    guid: "malformed",
    payload: { action: "opened", issue: { number: "one" } },
  };
  await world.github.deliver(delivery);
  await expect.poll(async () => (await run("inbox", "list")).out).toMatch(/issues\S* malformed/);
  const [entry] = (await world.api.send("GET", "/api/v1/inbox")).body.entries;
  expect(entry).toMatchObject({ deliveryId: "malformed", state: "failed", attempts: 1 });
  expect(await run("inbox", "retry", "--all")).toMatchObject({ code: 0 });
  // What was wrong with it is mended, say by a newer version.
  await world.app.deps.database.pool.query(
    "update inbox set event = 'ping', payload = '{\"zen\": \"x\"}', state = 'failed' where delivery_id = 'malformed'",
  );
  expect(await run("inbox", "retry", String(entry.id))).toMatchObject({ code: 0 });
  await world.settled();
  expect((await run("inbox", "list")).out).toBe("nothing was given up\n");
});

it("wrong calls are told what to do", async () => {
  expectProblem(await world.api.send("POST", "/api/v1/outbox/1/1/retry"), { status: 404, code: "not_found" });
  expectProblem(await world.api.send("POST", "/api/v1/inbox/999999/retry"), {
    status: 404,
    code: "not_found",
  });
  expectProblem(await world.api.send("GET", "/api/v1/outbox?state=done"), {
    status: 400,
    code: "validation_failed",
  });
  expectProblem(await world.api.send("GET", "/api/v1/outbox?repo=nowhere/to-be-seen"), {
    status: 404,
    code: "not_found",
  });
  expect((await run("outbox", "retry")).err).toMatch(/name what to try again/);
  expect((await run("outbox", "retry", "7")).err).toMatch(/not of the form REPOSITORY\/ID/);
  expect((await run("outbox", "retry", "--repo", "a/b", "1/2")).err).toMatch(/--repo goes with --all/);
  expect((await run("inbox", "list", "--state")).code).toBe(2);
});

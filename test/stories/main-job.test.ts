/** The main job, end to end: from an issue filed to an item completed. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { World } from "../harness/world.ts";

let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

describe("the main job", () => {
  it("makes its labels when it is installed", () => {
    expect(repo.labels()).toEqual(expect.arrayContaining(["backlog", "needs-specification", "stale"]));
  });

  it("goes from an issue to a completed item that frees its dependent", async () => {
    const alice = repo.as("alice");
    const first = alice.openIssue({ title: "Lay the pipe", labels: ["backlog", "P1"] });
    const second = alice.openIssue({ title: "Open the tap", labels: ["backlog"] });
    await world.settled();
    await world.api.block(second, first);

    const before = await world.api.ready();
    expect(before.verdict).toBe("ready");
    expect(before.ready.map((item: { number: number }) => item.number)).toEqual([first]);
    expect(before.waiting).toEqual([
      { number: second, reasons: [{ reason: "blocked", on: [first], detail: `waits for #${first}` }] },
    ]);

    const claim = await world.api.claim(first, "worker/7f3a", { leaseSeconds: 900 });
    expect(claim).toMatchObject({
      granted: true,
      number: first,
      leaseSeconds: 900,
      attempt: 1,
      custodyChanged: true,
      previous: null,
      baseBranch: "main",
      workingBranch: `feat/issue-${first}`,
      title: "Lay the pipe",
    });
    await world.settled();
    const [marker] = repo.issue(first).comments;
    expect(marker?.author).toBe("leasehold[bot]");
    expect(marker?.body).toMatch(
      new RegExp(
        `^<!-- backlog-worker: claim item=issue-${first} owner=worker/7f3a region=local fence=${claim.fencingToken} at=\\S+Z -->\n`,
      ),
    );

    const pull = alice.openPull({ head: `feat/issue-${first}`, title: "Pipe", body: "All of it." });
    alice.merge(pull);
    await world.settled();

    expect(repo.issue(first)).toMatchObject({ state: "closed", stateReason: "completed" });
    expect(repo.issue(first).comments.at(-1)?.body).toContain(
      `fence=${claim.fencingToken} result=complete -->`,
    );
    expect(await world.api.item(first)).toMatchObject({ state: "complete", role: "terminal" });
    expect((await world.api.item(first)).tags).toContain(`pr:${pull}`);
    expect(await world.api.status(first)).toMatchObject({ claimed: false, isHeld: false });
    const after = await world.api.ready();
    expect(after.ready.map((item: { number: number }) => item.number)).toEqual([second]);
  });
});

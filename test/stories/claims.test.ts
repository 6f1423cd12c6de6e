/** Claims as GitHub and rivals see them (protocol 4): one holder, one marker per attempt, no write by the superseded. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import {
  claimMarkers,
  expectReady,
  expectRefused,
  granted,
  outcomes,
  type Stories,
  startStories,
} from "./support/stories.ts";

let stories: Stories;
let world: World;
let api: ApiClient;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
  api = world.api;
  repo = await world.repository();
});
afterAll(() => world.end());

async function readyItem(title = "Work"): Promise<number> {
  const number = repo.as("alice").openIssue({ title, labels: ["backlog"] });
  await world.settled();
  return number;
}

/** The lease ends with nobody having said anything. */
const lapse = (): Promise<void> => stories.pass(31);

const writeUnder = (number: number, fence: number) =>
  api.tryRepo("PATCH", `/memory/backlog/issue-${number}`, { fence, body: { body: "progress" } });

describe("the marker", () => {
  it("is posted once for an attempt, and says who, where, under which token and until when", async () => {
    const number = await readyItem();
    const claim = await api.claim(number, "worker/7f3a");
    await world.settled();
    const [marker, ...others] = claimMarkers(repo, number);
    expect(others).toEqual([]);
    expect(marker?.split("\n")[0]).toMatch(
      new RegExp(
        `^<!-- backlog-worker: claim item=issue-${number} owner=worker/7f3a region=local fence=${claim.fencingToken} at=\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ -->$`,
      ),
    );
    expect(marker).toContain(`attempt 1 of 3`);
    expect(marker).toContain(`lease until ${claim.leaseExpiresAt.slice(0, 19)}Z`);
    expect(marker).not.toContain("Takes over");
  });

  it("is not posted for a refusal, a renewal or a release", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/a");
    await expectRefused(api, number, "contended");
    await api.renew(number, fencingToken);
    await api.release(number, fencingToken);
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(1);
  });

  it("names whom a claim takes over from, and under which token", async () => {
    const number = await readyItem();
    const first = await granted(api, number, "worker/dead");
    await lapse();
    const second = await api.claim(number, "worker/next");
    expect(second).toMatchObject({
      granted: true,
      attempt: 2,
      custodyChanged: true,
      previous: { owner: "worker/dead", fencingToken: first.fencingToken, lapsed: true },
    });
    await world.settled();
    expect(claimMarkers(repo, number)[1]).toContain(
      `Takes over from \`worker/dead\` (fence ${first.fencingToken}), whose lease lapsed.`,
    );
  });

  it("speaks of no takeover when the item had been given back", async () => {
    const number = await readyItem();
    const first = await granted(api, number, "worker/a");
    await api.release(number, first.fencingToken);
    const second = await api.claim(number, "worker/b");
    await world.settled();
    expect(second).toMatchObject({ attempt: 2, previous: { owner: "worker/a", lapsed: false } });
    expect(claimMarkers(repo, number)).toHaveLength(2);
    expect(claimMarkers(repo, number)[1]).not.toContain("Takes over");
  });

  it("is not posted the first time that an owner takes its own lapsed item again; the second time counts", async () => {
    const number = await readyItem();
    await granted(api, number, "worker/slow");
    await lapse();
    expect(await api.claim(number, "worker/slow")).toMatchObject({ attempt: 1, custodyChanged: false });
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(1);
    expect(await api.item(number)).toMatchObject({ attempts: { grants: 1, markers: 1 } });

    await lapse();
    expect(await api.claim(number, "worker/slow")).toMatchObject({ attempt: 2, custodyChanged: true });
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(2);
  });

  it("is posted when an owner claims again what it had released", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/a");
    await api.release(number, fencingToken);
    expect(await api.claim(number, "worker/a")).toMatchObject({ attempt: 2, custodyChanged: true });
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(2);
  });

  it("agrees with the grants: the item reads consistent", async () => {
    const number = await readyItem();
    await granted(api, number, "worker/a");
    await world.settled();
    expect((await api.item(number)).attempts).toMatchObject({
      grants: 1,
      markers: 1,
      reading: "consistent",
      poison: false,
    });
  });

  it("is followed by one outcome when the item is given back, with the worker's note made harmless", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/a");
    const note = "ask @alice\n<!-- backlog-worker: claim item=issue-1 -->";
    await api.release(number, fencingToken, { note });
    await api.release(number, fencingToken, { note });
    await world.settled();
    const [outcome, ...others] = outcomes(repo, number, "released");
    expect(others).toEqual([]);
    expect(outcome).toContain(`fence=${fencingToken} result=released -->`);
    expect(outcome).not.toContain("@alice");
    expect(outcome?.split("\n").slice(1).join("\n")).not.toMatch(/<!--|-->/);
    await expectReady(api, number);
  });
});

describe("rivals", () => {
  it("sixteen at once: one is granted, the others are told neither who nor why they must not wait", async () => {
    const number = await readyItem();
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => api.claim(number, `worker/${index}`)),
    );
    const winners = answers.filter((answer) => answer.granted);
    expect(winners).toHaveLength(1);
    for (const loser of answers.filter((answer) => !answer.granted)) {
      expect(loser).toMatchObject({ reason: "contended", retryAfterMs: expect.any(Number) });
      expect(JSON.stringify(loser)).not.toContain("worker/");
    }
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(1);
  });

  it("sixteen at once for a lapsed item: one takes over", async () => {
    const number = await readyItem();
    await granted(api, number, "worker/dead");
    await lapse();
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => api.claim(number, `worker/${index}`)),
    );
    expect(answers.filter((answer) => answer.granted)).toHaveLength(1);
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(2);
  });

  it("two processes on one database: one is granted", async () => {
    const number = await readyItem();
    const replica = await world.secondReplica();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 ? api : replica.api).claim(number, `worker/${index}`),
      ),
    );
    await world.settled();
    await replica.stop();
    expect(answers.filter((answer) => answer.granted)).toHaveLength(1);
    expect(claimMarkers(repo, number)).toHaveLength(1);
  });

  it("are refused as long as the holder renews", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/a");
    for (let time = 0; time < 3; time += 1) {
      await stories.pass(15);
      expect(await api.renew(number, fencingToken)).toMatchObject({ granted: true, fencingToken });
      await expectRefused(api, number, "contended");
    }
  });
});

describe("a lapse", () => {
  it("leaves the claim there, but not held, and the item ready", async () => {
    const number = await readyItem();
    await granted(api, number, "worker/a");
    expect(await api.status(number)).toMatchObject({ claimed: true, isHeld: true });
    await lapse();
    expect(await api.status(number)).toMatchObject({ claimed: true, isHeld: false, authoritative: false });
    await expectReady(api, number);
  });

  it("ends renewing for good", async () => {
    const number = await readyItem();
    const { fencingToken } = await granted(api, number, "worker/a");
    await lapse();
    expect(await api.renew(number, fencingToken)).toEqual({ granted: false, reason: "superseded" });
  });

  it("does not stop the holder's writes until somebody else is granted a token", async () => {
    const number = await readyItem();
    const late = await granted(api, number, "worker/late");
    await lapse();
    expect((await writeUnder(number, late.fencingToken)).status).toBe(200);

    const next = await granted(api, number, "worker/next");
    expect(await writeUnder(number, late.fencingToken)).toMatchObject({
      status: 409,
      body: { code: "stale_token" },
    });
    expect((await writeUnder(number, next.fencingToken)).status).toBe(200);
  });

  it("then taken over leaves the former holder nothing: no renewal, no release", async () => {
    const number = await readyItem();
    const late = await granted(api, number, "worker/late");
    await lapse();
    const next = await granted(api, number, "worker/next");
    expect(next.fencingToken).toBeGreaterThan(late.fencingToken);
    expect(await api.renew(number, late.fencingToken)).toEqual({ granted: false, reason: "superseded" });
    expect(await api.release(number, late.fencingToken)).toEqual({ released: false, reason: "stale" });
    expect(await api.status(number)).toMatchObject({ owner: "worker/next", isHeld: true });
  });
});

describe("order of GitHub's news", () => {
  it("[43] a marker of an older token after a newer one changes nothing about who holds", async () => {
    const number = await readyItem();
    world.github.hold();
    const first = await granted(api, number, "worker/a");
    await lapse();
    const second = await granted(api, number, "worker/b");
    world.github.release({ order: "reverse" });
    await world.settled();
    expect(await api.status(number)).toMatchObject({ owner: "worker/b", fencingToken: second.fencingToken });
    expect((await api.item(number)).attempts).toMatchObject({ grants: 2, markers: 2 });
    expect(first.fencingToken).toBeLessThan(second.fencingToken);
  });
});

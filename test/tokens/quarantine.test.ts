/** The comment of the login that is bound to the holder's token is a sign of life (protocol 4, "Quarantine"). */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { type MadeToken, makeToken } from "../harness/tokens.ts";
import { World } from "../harness/world.ts";

let world: World;
let repo: FakeRepository;
let holder: MadeToken;
beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
  holder = await makeToken(world.api, { githubLogin: "Rita" });
});
afterAll(() => world.end());

/** An item that the holder claimed, whose lease has lapsed. */
async function lapsed(api = holder.api): Promise<number> {
  const number = repo.as("alice").openIssue({ title: "work", labels: ["backlog"] });
  await world.settled();
  await api.claim(number, "w/late", { leaseSeconds: 60 });
  await world.settled();
  await world.pass(61);
  return number;
}

const other = (number: number, more: object = {}) => world.api.claim(number, "w/other", more);

describe("a lapsed item", () => {
  it("is quarantined for others when the holder's login comments, in any case, and free in time", async () => {
    const number = await lapsed();
    repo.as("rita").comment(number, "Nearly there.");
    await world.settled();
    const refused = await other(number);
    expect(refused).toMatchObject({ granted: false, reason: "quarantined" });
    expect(refused.retryAfterMs).toBeGreaterThan(800_000);
    await world.pass(901);
    expect((await other(number)).granted).toBe(true);
  });

  it("is open to the same owner, and to whoever takes over on purpose", async () => {
    const [mine, taken] = [await lapsed(), await lapsed()];
    for (const number of [mine, taken]) repo.as("rita").comment(number, "Still at it.");
    await world.settled();
    expect((await holder.api.claim(mine, "w/late")).granted).toBe(true);
    expect((await other(taken, { takeover: true })).granted).toBe(true);
  });

  it("is free when anybody else comments, or only an old comment is edited", async () => {
    const number = await lapsed();
    repo.as("tess").comment(number, "Is anybody at it?");
    await world.settled();
    expect((await other(number)).granted).toBe(true);
    const edited = repo.as("alice").openIssue({ title: "work", labels: ["backlog"] });
    const comment = repo.as("rita").comment(edited, "I look at it.");
    await world.settled();
    await holder.api.claim(edited, "w/late", { leaseSeconds: 60 });
    await world.pass(61);
    repo.as("rita").editComment(comment, "I looked at it.");
    await world.settled();
    expect((await other(edited)).granted).toBe(true);
  });

  it("of a token without a login, or with another's, is free", async () => {
    const number = await lapsed((await makeToken(world.api)).api);
    repo.as("rita").comment(number, "Not mine.");
    await world.settled();
    expect((await other(number)).granted).toBe(true);
  });

  it("is quarantined although its token was revoked meanwhile: its bearer may be at work all the same", async () => {
    const gone = await makeToken(world.api, { githubLogin: "rita" });
    const number = await lapsed(gone.api);
    await world.api.send("DELETE", `/api/v1/tokens/${gone.id}`);
    repo.as("rita").comment(number, "Finishing.");
    await world.settled();
    expect((await other(number)).reason).toBe("quarantined");
  });
});

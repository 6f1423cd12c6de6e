/** "Give me work": every selector, and one winner per item however many ask at once. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterAll(() => world.end());

async function fresh(name: string): Promise<{ repo: FakeRepository; api: ApiClient }> {
  const repo = await world.repository(`acme/${name}`);
  return { repo, api: world.api.with({ repo: `acme/${name}` }) };
}

const next = (api: ApiClient, owner: string, selector: object = {}) =>
  api.repo("POST", "/claim-next", { body: { owner, leaseSeconds: 600, selector } });

describe("claim-next", () => {
  it("gives 64 callers at once 40 different items, and tells the rest that none is ready", async () => {
    const { repo, api } = await fresh("many");
    for (let n = 0; n < 40; n += 1) repo.as("alice").openIssue({ title: `item ${n}`, labels: ["backlog"] });
    await world.settled();
    const answers = await Promise.all(Array.from({ length: 64 }, (_, index) => next(api, `w/${index}`)));
    const won = answers.filter((answer) => answer.granted).map((answer) => answer.number);
    expect(new Set(won).size).toBe(40);
    expect(won.length).toBe(40);
    expect(answers.filter((answer) => !answer.granted)[0]).toEqual({
      granted: false,
      reason: "none_ready",
      verdict: "waiting",
      pending: 40,
    });
  });

  it("takes the most urgent, or the oldest, or the newest", async () => {
    const { repo, api } = await fresh("orders");
    const alice = repo.as("alice");
    const oldest = alice.openIssue({ title: "old", labels: ["backlog", "P3"] });
    const urgent = alice.openIssue({ title: "urgent", labels: ["backlog", "P0"] });
    const plain = alice.openIssue({ title: "plain", labels: ["backlog"] });
    const newest = alice.openIssue({ title: "new", labels: ["backlog", "P3"] });
    await world.settled();
    expect((await next(api, "w/1")).number).toBe(urgent);
    expect((await next(api, "w/2", { orderBy: "newest" })).number).toBe(newest);
    expect((await next(api, "w/3", { orderBy: "oldest" })).number).toBe(oldest);
    expect((await next(api, "w/4")).number).toBe(plain);
  });

  it("selects by priority, phase, tag and epic", async () => {
    const { repo, api } = await fresh("selectors");
    const alice = repo.as("alice");
    const [epic = 0, part = 0, tagged = 0, low = 0, research = 0] = [
      "epic",
      "part",
      "tagged",
      "low",
      "research",
    ].map((title) => alice.openIssue({ title, labels: ["backlog", title === "low" ? "P3" : "P1"] }));
    await world.settled();
    const patch = (number: number, body: object) =>
      api.repo("PATCH", `/memory/backlog/issue-${number}`, { body });
    await patch(part, { links: { add: { partOf: [`mem/backlog/issue-${epic}`] } } });
    await patch(tagged, { tags: { add: ["team:red"] } });
    await patch(research, { tags: { add: ["phase:research"], remove: ["phase:implementation"] } });
    expect((await next(api, "w/1", { epic })).number).toBe(part);
    expect((await next(api, "w/2", { tags: ["team:red"] })).number).toBe(tagged);
    expect((await next(api, "w/3", { priority: "P3" })).number).toBe(low);
    expect((await next(api, "w/4", { phase: "research" })).number).toBe(research);
    expect((await next(api, "w/5")).reason).toBe("none_ready");
  });

  it("prefers what waited for the item that the worker completed", async () => {
    const { repo, api } = await fresh("chain");
    const alice = repo.as("alice");
    const first = alice.openIssue({ title: "first", labels: ["backlog"] });
    const urgent = alice.openIssue({ title: "urgent", labels: ["backlog", "P0"] });
    const second = alice.openIssue({ title: "second", labels: ["backlog", "P3"] });
    await world.settled();
    await api.block(second, first);
    alice.close(first, "completed");
    await world.settled();
    expect((await next(api, "w/1", { after: first })).number).toBe(second);
    expect((await next(api, "w/2", { after: first })).number).toBe(urgent);
  });

  it("keeps a history of claims, newest first, with how each ended", async () => {
    const { repo, api } = await fresh("history");
    const number = repo.as("alice").openIssue({ title: "much tried", labels: ["backlog"] });
    await world.settled();
    const released = await api.claim(number, "w/1");
    await api.release(number, released.fencingToken);
    await api.claim(number, "w/2");
    await world.pass(60);
    const current = await api.claim(number, "w/3", { leaseSeconds: 900 });
    const { claims } = await api.repo("GET", `/items/${number}/claims`);
    expect(claims.map(({ owner, ended }: { owner: string; ended: string }) => [owner, ended])).toEqual([
      ["w/3", null],
      ["w/2", "superseded"],
      ["w/1", "released"],
    ]);
    expect(claims[0].fencingToken).toBe(current.fencingToken);
    await world.pass(1000);
    expect((await api.repo("GET", `/items/${number}/claims`)).claims[0].ended).toBe("lapsed");
  });

  it("skips what would touch the files of an item in flight, until that one is done", async () => {
    const { repo, api } = await fresh("overlaps");
    const alice = repo.as("alice");
    const [first, second, other] = ["first", "second", "other"].map((title) =>
      alice.openIssue({ title, labels: ["backlog"] }),
    );
    await world.settled();
    const anchor = (number: number | undefined, path: string) =>
      api.repo("PATCH", `/items/${number}`, { body: { links: { add: { anchoredTo: [`file/${path}`] } } } });
    await anchor(first, "src/parser/");
    await anchor(second, "src/parser/lexer.ts");
    await anchor(other, "docs/guide.md");
    const grant = await next(api, "w/1");
    expect(grant.number).toBe(first);
    const { ready, overlapping, totals } = await api.ready();
    expect(ready.map((item: { number: number }) => item.number)).toEqual([other]);
    expect(overlapping).toEqual([{ number: second, with: [first] }]);
    expect(totals).toMatchObject({ ready: 1, overlapping: 1, inFlight: 1 });
    expect((await next(api, "w/2")).number).toBe(other);
    expect(await next(api, "w/3")).toMatchObject({
      granted: false,
      reason: "none_ready",
      verdict: "overlapping",
    });
    await api.release(first ?? 0, grant.fencingToken);
    expect((await next(api, "w/3")).number).toBe(first);
  });
});

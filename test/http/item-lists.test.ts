/** Roots, and an item's attempts: what was counted, what was not, and why. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { World } from "../harness/world.ts";
import { expectProblem } from "./support/expect-problem.ts";

let world: World;
let repo: FakeRepository;
beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

async function items(...titles: string[]): Promise<number[]> {
  const numbers = titles.map((title) => repo.as("alice").openIssue({ title, labels: ["backlog"] }));
  await world.settled();
  return numbers;
}
const partOf = (part: number, epic: number) =>
  world.api.repo("PATCH", `/items/${part}`, {
    body: { links: { add: { partOf: [`mem/backlog/issue-${epic}`] } } },
  });

describe("R/items/roots", () => {
  it("are what is part of no item, with the filters of a list, page by page", async () => {
    const [epic, part, below, alone] = (await items("Epic", "Part", "Below", "Alone")) as [
      number,
      number,
      number,
      number,
    ];
    await partOf(part, epic);
    await partOf(below, part);
    // An issue that is no item has nothing below it that anybody is offered.
    const plain = repo.as("alice").openIssue({ title: "No item" });
    await world.settled();
    await partOf(alone, plain);
    const roots = async (query = "") =>
      (await world.api.repo("GET", `/items/roots${query}`)).items.map(
        ({ number }: { number: number }) => number,
      );
    expect(await roots()).toEqual([epic, alone]);
    expect(await roots("?q=alone")).toEqual([alone]);
    expect(await roots("?q=part")).toEqual([]);
    const first = await world.api.repo("GET", "/items/roots?limit=1");
    expect(first.items.map(({ number }: { number: number }) => number)).toEqual([epic]);
    expect(await roots(`?limit=1&cursor=${first.nextCursor}`)).toEqual([alone]);
    const answer = await world.api.tryRepo("GET", "/items/roots?epic=1");
    expectProblem(answer, { status: 400, code: "validation_failed", field: "epic" });
  });
});

describe("R/items/{n}/attempts", () => {
  it("says of each token whether it counts, and why", async () => {
    const [number = 0] = await items("Hard");
    expect(await world.api.repo("GET", `/items/${number}/attempts`)).toEqual({
      key: `repo/acme/widgets/mem/backlog/issue-${number}`,
      number,
      count: 0,
      threshold: 3,
      poison: false,
      reading: "never_claimed",
      countedAfter: null,
      attempts: [],
      nextCursor: null,
    });
    const one = await world.api.claim(number, "w/1", { leaseSeconds: 60 });
    await world.settled();
    await world.pass(61);
    const again = await world.api.claim(number, "w/1", { leaseSeconds: 60 });
    await world.api.release(number, again.fencingToken);
    const two = await world.api.claim(number, "w/2", { leaseSeconds: 60 });
    await world.settled();
    const answer = await world.api.repo("GET", `/items/${number}/attempts`);
    expect(answer).toMatchObject({ count: 2, threshold: 3, poison: false, reading: "consistent" });
    expect(answer.attempts).toMatchObject([
      {
        fencingToken: two.fencingToken,
        counts: true,
        reason: "grant",
        grant: { owner: "w/2", newAttempt: true, ended: null },
        marker: { owner: "w/2", byApp: true, url: expect.stringContaining("#issuecomment-") },
      },
      {
        fencingToken: again.fencingToken,
        counts: false,
        reason: "custody_unchanged",
        grant: { owner: "w/1", newAttempt: false, ended: "released" },
        marker: null,
      },
      { fencingToken: one.fencingToken, counts: true, reason: "grant", marker: { byApp: true } },
    ]);
    const first = await world.api.repo("GET", `/items/${number}/attempts?limit=2`);
    expect(first.attempts).toEqual(answer.attempts.slice(0, 2));
    const rest = await world.api.repo("GET", `/items/${number}/attempts?limit=2&cursor=${first.nextCursor}`);
    expect(rest).toMatchObject({ count: 2, attempts: [answer.attempts[2]], nextCursor: null });
  });

  it("starts afresh after a human's unpark, and still shows what was", async () => {
    const [number = 0] = await items("Harder");
    for (let turn = 0; turn < 3; turn += 1) {
      const { fencingToken } = await world.api.claim(number, `w/${turn}`);
      await world.settled();
      await world.api.release(number, fencingToken);
    }
    await world.sweep();
    const parked = await world.api.repo("GET", `/items/${number}/attempts`);
    expect(parked).toMatchObject({ count: 3, poison: true, countedAfter: null });
    repo.as("alice").unlabel(number, "stale");
    await world.settled();
    const answer = await world.api.repo("GET", `/items/${number}/attempts`);
    expect(answer).toMatchObject({
      count: 0,
      poison: false,
      reading: "never_claimed",
      countedAfter: parked.attempts[0].fencingToken,
    });
    expect(answer.attempts.map(({ reason }: { reason: string }) => reason)).toEqual(
      Array(3).fill("before_unpark"),
    );
  });

  it("of what is no item: 404", async () => {
    expectProblem(await world.api.tryRepo("GET", "/items/4711/attempts"), { status: 404, code: "not_found" });
    const answer = await world.api.tryRepo("GET", "/items/1/attempts?cursor=rubbish");
    expectProblem(answer, { status: 400, code: "validation_failed", field: "cursor" });
  });
});

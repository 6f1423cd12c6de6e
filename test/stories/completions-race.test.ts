/**
 * Many workers complete the items of one grouping at once, on two replicas, while the merges' own webhooks complete
 * them too and somebody changes the edges: nobody is locked out, everything ends once, the epic last.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { defaultPermissions } from "../fake-github/app-under-test.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { Answer, ApiClient } from "../harness/api-client.ts";
import type { World } from "../harness/world.ts";
import { GATE, outcomes, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  stories = await startStories({ github: { permissions: { ...defaultPermissions, contents: "write" } } });
  world = stories.world;
  repo = await world.repository();
});
afterAll(() => world.end());

const WORKERS = 8;
/** A busy machine takes its time; a lock-out would take for ever. */
const TIMEOUT_MS = 180_000;
const IDLE_MS = 25;

/** Two seams, and eight that wait for one of them each; two of the eight for two others besides. */
const grouping = () => {
  const fan = Array.from({ length: 8 }, (_, index) => ({
    ref: `f${index}`,
    title: `Fan ${index}`,
    blockedBy: [`s${index % 2}`, ...(index >= 6 ? [`f${index - 6}`, `f${index - 4}`] : [])],
  }));
  const seams = ["s0", "s1"].map((ref) => ({ ref, title: `Seam ${ref}` }));
  const items = [...seams, ...fan, { ref: "end", title: "End", phase: "integration" }];
  return { epic: { title: "Raced", body: "All at once.", slug: "raced" }, items };
};

/** Works until nothing is pending any more; answers the numbers it completed. Any answer of 500 or above fails it. */
async function worker(api: ApiClient, owner: string, epic: number): Promise<number[]> {
  const done: number[] = [];
  const ask = async (path: string, body: object, fence?: number): Promise<Answer> => {
    const answer = await api.tryRepo("POST", path, { body, ...(fence === undefined ? {} : { fence }) });
    if (answer.status >= 500)
      throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer;
  };
  for (;;) {
    const { body: grant } = await ask("/claim-next", { owner, leaseSeconds: 600, selector: { epic } });
    if (!grant.granted) {
      if (grant.verdict === "idle") return done;
      await delay(IDLE_MS);
      continue;
    }
    const { number, fencingToken, workingBranch, baseBranch } = grant;
    const alice = repo.as("alice");
    const pull = alice.openPull({ head: workingBranch, base: baseBranch });
    alice.merge(pull);
    const { status, body } = await ask(`/items/${number}/complete`, { pullRequest: pull }, fencingToken);
    expect({ status, state: body.state }).toEqual({ status: 200, state: "complete" });
    done.push(number);
  }
}

it(
  "every item is completed once, and nobody waits for ever",
  async () => {
    const { body: made } = await world.api.tryRepo("POST", "/groupings", {
      body: grouping(),
      headers: { "idempotency-key": randomUUID() },
    });
    await world.settled();
    const numbers = Object.values<number>(made.items);
    const epic: number = made.epic.number;
    stories.later();
    for (const number of [epic, ...numbers]) repo.as("alice").unlabel(number, GATE);
    await world.settled();

    const second = await world.secondReplica();
    try {
      const workers = Array.from({ length: WORKERS }, (_, index) =>
        worker(index % 2 ? second.api : world.api, `w/${index}`, epic),
      );
      let racing = true;
      const rewiring = (async () => {
        for (let turn = 0; racing; turn += 1) {
          const [from, to] = [numbers[turn % numbers.length], numbers[(turn * 5 + 3) % numbers.length]];
          const change = { [turn % 3 === 0 ? "remove" : "add"]: { related: [`mem/backlog/issue-${to}`] } };
          const { status } = await world.api.tryRepo("PATCH", `/memory/backlog/issue-${from}`, {
            body: { links: change },
          });
          // What is held refuses a stranger's write; nothing else is an answer here.
          expect([200, 409]).toContain(status);
        }
      })();
      const done = await Promise.all(workers);
      racing = false;
      await rewiring;
      await world.settled();
      expect(done.flat().sort((a, b) => a - b)).toEqual([...numbers].sort((a, b) => a - b));
    } finally {
      await second.stop();
    }

    for (const number of [...numbers, epic]) {
      expect(await world.api.item(number)).toMatchObject({
        state: "complete",
        isClaimed: false,
        defects: [],
      });
      expect(repo.issue(number)).toMatchObject({ state: "closed", stateReason: "completed" });
    }
    for (const number of numbers) {
      expect(outcomes(repo, number, "complete")).toHaveLength(1);
      const { claims } = await world.api.repo("GET", `/items/${number}/claims`);
      expect(claims.map((claim: { ended: string }) => claim.ended)).toEqual(["completed"]);
    }
    expect(await world.api.ready()).toMatchObject({ verdict: "idle", pending: 0 });
  },
  TIMEOUT_MS,
);

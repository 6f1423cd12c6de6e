/** What follows when the configuration changes labels, enrolment or agents (protocol 3, 12): nobody is admitted by it. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChangedMeanwhile } from "../../src/services/settle-delivery.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { World } from "../harness/world.ts";
import { down, expectRefused, GATE, readyNumbers, type Stories, startStories } from "./support/stories.ts";

let stories: Stories;
let world: World;

beforeAll(async () => {
  stories = await startStories();
  world = stories.world;
});
afterAll(() => world.end());

let made = 0;

async function repository(): Promise<FakeRepository> {
  const repo = world.github.repository(`labels/r${++made}`, {
    collaborators: { alice: "admin", tess: "triage", wanda: "write", rita: "read" },
  });
  await world.install(repo);
  return repo;
}

const apiOf = (repo: FakeRepository): ApiClient => world.api.with({ repo: repo.fullName });

async function configure(repo: FakeRepository, text: string): Promise<void> {
  stories.later();
  repo.as("alice").push("main", { files: { ".github/leasehold.yml": text } });
  await world.settled();
  stories.later();
}

/** Something happens on GitHub, in a second of its own. */
async function happens<T>(change: () => T): Promise<T> {
  stories.later();
  const result = change();
  await world.settled();
  return result;
}

const issue = (repo: FakeRepository, by: string, ...labels: string[]): Promise<number> =>
  happens(() => repo.as(by).openIssue({ title: "Work", labels }));

const labelsOf = (repo: FakeRepository, number: number): string[] => repo.issue(number).labels.sort();

describe("another needs-specification label", () => {
  const RENAMED = "labels: {needs-specification: draft}\n";

  it("admits nobody: who waits for a human shows the new label, and waits for its removal", async () => {
    const repo = await repository();
    const waiting = await issue(repo, "rita", "backlog");
    await configure(repo, RENAMED);
    expect(labelsOf(repo, waiting)).toEqual(["backlog", "draft", GATE]);
    await expectRefused(apiOf(repo), waiting, "not_admitted");

    await happens(() => repo.as("alice").unlabel(waiting, GATE));
    await expectRefused(apiOf(repo), waiting, "not_admitted");
    await happens(() => repo.as("alice").unlabel(waiting, "draft"));
    expect(await readyNumbers(apiOf(repo))).toEqual([waiting]);
    expect(labelsOf(repo, waiting)).toEqual(["backlog"]);
  });

  it("leaves who was admitted, unless the issue shows the new label", async () => {
    const repo = await repository();
    const admitted = await issue(repo, "alice", "backlog");
    const draft = await issue(repo, "alice", "backlog", "Draft");
    expect(await readyNumbers(apiOf(repo))).toEqual([admitted, draft]);
    await configure(repo, RENAMED);
    expect(await readyNumbers(apiOf(repo))).toEqual([admitted]);
    await happens(() => repo.as("tess").unlabel(draft, "Draft"));
    expect(await readyNumbers(apiOf(repo))).toEqual([admitted, draft]);
  });

  it("makes nothing of what a human did to that label before", async () => {
    const repo = await repository();
    const items = [await issue(repo, "rita", "backlog"), await issue(repo, "rita")];
    for (const number of items) {
      await happens(() => repo.as("alice").label(number, "draft"));
      await happens(() => repo.as("alice").unlabel(number, "draft"));
    }
    // Nor while the new label cannot be written.
    down(world, new RegExp(`^/repos/${repo.fullName}/issues/\\d+/labels`));
    await configure(repo, RENAMED);
    const [waiting = 0, later = 0] = items;
    await happens(() => repo.as("alice").label(later, "backlog"));
    await happens(() => repo.as("alice").label(waiting, "P0"));
    for (const number of items) await expectRefused(apiOf(repo), number, "not_admitted");
    world.github.clearFaults();
    await stories.pass(700);
    await world.settled();
    for (const number of items) {
      expect(labelsOf(repo, number)).toContain("draft");
      await expectRefused(apiOf(repo), number, "not_admitted");
    }
  });

  it("does not admit an issue under the old label that becomes an item now", async () => {
    const repo = await repository();
    const number = await issue(repo, "alice", GATE);
    await configure(repo, RENAMED);
    await happens(() => repo.as("wanda").label(number, "backlog"));
    await expectRefused(apiOf(repo), number, "not_admitted");
    expect(labelsOf(repo, number)).toContain("draft");
    await happens(() => repo.as("alice").unlabel(number, "draft"));
    expect(await readyNumbers(apiOf(repo))).toEqual([number]);
  });

  it("gates from then on: who is not known to be human opens with it, and anyone withdraws with it", async () => {
    const repo = await repository();
    await configure(repo, RENAMED);
    const number = await issue(repo, "rita", "backlog");
    expect(labelsOf(repo, number)).toEqual(["backlog", "draft"]);
    const other = await issue(repo, "alice", "backlog");
    await happens(() => repo.as("rita").label(other, "draft"));
    await expectRefused(apiOf(repo), other, "not_admitted");
    await happens(() => repo.as("ci[bot]").unlabel(other, "draft"));
    expect(labelsOf(repo, other)).toContain("draft");
  });

  it("pushed by an agent changes nothing", async () => {
    const repo = await repository();
    const waiting = await issue(repo, "rita", "backlog");
    repo.as("ci[bot]").push("main", { files: { ".github/leasehold.yml": RENAMED } });
    await world.settled();
    expect(labelsOf(repo, waiting)).toEqual(["backlog", GATE]);
    await happens(() => repo.as("alice").unlabel(waiting, GATE));
    expect(await readyNumbers(apiOf(repo))).toEqual([waiting]);
  });
});

describe("another stale label", () => {
  it("unparks nobody; only a human's removal of the new one does", async () => {
    const repo = await repository();
    const number = await issue(repo, "alice", "backlog");
    await happens(() => repo.as("alice").label(number, "stuck"));
    await happens(() => repo.as("alice").label(number, "stale"));
    await happens(() => repo.as("alice").unlabel(number, "stuck"));
    await configure(repo, "labels: {stale: stuck}\n");
    expect(labelsOf(repo, number)).toEqual(["backlog", "stale", "stuck"]);
    await happens(() => repo.as("alice").unlabel(number, "stale"));
    await expectRefused(apiOf(repo), number, "parked");
    await happens(() => repo.as("ci[bot]").unlabel(number, "stuck"));
    await expectRefused(apiOf(repo), number, "parked");
    expect(labelsOf(repo, number)).toEqual(["backlog", "stuck"]);
    await happens(() => repo.as("alice").unlabel(number, "stuck"));
    expect(await readyNumbers(apiOf(repo))).toEqual([number]);
  });
});

describe("another backlog label", () => {
  it("is put on every item, which stays one; what has it already becomes one", async () => {
    const repo = await repository();
    const enrolled = await issue(repo, "alice", "backlog");
    const queued = await issue(repo, "alice", "queue");
    const other = await issue(repo, "alice");
    await configure(repo, "labels: {backlog: queue}\n");
    expect(await readyNumbers(apiOf(repo))).toEqual([enrolled, queued]);
    expect(labelsOf(repo, enrolled)).toEqual(["backlog", "queue"]);
    await happens(() => repo.as("alice").label(enrolled, "P0"));
    await happens(() => repo.as("alice").label(other, "backlog"));
    expect(await readyNumbers(apiOf(repo))).toEqual([enrolled, queued]);
    await happens(() => repo.as("alice").unlabel(queued, "queue"));
    expect(await readyNumbers(apiOf(repo))).toEqual([enrolled]);
  });
});

describe("labels that change places", () => {
  it("are each what the file now says", async () => {
    const repo = await repository();
    const waiting = await issue(repo, "rita", "backlog");
    const parked = await issue(repo, "alice", "backlog");
    await happens(() => repo.as("alice").label(parked, "stale"));
    await configure(repo, `labels: {needs-specification: stale, stale: ${GATE}}\n`);
    expect(labelsOf(repo, waiting)).toEqual(["backlog", GATE, "stale"]);
    expect(labelsOf(repo, parked)).toEqual(["backlog", GATE, "stale"]);
    await happens(() => repo.as("alice").unlabel(parked, GATE));
    await expectRefused(apiOf(repo), parked, "not_admitted");
    await happens(() => repo.as("alice").unlabel(parked, "stale"));
    expect(await readyNumbers(apiOf(repo))).toContain(parked);
  });
});

describe("enroll: all", () => {
  it("makes an item of every open issue; who is not admitted waits; back again they are none", async () => {
    const repo = await repository();
    const [mine, theirs, closed] = [
      await issue(repo, "alice"),
      await issue(repo, "rita"),
      await issue(repo, "alice"),
    ];
    await happens(() => repo.as("alice").close(closed));
    const labelled = await issue(repo, "alice", "backlog");
    await configure(repo, "enroll: all\n");
    expect(await readyNumbers(apiOf(repo))).toEqual([mine, labelled]);
    await expectRefused(apiOf(repo), theirs, "not_admitted");
    await expectRefused(apiOf(repo), closed, "missing");
    expect(labelsOf(repo, theirs)).toEqual([GATE]);

    await configure(repo, "enroll: labeled\n");
    expect(await readyNumbers(apiOf(repo))).toEqual([labelled]);
    await expectRefused(apiOf(repo), mine, "missing");
    await happens(() => repo.as("alice").label(mine, "backlog"));
    expect(await readyNumbers(apiOf(repo))).toEqual([mine, labelled]);
  });

  it("pushed by an agent is held back", async () => {
    const repo = await repository();
    const number = await issue(repo, "alice");
    repo.as("ci[bot]").push("main", { files: { ".github/leasehold.yml": "enroll: all\n" } });
    await world.settled();
    await expectRefused(apiOf(repo), number, "missing");
  });
});

describe("another agent", () => {
  it("admits no more from then on; who was admitted before stays so", async () => {
    const repo = await repository();
    const before = await issue(repo, "tess", "backlog");
    await configure(repo, "agents: [tess]\n");
    const after = await issue(repo, "tess", "backlog");
    expect(await readyNumbers(apiOf(repo))).toEqual([before]);
    await happens(() => repo.as("tess").unlabel(after, GATE));
    await expectRefused(apiOf(repo), after, "not_admitted");
    await happens(() => repo.as("tess").label(before, "P0"));
    expect(await readyNumbers(apiOf(repo))).toEqual([before]);
  });
});

describe("a lower threshold", () => {
  it("counts at the next judgement: the item is offered no more, and the sweep parks it", async () => {
    const repo = await repository();
    const api = apiOf(repo);
    const number = await issue(repo, "alice", "backlog");
    for (const owner of ["worker/a", "worker/b"]) {
      const { fencingToken } = await api.claim(number, owner);
      await api.release(number, fencingToken);
      await world.settled();
    }
    await configure(repo, "poisonThreshold: 2\n");
    await expectRefused(api, number, "poison");
    expect(await readyNumbers(api)).toEqual([]);
    expect(await world.sweep()).toBe(1);
    await configure(repo, "poisonThreshold: 5\n");
    await expectRefused(api, number, "parked");
  });
});

describe("an issue whose author is being asked about while the label changes", () => {
  it("is judged again, by the new label", async () => {
    const repo = await repository();
    const path = `/repos/${repo.fullName}/collaborators/alice/permission`;
    world.github.fault({ method: "GET", path, kind: "delay", delayMs: 1_500 });
    stories.later();
    const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog", "draft"] });
    await waitFor("the author to be asked about", async () =>
      world.github.requestsTo("GET", path).length > 0 ? null : "not yet",
    );
    await configure(repo, "labels: {needs-specification: draft}\n");
    await expectRefused(apiOf(repo), number, "not_admitted");
    expect(world.logged.lines.map(({ reason }) => reason)).toContain(new ChangedMeanwhile().message);
  });
});

/** The story that the demo tells, scene by scene. */

import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { FakeGitHub } from "../fake-github/fake-github.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import type { ApiClient } from "../harness/api-client.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { Narrator } from "./narrator.ts";

export interface Stage {
  readonly github: FakeGitHub;
  readonly api: ApiClient;
  readonly narrator: Narrator;
}

interface Cast extends Stage {
  readonly repo: FakeRepository;
}

/** Short, so that the audience need not wait for a lease to lapse. */
const SHORT_LEASE_SECONDS = 2;

export async function tellStory(stage: Stage): Promise<void> {
  const { github, narrator } = stage;
  narrator.scene("The App is installed on acme/widgets");
  const repo = github.repository("acme/widgets", { collaborators: { alice: "admin" } });
  github.install(repo);
  await until("the labels are made", () => repo.labels().includes("stale"));
  narrator.sees(`Leasehold made its labels: ${repo.labels().join(", ")}.`);
  const cast: Cast = { ...stage, repo };

  const { first, second } = await humanFiles(cast);
  await botProposes(cast);
  const { dead, winner } = await workersRace(cast, first);
  await winnerDies(cast, first, dead, winner);
  await merges(cast, first, second);
  await poison(cast);
  await ending(cast);
}

const until = (what: string, check: () => boolean | Promise<boolean>): Promise<void> =>
  waitFor(what, async () => ((await check()) ? null : "not yet"));

const readyNumbers = async (api: ApiClient): Promise<number[]> =>
  (await api.ready()).ready.map((item: { number: number }) => item.number);

async function humanFiles({ repo, api, narrator }: Cast) {
  const alice = repo.as("alice");
  narrator.scene("A human files an item, and it is ready");
  const first = alice.openIssue({ title: "Count the widgets", labels: ["backlog", "P1"] });
  const second = alice.openIssue({ title: "Paint what was counted", labels: ["backlog", "P1"] });
  narrator.does(
    "alice",
    `opens #${first} and #${second} with the label "backlog"; she is an admin, so they are admitted.`,
  );
  await until("both are ready", async () => (await readyNumbers(api)).length === 2);
  await api.block(second, first);
  narrator.does("worker", `links #${second} as blocked by #${first}.`);
  deepEqual(await readyNumbers(api), [first]);
  narrator.sees(`Ready: #${first}. Waiting: #${second}, blocked by #${first}.`);
  return { first, second };
}

async function botProposes({ repo, api, narrator }: Cast): Promise<void> {
  const bot = repo.as("robo[bot]");
  narrator.scene("A bot proposes an item; only a human can admit it");
  const number = bot.openIssue({ title: "Rewrite everything", labels: ["backlog"] });
  narrator.does("robo[bot]", `opens #${number} with the label "backlog".`);
  await until("the gate is on", () => repo.issue(number).labels.includes("needs-specification"));
  const refused = await api.claim(number, "worker/robo");
  equal(refused.reason, "not_admitted");
  narrator.sees(`Leasehold adds "needs-specification"; a claim is refused: ${refused.reason}.`);

  bot.unlabel(number, "needs-specification");
  narrator.does("robo[bot]", `removes "needs-specification" itself.`);
  await until("the gate is back", () => repo.issue(number).labels.includes("needs-specification"));
  await until("the attempt is on record", async () => (await api.item(number)).defects.length > 0);
  narrator.sees(
    `The label comes back, and the attempt is on record: ${(await api.item(number)).defects[0].detail}.`,
  );

  repo.as("alice").unlabel(number, "needs-specification");
  narrator.does("alice", `removes "needs-specification".`);
  await until("it is admitted", async () => (await readyNumbers(api)).includes(number));
  narrator.sees(`#${number} is admitted by alice, and ready.`);
  equal((await api.item(number)).admittedBy, "alice");
}

interface Run {
  readonly owner: string;
  readonly fence: number;
}

async function workersRace(
  { repo, api, narrator }: Cast,
  number: number,
): Promise<{ dead: Run; winner: string }> {
  narrator.scene("Two workers race for one item, and one wins");
  const owners = ["worker/ada", "worker/bob"];
  const answers = await Promise.all(
    owners.map((owner) => api.claim(number, owner, { leaseSeconds: SHORT_LEASE_SECONDS })),
  );
  const won = answers.findIndex((answer) => answer.granted);
  equal(answers.filter((answer) => answer.granted).length, 1);
  const owner = owners[won] ?? "";
  const other = owners[1 - won] ?? "";
  const fence: number = answers[won].fencingToken;
  narrator.sees(
    `${owner} is granted #${number} with fencing token ${fence}; ${other} is answered "${answers[1 - won].reason}".`,
  );
  await until("the marker is posted", () => repo.issue(number).comments.length === 1);
  narrator.quotes(repo.issue(number).comments[0]?.body ?? "");
  return { dead: { owner, fence }, winner: other };
}

async function winnerDies(
  { repo, api, narrator }: Cast,
  number: number,
  dead: Run,
  other: string,
): Promise<void> {
  narrator.scene("The winner dies; its lease lapses, and the other takes over");
  narrator.does(dead.owner, `is killed. Nobody cleans up: the lease of ${SHORT_LEASE_SECONDS} s just ends.`);
  let grant = await api.claim(number, other, { leaseSeconds: 600 });
  await until("the lease lapses", async () => {
    if (!grant.granted) grant = await api.claim(number, other, { leaseSeconds: 600 });
    return grant.granted;
  });
  equal(grant.previous.owner, dead.owner);
  ok(grant.fencingToken > dead.fence);
  narrator.sees(
    `${other} is granted #${number}, attempt ${grant.attempt}, with token ${grant.fencingToken}. The marker names the takeover:`,
  );
  await until("the second marker is posted", () => repo.issue(number).comments.length === 2);
  const marker = repo.issue(number).comments[1]?.body ?? "";
  match(marker, new RegExp(`Takes over from \`${dead.owner}\``));
  narrator.quotes(marker);

  narrator.scene("The dead one wakes, and cannot harm");
  const write = await api.tryRepo("PATCH", `/memory/backlog/issue-${number}`, {
    fence: dead.fence,
    body: { body: "I am not dead, and this is my work." },
  });
  equal(write.body.code, "stale_token");
  equal((await api.renew(number, dead.fence)).reason, "superseded");
  narrator.does(dead.owner, `writes under its old token ${dead.fence}.`);
  narrator.sees(`Refused with ${write.status} ${write.body.code}: ${write.body.detail}.`);
}

async function merges({ repo, api, narrator }: Cast, first: number, second: number): Promise<void> {
  const alice = repo.as("alice");
  narrator.scene("A pull request merges into the wrong base: nothing completes");
  alice.createBranch("playground");
  const wrong = alice.openPull({
    head: "counting",
    base: "playground",
    title: "Count",
    body: `Fixes #${first}`,
  });
  alice.merge(wrong);
  narrator.does(
    "alice",
    `merges pull request #${wrong}, "Fixes #${first}", into "playground"; the item's base is "main".`,
  );
  await until("the defect is reported", async () => (await api.item(first)).defects.length > 0);
  const item = await api.item(first);
  equal(item.state, null);
  equal(item.defects[0].code, "wrong_base");
  narrator.sees(`#${first} is not complete. Defect ${item.defects[0].code}: ${item.defects[0].detail}.`);

  narrator.scene("The right one completes it, closes the issue and frees the dependent");
  const right = alice.openPull({
    head: `feat/issue-${first}`,
    title: "Count the widgets",
    body: "This time into main.",
  });
  alice.merge(right);
  narrator.does("alice", `merges pull request #${right} from "feat/issue-${first}" into "main".`);
  await until("the issue is closed", () => repo.issue(first).state === "closed");
  await until("the outcome is posted", () => repo.issue(first).comments.length === 3);
  equal((await api.item(first)).state, "complete");
  ok((await readyNumbers(api)).includes(second));
  narrator.quotes(repo.issue(first).comments[2]?.body ?? "");
  narrator.sees(`#${first} is complete and closed, its claim has ended, and #${second} is ready.`);
}

async function poison({ repo, api, narrator }: Cast): Promise<void> {
  const alice = repo.as("alice");
  narrator.scene("A third attempt parks a poisoned item; a human unparks it");
  const number = alice.openIssue({ title: "Square the circle", labels: ["backlog", "P0"] });
  await until("it is ready", async () => (await readyNumbers(api)).includes(number));
  for (const attempt of [1, 2, 3]) {
    const grant = await api.claim(number, `worker/try-${attempt}`);
    equal(grant.attempt, attempt);
    await api.release(number, grant.fencingToken, { note: "Compass and straightedge will not do." });
    narrator.does(`try-${attempt}`, `claims #${number} (attempt ${attempt} of 3) and gives up.`);
  }
  await until("it is parked", () => repo.issue(number).labels.includes("stale"));
  await until("the outcome is posted", () =>
    repo.issue(number).comments.some(({ body }) => body.includes("result=parked")),
  );
  equal((await api.claim(number, "worker/try-4")).reason, "parked");
  narrator.sees(`#${number} is parked with the label "stale", and offered to nobody:`);
  narrator.quotes(repo.issue(number).comments.find(({ body }) => body.includes("result=parked"))?.body ?? "");

  alice.unlabel(number, "stale");
  narrator.does("alice", `removes "stale".`);
  await until("it is ready again", async () => (await readyNumbers(api)).includes(number));
  equal((await api.item(number)).attempts.grants, 0);
  narrator.sees(`#${number} is ready again, its attempts start afresh.`);
}

async function ending({ api, narrator }: Cast): Promise<void> {
  narrator.scene("What is ready now");
  const set = await api.ready();
  narrator.sees(`Verdict: ${set.verdict}. Pending: ${set.pending}.`);
  for (const item of set.ready) narrator.quotes(`#${item.number}  ${item.priority}  ${item.title}`);
}

/** How GitHub's deliveries really look: rows 4, 5, 13, 14 and 16 of the list of its behaviour. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { World } from "../harness/world.ts";
import { inbox, keepBack, keepBackOne, type Payload, withValues } from "./support/deliveries.ts";

let world: World;
let repo: FakeRepository;
let guids = 0;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

async function deliver(event: string, payload: Payload): Promise<void> {
  const guid = `case-${++guids}`;
  expect((await world.github.deliver({ event, payload, guid })).status).toBe(202);
  await world.settled();
  expect(await inbox(world, guid)).toEqual([expect.objectContaining({ state: "done", error: null })]);
}
async function open(title: string, by = "alice", ...labels: string[]): Promise<number> {
  const number = repo.as(by).openIssue({ title, labels: ["backlog", ...labels] });
  await world.settled();
  return number;
}
const labels = async (number: number): Promise<string[]> => (await world.api.item(number)).labels;

describe("row 4: `opened` sometimes lacks the labels that the issue was made with", () => {
  it("a label that was told before it is kept", async () => {
    const kept = keepBack(world.github, () =>
      repo.as("alice").openIssue({ title: "Late opening", labels: ["backlog", "needs-specification"] }),
    );
    const opened = kept.find(({ action }) => action === "opened");
    const { number } = opened?.payload.issue ?? {};
    for (const { event, action, payload } of kept) {
      if (action === "labeled") await deliver(event, payload);
    }
    expect(await world.api.item(number)).toMatchObject({ admitted: false });
    await deliver("issues", withValues(opened?.payload, { "issue.labels": [] }));
    expect((await labels(number)).sort()).toEqual(["backlog", "needs-specification"]);
    expect(await world.api.item(number)).toMatchObject({ admitted: false });
  });

  it("an issue that opens without labels becomes an item by the label that follows", async () => {
    const kept = keepBack(world.github, () =>
      repo.as("alice").openIssue({ title: "Bare opening", labels: ["backlog"] }),
    );
    const { number } = kept[0]?.payload.issue ?? {};
    const [opened, labeled] = ["opened", "labeled"].map((name) => kept.find(({ action }) => action === name));
    await deliver("issues", withValues(opened?.payload, { "issue.labels": [] }));
    expect((await world.api.tryRepo("GET", `/items/${number}`)).status).toBe(404);
    await deliver("issues", labeled?.payload);
    expect(await world.api.item(number)).toMatchObject({ admitted: true });
  });
});

describe("row 5: a snapshot may still show the state before the event", () => {
  it("a label taken off is off, though the snapshot has it, and no older or equal snapshot brings it back", async () => {
    const number = await open("Shadows", "alice", "red");
    const unlabeled = keepBackOne(world.github, "issues.unlabeled", () =>
      repo.as("alice").unlabel(number, "red"),
    );
    const stale = [{ id: 1, name: "backlog" }, { ...unlabeled.payload.label }];
    await deliver("issues", withValues(unlabeled.payload, { "issue.labels": stale }));
    expect(await labels(number)).toEqual(["backlog"]);

    const comment = keepBackOne(world.github, "issue_comment.created", () =>
      repo.as("alice").comment(number, "Hi"),
    );
    const at = (time: string) =>
      withValues(comment.payload, { "issue.labels": stale, "issue.updated_at": time });
    await deliver("issue_comment", at(unlabeled.payload.issue.updated_at));
    expect(await labels(number)).toEqual(["backlog"]);
    await deliver("issue_comment", at("2020-01-01T00:00:00Z"));
    expect(await labels(number)).toEqual(["backlog"]);
  });

  it("a label put on is on, though the snapshot lacks it", async () => {
    const number = await open("Light");
    const labeled = keepBackOne(world.github, "issues.labeled", () =>
      repo.as("alice").label(number, "green"),
    );
    await deliver("issues", withValues(labeled.payload, { "issue.labels": [{ id: 1, name: "backlog" }] }));
    expect((await labels(number)).sort()).toEqual(["backlog", "green"]);
  });

  it("the gate taken off by a human admits, though the snapshot still has it", async () => {
    const number = await open("Gated", "rita");
    const unlabeled = keepBackOne(world.github, "issues.unlabeled", () =>
      repo.as("alice").unlabel(number, "needs-specification"),
    );
    const shown = [{ id: 1, name: "backlog" }, { ...unlabeled.payload.label }];
    await deliver("issues", withValues(unlabeled.payload, { "issue.labels": shown }));
    expect(await world.api.item(number)).toMatchObject({ admitted: true, admittedBy: "alice" });
  });
});

describe("row 13: ghosts", () => {
  it.each([
    ["no sender, no user", { sender: undefined, "pull_request.user": null, "pull_request.head.repo": null }],
    ["a null sender", { sender: null, "pull_request.user": null }],
  ])("a merge with %s completes the item", async (_, values) => {
    const number = await open("By a ghost");
    const pull = repo.as("alice").openPull({ head: `ghost-${number}`, body: `Fixes #${number}` });
    await world.settled();
    const kept = keepBack(world.github, () => repo.as("alice").merge(pull));
    const closed = kept.find(({ event, action }) => event === "pull_request" && action === "closed");
    await deliver("pull_request", withValues(closed?.payload, values));
    expect(await world.api.item(number)).toMatchObject({ state: "complete" });
    expect((await world.api.item(number)).tags).toContain(`pr:${pull}`);
  });

  it.each([
    ["no sender", { sender: undefined }],
    ["a null sender", { sender: null }],
    ["a sender without a name", { sender: { id: null, login: null, type: null } }],
    ["a mannequin", { "sender.type": "Mannequin" }],
    ["an organization", { "sender.type": "Organization" }],
  ])("the gate taken off by %s admits nothing, and is put back", async (_, values) => {
    const number = await open("Gated", "rita");
    const unlabeled = keepBackOne(world.github, "issues.unlabeled", () =>
      repo.as("alice").unlabel(number, "needs-specification"),
    );
    expect(repo.issue(number).labels).not.toContain("needs-specification");
    await deliver("issues", withValues(unlabeled.payload, values));
    expect(await world.api.item(number)).toMatchObject({ admitted: false });
    expect(repo.issue(number).labels).toContain("needs-specification");
  });

  it("an issue, a comment and a closing without anybody are mirrored, and change no state", async () => {
    const kept = keepBackOne(world.github, "issues.opened", () =>
      repo.as("alice").openIssue({ title: "Nobody's", labels: ["backlog"] }),
    );
    const { number } = kept.payload.issue;
    const nobody = { sender: null, "issue.user": null };
    await deliver(
      "issues",
      withValues(kept.payload, { ...nobody, "issue.labels": [{ id: 1, name: "backlog" }] }),
    );
    expect(await world.api.item(number)).toMatchObject({ author: null, admitted: false });
    const comment = keepBackOne(world.github, "issue_comment.created", () =>
      repo.as("alice").comment(number, "Boo"),
    );
    await deliver("issue_comment", withValues(comment.payload, { ...nobody, "comment.user": null }));
    const closed = keepBackOne(world.github, "issues.closed", () => repo.as("alice").close(number));
    await deliver("issues", withValues(closed.payload, nobody));
    expect(await world.api.item(number)).toMatchObject({ issueState: "closed", state: null });
  });
});

describe("row 14: null bodies", () => {
  it("an issue and a pull request without a text are mirrored, and refer to nothing", async () => {
    const kept = keepBackOne(world.github, "issues.opened", () =>
      repo.as("alice").openIssue({ title: "Terse", body: null, labels: ["backlog"] }),
    );
    expect(kept.payload.issue.body).toBeNull();
    const { number } = kept.payload.issue;
    await deliver("issues", withValues(kept.payload, { "issue.labels": [{ id: 1, name: "backlog" }] }));
    expect(await world.api.item(number)).toMatchObject({ title: "Terse", admitted: true });

    const pull = repo.as("alice").openPull({ head: `terse-${number}`, body: null });
    repo.as("alice").merge(pull);
    const comment = keepBackOne(world.github, "issue_comment.created", () =>
      repo.as("alice").comment(number, "x"),
    );
    await deliver("issue_comment", withValues(comment.payload, { "comment.body": null }));
    expect(await world.api.item(number)).toMatchObject({ state: null });
    const { rows } = await world.app.deps.database.pool.query(
      "select issue_number from pull_request_closes where pull_number = $1",
      [pull],
    );
    expect(rows).toEqual([]);
  });
});

describe("row 16: ids beyond int32", () => {
  it("come back as they were sent, wherever they stand", async () => {
    const big = 3_387_467_460_123;
    const kept = keepBackOne(world.github, "issues.opened", () =>
      repo.as("alice").openIssue({ title: "Numbers", labels: ["backlog"] }),
    );
    const { number } = kept.payload.issue;
    await deliver(
      "issues",
      withValues(kept.payload, {
        "issue.id": big,
        "issue.user.id": big + 1,
        "issue.labels": [{ id: big + 2, name: "backlog" }],
      }),
    );
    const comment = keepBackOne(world.github, "issue_comment.created", () =>
      repo.as("alice").comment(number, "x"),
    );
    await deliver(
      "issue_comment",
      withValues(comment.payload, {
        "issue.id": big,
        "issue.user.id": big + 1,
        "comment.id": big + 3,
        "comment.user.id": big + 1,
      }),
    );
    const label = {
      ...kept.payload,
      action: "created",
      label: { id: big + 2, name: "numbered", color: "fff" },
    };
    await deliver("label", label);

    const { db } = world;
    const issue = await db
      .selectFrom("issue")
      .select(["id", "author_id"])
      .where("number", "=", number)
      .execute();
    expect(issue).toEqual([{ id: big, author_id: big + 1 }]);
    const stored = await db
      .selectFrom("issue_comment")
      .select("id")
      .where("issue_number", "=", number)
      .execute();
    expect(stored).toEqual([{ id: big + 3 }]);
    const named = await db.selectFrom("label").select("id").where("name", "=", "numbered").execute();
    expect(named).toEqual([{ id: big + 2 }]);
  });
});

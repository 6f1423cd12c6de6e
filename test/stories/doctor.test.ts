/** The doctor: every difference between the store and GitHub with both sides, none when there is none, and repair. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../../src/edges/cli/run.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";

let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository("sick/widgets");
});
afterAll(() => world.end());

async function leasehold(...words: string[]): Promise<{ code: number; out: string }> {
  const lines: string[] = [];
  const terminal = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line) };
  const code = await runCli(words, () => ({ url: world.app.address, token: ADMIN_TOKEN }), terminal);
  return { code, out: lines.join("\n") };
}

describe("leasehold doctor", () => {
  it("finds nothing where nothing is, and exits with 0", async () => {
    const number = repo.as("alice").openIssue({ title: "Work", labels: ["backlog"] });
    repo.as("alice").openPull({ head: `feat/issue-${number}`, body: `Fixes #${number}` });
    await world.settled();
    expect(await leasehold("doctor", "sick/widgets")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/no difference in 1 issues, 1 pull requests/),
    });
  });

  it("prints each difference with both sides, exits with 1, and repairs", async () => {
    const alice = repo.as("alice");
    const [title, gone, blocked, pulled] = ["a", "b", "c", "d"].map((name) =>
      alice.openIssue({ title: name, labels: ["backlog"] }),
    ) as [number, number, number, number];
    const pull = alice.openPull({ head: `feat/issue-${pulled}`, body: `Fixes #${pulled}` });
    await world.settled();
    const marker = `<!-- backlog-worker: claim item=issue-${blocked} owner=worker/x region=local fence=1 at=2026-09-06T00:12:44Z -->`;
    world.github.silently(() => {
      alice.editIssue(title, { title: "Another title" });
      alice.label(title, "P0");
      alice.deleteIssue(gone);
      alice.blockBy(blocked, title);
      alice.push(`feat/issue-${pulled}`);
      alice.merge(pull);
      alice.openIssue({ title: "Unheard of", labels: ["backlog"] });
      alice.createLabel("colour");
      alice.comment(blocked, marker);
    });
    const { code, out } = await leasehold("doctor", "sick/widgets");
    expect(code).toBe(1);
    expect(out).toContain(`issue #${title}: title\n  store:  "a"\n  GitHub: "Another title"`);
    expect(out).toMatch(new RegExp(`issue #${title}: labels`));
    expect(out).toContain(`issue #${gone}: gone\n  store:  null\n  GitHub: "deleted"`);
    expect(out).toMatch(
      new RegExp(`link #${blocked} blockedBy: mem/backlog/issue-${title}\\n  store:  false\\n  GitHub: true`),
    );
    expect(out).toMatch(new RegExp(`pull_request #${pull}: state`));
    expect(out).toMatch(new RegExp(`branch feat/issue-${pulled}: head`));
    expect(out).toMatch(/exists\n {2}store: {2}null\n {2}GitHub: "Unheard of"/);
    expect(out).toMatch(/label colour: exists/);
    expect(out).toMatch(
      new RegExp(`comment \\d+ on #${blocked}: exists\\n {2}store: {2}null\\n {2}GitHub: "<!-- backlog`),
    );

    const repaired = await leasehold("doctor", "sick/widgets", "--repair");
    expect(repaired).toMatchObject({ code: 0, out: expect.stringMatching(/differences were repaired/) });
    await world.settled();
    expect(await leasehold("doctor", "sick/widgets", "--json")).toMatchObject({ code: 0 });
    const item = await world.api.with({ repo: "sick/widgets" }).item(pulled);
    expect(item).toMatchObject({ state: "complete" });
  });

  it("leaves a body that was edited just now to its event, and says so", async () => {
    const number = repo.as("alice").openIssue({ title: "Edited", body: "Before", labels: ["backlog"] });
    await world.settled();
    world.github.silently(() => repo.as("alice").editIssue(number, { body: "After" }));
    expect(await leasehold("doctor", "sick/widgets", "--repair")).toMatchObject({
      code: 1,
      out: expect.stringMatching(/store: {2}"Before"\n {2}GitHub: "After"[\s\S]*Run it again after that/),
    });
  });

  it("repairs the repository's own name, default branch and archival, and knows them by their new name", async () => {
    const moved = await world.repository("moving/widgets");
    await world.settled();
    world.github.silently(() => {
      world.github.renameRepository(moved, "gadgets");
      world.github.changeDefaultBranch(moved, "trunk");
      world.github.archive(moved);
    });
    const { out } = await leasehold("doctor", "moving/widgets");
    expect(out).toContain(
      'repository moving/widgets: name\n  store:  "moving/widgets"\n  GitHub: "moving/gadgets"',
    );
    expect(out).toContain('defaultBranch\n  store:  "main"\n  GitHub: "trunk"');
    expect(out).toContain("archived\n  store:  false\n  GitHub: true");
    const repaired = await leasehold("doctor", "moving/widgets", "--repair");
    expect(repaired).toMatchObject({ code: 0, out: expect.stringMatching(/moving\/gadgets: no difference/) });
  });

  it("says what is wrong with how it is called", async () => {
    expect(await leasehold("doctor")).toMatchObject({ code: 2 });
    expect(await leasehold("doctor", "widgets")).toMatchObject({
      code: 1,
      out: expect.stringMatching(/a repository is named owner\/name/),
    });
    expect(await leasehold("doctor", "nobody/knows")).toMatchObject({
      code: 1,
      out: expect.stringMatching(/not known here/),
    });
  });

  it("has nothing to compare where the App is not any more", async () => {
    const other = await world.repository("gone/widgets");
    world.github.removeFromInstallation(other);
    await world.settled();
    expect(await leasehold("doctor", "gone/widgets")).toMatchObject({
      code: 1,
      out: expect.stringMatching(/conflict: the GitHub App is not on gone\/widgets/),
    });
  });
});

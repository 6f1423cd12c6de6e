import { describe, expect, it } from "vitest";
import { isOwnPull, type OpenPull, recordedPulls } from "../../src/domain/own-pull.ts";

const HERE = 10;
const FORK = 77;
const pull = (change: Partial<OpenPull>): OpenPull => ({
  number: 12,
  headRef: "some-branch",
  headRepositoryId: HERE,
  authorAssociation: "NONE",
  closes: [],
  ...change,
});
const owns = (change: Partial<OpenPull>, recorded: number[] = []) =>
  isOwnPull(pull(change), { repositoryId: HERE, number: 7, recorded, epicBranch: "feat/epic/whole" });

describe("isOwnPull", () => {
  it.each<[string, boolean, Partial<OpenPull>, number[]?]>([
    ["a branch of this repository that names the item", true, { closes: [7] }],
    ["a branch of this repository that names another", false, { closes: [8] }],
    ["the item's working branch", true, { headRef: "feat/issue-7" }],
    ["the item's working branch under an epic", true, { headRef: "feat/epic/parser-issue-7" }],
    ["the branch of the epic that it integrates", true, { headRef: "feat/epic/whole" }],
    ["another epic's branch", false, { headRef: "feat/epic/parser" }],
    ["a fork's branch of that name", false, { headRepositoryId: FORK, headRef: "feat/epic/whole" }],
    ["another item's working branch", false, { headRef: "feat/issue-70" }],
    ["any branch, if the record names the pull request", true, {}, [12]],
    ["any branch, if the record names another", false, {}, [13]],
    ["a stranger's fork that names the item", false, { headRepositoryId: FORK, closes: [7] }],
    [
      "a stranger's fork with the working branch's name",
      false,
      { headRepositoryId: FORK, headRef: "feat/issue-7" },
    ],
    ["a stranger's fork that the record names", false, { headRepositoryId: FORK }, [12]],
    ["a fork that is gone", false, { headRepositoryId: null, closes: [7] }],
    [
      "a collaborator's fork that names the item",
      true,
      { headRepositoryId: FORK, authorAssociation: "COLLABORATOR", closes: [7] },
    ],
    [
      "a member's fork that the record names",
      true,
      { headRepositoryId: FORK, authorAssociation: "MEMBER" },
      [12],
    ],
    [
      "a collaborator's fork with the working branch's name only",
      false,
      { headRepositoryId: FORK, authorAssociation: "COLLABORATOR", headRef: "feat/issue-7" },
    ],
    [
      "a contributor's fork",
      false,
      { headRepositoryId: FORK, authorAssociation: "CONTRIBUTOR", closes: [7] },
    ],
  ])("%s: %s", (_, wanted, change, recorded) => expect(owns(change, recorded)).toBe(wanted));
});

describe("the pull requests that a record names", () => {
  const pulls = [pull({ number: 12, headRef: "wip/parser" }), pull({ number: 13, headRef: "main" })];
  const repository = { id: HERE, defaultBranch: "main" };
  const named = (branch: string | null, more: { tags?: string[]; pullNumber?: number } = {}, all = pulls) =>
    recordedPulls(
      all,
      { number: 7, tags: more.tags ?? [], location: { pullNumber: more.pullNumber ?? null, branch } },
      repository,
    );

  it.each<[string, number[], number[]]>([
    ["none", named(null), []],
    ["as pr:<n>", named(null, { tags: ["pr:4", "pr:5"] }), [4, 5]],
    ["by its number, where its holder left the work", named(null, { pullNumber: 9 }), [9]],
    ["from the branch where its holder left the work", named("wip/parser"), [12]],
    ["from another branch", named("wip/other"), []],
    ["from the default branch: the work of all", named("main"), []],
    [
      "from the item's own base: the work of several",
      named("wip/parser", { tags: ["baseBranch:wip/parser"] }),
      [],
    ],
    [
      "from an epic's branch: the work of several",
      named("feat/epic/whole", {}, [pull({ headRef: "feat/epic/whole" })]),
      [],
    ],
    [
      "from another item's working branch",
      named("feat/issue-8", {}, [pull({ headRef: "feat/issue-8" })]),
      [],
    ],
    [
      "from a fork's branch of that name",
      named("wip/parser", {}, [pull({ headRef: "wip/parser", headRepositoryId: FORK })]),
      [],
    ],
  ])("%s", (_, found, wanted) => expect(found).toEqual(wanted));

  it("nothing was recorded yet", () =>
    expect(recordedPulls(pulls, { number: 7, tags: [], location: null }, repository)).toEqual([]));
});

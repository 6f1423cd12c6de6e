import { describe, expect, it } from "vitest";
import { type PushFacts, touchesFile } from "../../src/domain/configuration-push.ts";

const FILE = ".github/leasehold.yml";
const push = (some: Partial<PushFacts>): PushFacts => ({
  created: false,
  deleted: false,
  forced: false,
  commits: [["src/a.ts"]],
  ...some,
});
const many = (count: number) => Array.from({ length: count }, () => ["src/a.ts"]);

describe("touchesFile", () => {
  it.each<[string, Partial<PushFacts>, ReturnType<typeof touchesFile>]>([
    ["other files only", {}, "no"],
    ["the file in one of its commits", { commits: [["src/a.ts"], [FILE], []] }, "yes"],
    ["a file whose path only ends so", { commits: [[`docs/${FILE}`]] }, "no"],
    ["2,047 commits", { commits: many(2_047) }, "no"],
    ["2,048 commits: others may be left out", { commits: many(2_048) }, "unknown"],
    ["2,048 commits, the file among them", { commits: [...many(2_047), [FILE]] }, "yes"],
    ["no list of commits", { commits: null }, "unknown"],
    ["no commits", { commits: [] }, "unknown"],
    ["commits that touch nothing", { commits: [[]] }, "no"],
    ["forced: what is taken away is not listed", { forced: true }, "unknown"],
    ["forced, the file listed: perhaps as it was", { forced: true, commits: [[FILE]] }, "unknown"],
    ["the branch is new", { created: true }, "unknown"],
    ["the branch is new, the file listed", { created: true, commits: [[FILE]] }, "yes"],
    ["the branch is gone", { deleted: true, commits: [] }, "no"],
  ])("%s", (_, facts, touched) => expect(touchesFile(push(facts), FILE)).toBe(touched));
});

import { describe, expect, it } from "vitest";
import { type AnchorPush, judgePush } from "../../src/domain/anchor-push.ts";

const ANCHORED = ["src/parser/", "docs/guide.md", "lib/**/*.ts", "app/[id]/page.tsx"];
const push = (some: Partial<AnchorPush> = {}): AnchorPush => ({
  before: "h1",
  created: false,
  deleted: false,
  forced: false,
  commits: [["README.md"]],
  ...some,
});
const many = (count: number, path = "README.md") => Array.from({ length: count }, () => [path]);

describe("a push that goes on from what was seen", () => {
  it.each<[string, Partial<AnchorPush>, boolean]>([
    ["touches nothing anchored", {}, false],
    ["touches nothing at all", { commits: [[]] }, false],
    ["touches an anchored file", { commits: [["docs/guide.md"]] }, true],
    ["touches a file whose path only begins so", { commits: [["docs/guide.md.bak"]] }, false],
    ["touches a file below an anchored directory", { commits: [["src/parser/deep/lexer.ts"]] }, true],
    ["touches a directory's neighbour", { commits: [["src/parsers.ts"]] }, false],
    ["puts a file where the directory was", { commits: [["src/parser"]] }, true],
    ["touches what a glob matches", { commits: [["lib/a/.b.ts"]] }, true],
    ["touches what the glob does not match", { commits: [["lib/a/b.md"]] }, false],
    ["touches a file with brackets in its name", { commits: [["app/[id]/page.tsx"]] }, true],
    ["touches it in the first of 21 commits", { commits: [["docs/guide.md"], ...many(20)] }, true],
    ["has 2,047 commits", { commits: many(2_047) }, false],
    ["has 2,048 commits: others may be left out (row 64)", { commits: many(2_048) }, true],
    ["lists no commits", { commits: null }, true],
    ["has none", { commits: [] }, true],
    ["is forced: what it takes away is not listed", { forced: true }, true],
  ])("%s: %s", (_, some, isRead) => {
    expect(judgePush(push(some), "h1", ANCHORED)).toEqual({ follows: true, isRead });
  });
});

describe("a push that does not", () => {
  it.each<[string, Partial<AnchorPush>, string | null]>([
    ["comes after one that was missed (row 9)", { before: "h2" }, "h1"],
    ["is the first that is heard of", {}, null],
    ["does not say what was before", { before: null }, "h1"],
    ["makes the branch", { created: true }, "h1"],
    ["takes the branch away", { deleted: true, commits: [] }, "h1"],
  ])("%s: the branch is read, and its head is not known", (_, some, seen) => {
    expect(judgePush(push(some), seen, ANCHORED)).toEqual({ follows: false, isRead: true });
  });
});

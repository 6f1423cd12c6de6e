/** Patterns of OIDC subjects. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesSubject, trustedCapabilities } from "../../src/domain/oidc-subject.ts";

describe("a pattern", () => {
  it.each([
    ["repo:a/b:ref:refs/heads/main", "repo:a/b:ref:refs/heads/main", true],
    ["repo:a/b:ref:refs/heads/main", "repo:a/b:ref:refs/heads/main2", false],
    ["repo:a/b:ref:refs/heads/main", "xrepo:a/b:ref:refs/heads/main", false],
    ["repo:a/b:*", "repo:a/b:pull_request", true],
    ["repo:a/b:*", "repo:a/bc:pull_request", false],
    ["repo:a/b:*", "repo:a/b", false],
    ["repo:a/b:ref:refs/heads/*", "repo:a/b:ref:refs/heads/feat/x", true],
    ["repo:a/b:ref:refs/heads/*", "repo:a/b:ref:refs/tags/v1", false],
    ["repo:a/b:*:x", "repo:a/b:y:x", true],
    ["repo:a/b:x*x", "repo:a/b:x", false],
    ["repo:a/b:r.f", "repo:a/b:ref", false],
  ])("%s and %s: %s", (pattern, subject, wanted) => {
    expect(matchesSubject(pattern, subject)).toBe(wanted);
  });

  it("agrees with the regular expression that it stands for", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", ":", "*"), maxLength: 8 });
    fc.assert(
      fc.property(letters, letters, (pattern, subject) => {
        const expression = new RegExp(`^${pattern.replaceAll("*", "[^]*")}$`);
        expect(matchesSubject(pattern, subject)).toBe(expression.test(subject));
      }),
      { numRuns: 2_000 },
    );
  });
});

it("of several that match, all give", () => {
  const trusted = { "repo:a/b:*": ["read"], "repo:a/b:x": ["claim"], "repo:a/b:y": ["author"] } as const;
  expect([...trustedCapabilities(trusted, "repo:a/b:x")]).toEqual(["read", "claim"]);
  expect([...trustedCapabilities(trusted, "repo:c/d:x")]).toEqual([]);
});

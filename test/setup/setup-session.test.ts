import { describe, expect, it } from "vitest";
import { SetupSessions, sessionCookie } from "../../src/edges/http/setup-session.ts";

const HOUR_MS = 3_600_000;

/** Sessions whose clock the test moves. */
function sessionsAt(start = 0) {
  let now = start;
  const sessions = new SetupSessions(() => now);
  return { sessions, pass: (ms: number) => (now += ms) };
}
const cookieOf = (value: string): string => sessionCookie(value, false).split(";", 1)[0] ?? "";

describe("the one-time code", () => {
  it("works once", () => {
    const { sessions } = sessionsAt();
    const code = sessions.issueCode();
    expect(sessions.redeem("another")).toBe(false);
    expect(sessions.redeem(code)).toBe(true);
    expect(sessions.redeem(code)).toBe(false);
  });

  it("is good for an hour", () => {
    const { sessions, pass } = sessionsAt();
    const code = sessions.issueCode();
    pass(HOUR_MS);
    expect(sessions.redeem(code)).toBe(false);
  });

  it("is not there until it is asked for", () => {
    const { sessions } = sessionsAt();
    expect(sessions.redeem("")).toBe(false);
    expect(sessions.redeem("undefined")).toBe(false);
  });
});

describe("a session", () => {
  it("is found by its cookie, among others, for an hour", () => {
    const { sessions, pass } = sessionsAt();
    const value = sessions.open();
    const cookies = `theme=dark; ${cookieOf(value)}; other`;
    expect(sessions.find(cookies)).not.toBeNull();
    expect(sessions.find(cookies)).toBe(sessions.find(cookieOf(value)));
    pass(HOUR_MS);
    expect(sessions.find(cookies)).toBeNull();
  });

  it("is not found by anything else", () => {
    const { sessions } = sessionsAt();
    const value = sessions.open();
    for (const cookies of [undefined, "", "leasehold_setup=", cookieOf(`${value}x`), `x${cookieOf(value)}`]) {
      expect(sessions.find(cookies)).toBeNull();
    }
  });

  it("takes each of its states once, and none of another's", () => {
    const { sessions } = sessionsAt();
    const mine = sessions.find(cookieOf(sessions.open()));
    const theirs = sessions.find(cookieOf(sessions.open()));
    const state = mine?.newState() ?? "";
    expect(theirs?.takeState(state)).toBe(false);
    expect(mine?.takeState(state)).toBe(true);
    expect(mine?.takeState(state)).toBe(false);
    mine?.returnState(state);
    expect(mine?.takeState(state)).toBe(true);
  });

  it("keeps to its path, out of scripts, and to https where there is https", () => {
    expect(sessionCookie("v", false)).toBe(
      "leasehold_setup=v; Path=/setup; HttpOnly; SameSite=Lax; Max-Age=3600",
    );
    expect(sessionCookie("v", true)).toMatch(/; Secure$/);
  });
});

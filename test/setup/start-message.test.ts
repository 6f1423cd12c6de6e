import { expect, it } from "vitest";
import { startMessage } from "../../src/start-message.ts";

const messageWith = (setupLink: string | null): string =>
  startMessage({
    address: "http://127.0.0.1:3000",
    setupLink,
    admin: { token: "lh_token", source: ".data/admin-token", isNew: false },
    config: { app: null, databaseUrl: null, dataDir: ".data" },
    color: false,
  });

it("without an App the start-up message has the link, on a line of its own", () =>
  expect(messageWith("http://127.0.0.1:3000/setup?code=abc")).toMatch(
    /\n +http:\/\/127\.0\.0\.1:3000\/setup\?code=abc\n/,
  ));

it("with an App it says what to do next", () => {
  expect(messageWith(null)).toContain('put the label "backlog"');
  expect(messageWith(null)).not.toContain("/setup");
});

it("no line ends in blanks", () => expect(messageWith("http://x/setup?code=abc")).not.toMatch(/ \n/));

/** The whole way of a newcomer: start without an App, follow the link, register, install, work. */

import { rm, stat } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { World } from "../harness/world.ts";
import { Browser, handOff } from "./support/set-up.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ unconfigured: true });
});
afterAll(() => world.end());

it("a fresh start becomes a working App without a restart", async () => {
  const { app, github } = world;
  const link = app.setupLink ?? "";
  expect(link).toMatch(/\/setup\?code=[\w-]{40,}$/);
  expect((await world.api.send("GET", "/health")).body.github).toBe("unconfigured");

  const browser = new Browser(app.address);
  expect((await browser.get(link.slice(app.address.length))).headers.get("location")).toBe("/setup");
  const page = await browser.post("/setup/start", { account: "personal", publicUrl: app.address });
  const { state, manifest } = handOff(page);
  expect(manifest.hook_attributes).toMatchObject({ url: `${app.address}/api/github/webhooks` });

  const done = await browser.get(`/setup/callback?code=${github.manifestCode()}&state=${state}`);
  expect(done.text).toContain("The App is registered");
  const envFile = /saved in <code>([^<]+)<\/code>/.exec(done.text)?.[1] ?? "";
  expect((await stat(envFile)).mode & 0o777).toBe(0o600);
  await rm(envFile);

  // Signed webhooks are taken, and GitHub accepts the App: what it installs is mirrored, and labels are made.
  const repo = await world.repository();
  const number = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
  await world.settled();
  expect((await world.api.claim(number, "worker/1")).granted).toBe(true);
  await world.settled();
  expect((await world.api.send("GET", "/health")).body.github).toBe("connected");
  expect(world.logged.text()).not.toContain(github.app.webhookSecret);
  expect(world.logged.text()).not.toContain(state);
  expect(world.logged.text()).not.toContain(new URL(link).searchParams.get("code"));
});

it("the pages are no part of the API's description", async () => {
  const { body } = await world.api.send("GET", "/openapi.json");
  expect(Object.keys(body.paths).filter((path) => path.startsWith("/setup"))).toEqual([]);
});

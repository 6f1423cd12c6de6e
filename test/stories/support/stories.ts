/** What several stories have in common: a world whose two clocks move together, and questions asked in words. */

import { expect } from "vitest";
import type { FakeRepository } from "../../fake-github/fake-repository.ts";
import type { ApiClient } from "../../harness/api-client.ts";
import { World, type WorldOptions } from "../../harness/world.ts";

export const GATE = "needs-specification";
export const STALE = "stale";

/** The App's own account on the fake GitHub. */
export const OWN_BOT = "leasehold[bot]";

export interface Stories {
  readonly world: World;
  /** GitHub's clock and the database's move on together. */
  pass(seconds: number): Promise<void>;
  /** Only GitHub's clock moves on: the next event carries another second. */
  later(seconds?: number): void;
}

/** A world whose GitHub keeps time with the database. */
export async function startStories(options: WorldOptions = {}): Promise<Stories> {
  let offsetMs = 0;
  const now = () => new Date(Date.now() + offsetMs);
  const world = await World.start({ ...options, github: { now, ...options.github } });
  return {
    world,
    pass: async (seconds) => {
      offsetMs += seconds * 1000;
      await world.pass(seconds);
    },
    later: (seconds = 1) => {
      offsetMs += seconds * 1000;
    },
  };
}

/** The codes of the defects that an item shows. */
export async function defectsOf(api: ApiClient, number: number): Promise<string[]> {
  const item = await api.item(number);
  return item.defects.map((defect: { code: string }) => defect.code);
}

export async function readyNumbers(api: ApiClient): Promise<number[]> {
  const { ready } = await api.ready("?limit=100");
  return ready.map((item: { number: number }) => item.number);
}

export async function expectReady(api: ApiClient, number: number): Promise<void> {
  expect(await readyNumbers(api)).toContain(number);
}

export async function expectNotReady(api: ApiClient, number: number): Promise<void> {
  expect(await readyNumbers(api)).not.toContain(number);
}

/** Takes the claim, which must be granted; answers the grant. */
export async function granted(api: ApiClient, number: number, owner: string, more: object = {}) {
  const answer = await api.claim(number, owner, more);
  expect(answer).toMatchObject({ granted: true });
  return answer as { granted: true; fencingToken: number; attempt: number; custodyChanged: boolean };
}

/** Asks for the claim, which must be refused with this reason. */
export async function expectRefused(api: ApiClient, number: number, reason: string): Promise<void> {
  expect(await api.claim(number, "worker/asks")).toMatchObject({ granted: false, reason });
}

/** What the App wrote on an issue. */
export const ownComments = (repo: FakeRepository, number: number): string[] =>
  repo
    .issue(number)
    .comments.filter(({ author }) => author === OWN_BOT)
    .map(({ body }) => body);

/** The App's claim markers on an issue. */
export const claimMarkers = (repo: FakeRepository, number: number): string[] =>
  ownComments(repo, number).filter((body) => body.startsWith("<!-- backlog-worker: claim "));

/** The App's outcome comments on an issue that tell of this result. */
export const outcomes = (repo: FakeRepository, number: number, result: string): string[] =>
  ownComments(repo, number).filter(
    (body) => body.startsWith("<!-- backlog-worker: outcome ") && body.includes(` result=${result} -->`),
  );

/** How often the App put labels on an issue. */
export const labelWrites = (world: World, repo: FakeRepository, number: number): number =>
  world.github.requestsTo("POST", `/repos/${repo.fullName}/issues/${number}/labels`).length;

// biome-ignore lint/suspicious/noExplicitAny: tests alter payloads of every shape
type Payload = any;

/** The change happens on GitHub, but its webhooks are lost; answers the only one's payload, to be sent altered. */
export function intercept(world: World, change: () => unknown): Payload {
  world.github.hold();
  change();
  const lost = world.github.drop();
  world.github.release();
  expect(lost).toHaveLength(1);
  return JSON.parse(lost[0]?.payload ?? "null");
}

/** The newest delivery with this action, which must exist. */
export function lastDelivery(world: World, action: string) {
  const found = world.github.deliveries.findLast((delivery) => delivery.action === action);
  if (!found) throw new Error(`nothing was delivered with the action ${action}`);
  return { ...found, body: JSON.parse(found.payload) as Payload };
}

/** GitHub does nothing at this path any more, until `github.clearFaults()`. */
export function down(world: World, path: string | RegExp): void {
  world.github.fault({ path, kind: "status", status: 503, times: 1000 });
}

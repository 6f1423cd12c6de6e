/**
 * A copy of PostgreSQL's folder, as a restored disk or a folder backup: the same identity, the same timeline. That it
 * had to be started gives it away.
 */

import { afterAll, expect, it } from "vitest";
import { copyFolder, startCluster, startOnFolder, type TestCluster } from "./support/cluster.ts";
import { backlogDatabase, bareToken } from "./support/databases.ts";
import { expectNoTokenTwice, startProgram } from "./support/program.ts";

const INFO = 30;
const clusters: TestCluster[] = [];
const kept = (cluster: TestCluster): TestCluster => {
  clusters.push(cluster);
  return cluster;
};
afterAll(async () => {
  for (const cluster of clusters.reverse()) await cluster.remove();
});

it("issues no token that the original issued after the copy was taken, nor while both run", async () => {
  const first = kept(await startCluster());
  const url = await backlogDatabase(first.url);
  const before = await startProgram(url);
  const early = await before.useAll();
  await before.stop();
  await first.stop();
  const folder = await copyFolder(first);

  const path = new URL(url).pathname;
  const on = (cluster: TestCluster) => new URL(path, cluster.url).href;
  const original = kept(await startOnFolder(first.folder, first));
  const one = await startProgram(on(original));
  const late = await one.useAll();

  const copy = kept(await startOnFolder(folder, first));
  // The danger is real: its sequence is behind.
  expect(await bareToken(on(copy))).toBeLessThan(Math.max(...late.map(({ token }) => token)));
  const other = await startProgram(on(copy));
  const copied = await other.useAll();
  const [more, copiedMore] = await Promise.all([one.useAll(), other.useAll()]);
  expectNoTokenTwice(early, late, more);
  expectNoTokenTwice(early, copied, copiedMore);
  const tokens = [late, more, copied, copiedMore].flat().map(({ token }) => token);
  expect(new Set(tokens).size).toBe(tokens.length);
  // An ordinary restart looks the same, and is no reason to warn.
  expect(one.raises()).toEqual([{ level: INFO, detail: expect.stringMatching(/: PostgreSQL was started/) }]);
  await one.stop();
  await other.stop();
});

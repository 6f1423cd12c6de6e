/** Labels of metrics are bounded, whatever GitHub or a caller brings. */

import { describe, expect, it } from "vitest";
import { Metrics } from "../../src/services/metrics.ts";

const request = {
  method: "GET",
  endpoint: "/repos/{owner}/{repo}/issues",
  status: 200,
  installationId: null,
  remaining: null,
};
const linesOf = async (metrics: Metrics, name: string) =>
  (await metrics.registry.metrics()).split("\n").filter((line) => line.startsWith(`leasehold_${name}`));

describe("requests to GitHub", () => {
  it.each([
    ["/repos/{owner}/{repo}/issues", "/repos/{owner}/{repo}/issues"],
    [
      "/app/installations/{installation_id}/access_tokens",
      "/app/installations/{installation_id}/access_tokens",
    ],
    ["/repos/acme/secret7/issues", "(others)"],
    ["https://api.github.com/repositories/1/issues?page=2", "(others)"],
    ["/user?x=1", "(others)"],
  ])("%s is told as %s", async (endpoint, label) => {
    const metrics = new Metrics();
    metrics.github({ ...request, endpoint });
    expect(await linesOf(metrics, "github_requests_total")).toEqual([
      `leasehold_github_requests_total{method="GET",endpoint="${label}",status="200"} 1`,
    ]);
  });

  it("that were not answered have no status", async () => {
    const metrics = new Metrics();
    metrics.github({ ...request, status: null });
    expect((await linesOf(metrics, "github_requests_total"))[0]).toContain('status="none"');
  });

  it("tell what is left of each installation's budget, of many under one label", async () => {
    const metrics = new Metrics();
    metrics.github({ ...request, installationId: 7, remaining: 4_999 });
    metrics.github({ ...request, installationId: 7, remaining: 4_998 });
    expect(await linesOf(metrics, "github_rate_limit_remaining")).toEqual([
      'leasehold_github_rate_limit_remaining{installation="7"} 4998',
    ]);
    for (let id = 100; id < 400; id += 1) metrics.github({ ...request, installationId: id, remaining: 1 });
    const lines = await linesOf(metrics, "github_rate_limit_remaining");
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toContain('installation="(others)"');
  });
});

it("a sweep that fails is counted, and fails", async () => {
  const metrics = new Metrics();
  await metrics.sweeping(async () => 2);
  await expect(metrics.sweeping(() => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(await linesOf(metrics, "sweep_runs_total")).toEqual([
    'leasehold_sweep_runs_total{result="ok"} 1',
    'leasehold_sweep_runs_total{result="error"} 1',
  ]);
  expect(await linesOf(metrics, "sweep_parked_items_total")).toEqual([
    "leasehold_sweep_parked_items_total 2",
  ]);
});

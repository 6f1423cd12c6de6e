/** The fake GitHub in a process of its own, so that what it holds in memory is not Leasehold's. */

import { FakeGitHub } from "../../test/fake-github/fake-github.ts";

/** What the parent asks for. */
export type Order =
  | { readonly kind: "fill"; readonly issues: number; readonly comments: number; readonly enrolled: number }
  | { readonly kind: "install"; readonly webhooks: string }
  | { readonly kind: "count" };

export type Answer =
  | {
      readonly kind: "ready";
      readonly url: string;
      readonly appId: number;
      readonly privateKey: string;
      readonly secret: string;
    }
  | { readonly kind: "installed" }
  /** Requests by what they ask for, numbers left out. */
  | { readonly kind: "counted"; readonly requests: Readonly<Record<string, number>> };

const TEXT = "What happened, what was expected, and how to see it again. ".repeat(20);
/** The history lies in the past, a change every minute. */
const MINUTE_MS = 60_000;

let clock: number | null = null;
const github = await FakeGitHub.start({ now: () => new Date(clock ?? Date.now()) });
const repo = github.repository("acme/widgets", { collaborators: { alice: "admin" } });

function fill(issues: number, comments: number, enrolled: number): void {
  clock = Date.now() - (issues + comments) * MINUTE_MS;
  const [alice, rita] = [repo.as("alice"), repo.as("rita")];
  const everyFew = Math.max(1, Math.floor(issues / Math.max(1, enrolled)));
  for (let n = 0; n < issues; n += 1) {
    clock += MINUTE_MS;
    const labels = n % everyFew === 0 && n / everyFew < enrolled ? ["backlog"] : ["question"];
    const number = alice.openIssue({ title: `Issue ${n}`, body: TEXT, labels });
    const upTo = Math.floor((comments * (n + 1)) / issues) - Math.floor((comments * n) / issues);
    for (let said = 0; said < upTo; said += 1) {
      clock += MINUTE_MS;
      rita.comment(number, TEXT);
    }
  }
  clock = null;
}

function count(): Record<string, number> {
  const counted: Record<string, number> = {};
  for (const { method, path } of github.requests) {
    const asked = `${method} ${path.replaceAll(/\d+/g, "{n}")}`;
    counted[asked] = (counted[asked] ?? 0) + 1;
  }
  return counted;
}

const answer = (what: Answer): void => void process.send?.(what);

process.on("message", (order: Order) => {
  switch (order.kind) {
    case "fill": {
      github.silently(() => fill(order.issues, order.comments, order.enrolled));
      const { id, privateKey, webhookSecret } = github.app;
      return answer({ kind: "ready", url: github.url, appId: id, privateKey, secret: webhookSecret });
    }
    case "install":
      github.deliverTo(order.webhooks);
      github.install(repo);
      return answer({ kind: "installed" });
    case "count":
      return answer({ kind: "counted", requests: count() });
  }
});

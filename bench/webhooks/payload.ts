/** `issues.labeled` as GitHub sends it, of some 12 KB, about one of many issues in one of many repositories. */

import { createHmac } from "node:crypto";

export const SECRET = "the-bench-signs-with-this";
export const FIRST_REPOSITORY = 1_000;

export interface Backlog {
  readonly repositories: number;
  /** In each. */
  readonly issues: number;
}

export const nameOf = (repositoryId: number): string => `widgets-${repositoryId}`;

/** What every payload carries along and nobody reads: users, links, texts. */
export const FILLING =
  "All that people write, and the addresses of everything that GitHub knows about it. ".repeat(120);

/** The delivery number `turn` about one issue: its priority becomes P0, P1, P2 or P3, one after the other. */
export function labeled(repositoryId: number, issue: number, turn: number): Buffer {
  const at = new Date(Date.UTC(2026, 0, 1) + turn * 1000).toISOString().replace(".000Z", "Z");
  const url = `https://github.com/acme/${nameOf(repositoryId)}`;
  const user = { id: 7, login: "alice", type: "User" };
  const label = { id: 70 + (turn % 4), name: `P${turn % 4}`, color: "ededed", description: null };
  return Buffer.from(
    JSON.stringify({
      action: "labeled",
      issue: {
        id: repositoryId * 100_000 + issue,
        number: issue,
        title: `Issue ${issue}`,
        body: FILLING,
        state: "open",
        state_reason: null,
        user,
        labels: [{ id: 60, name: "backlog", color: "ededed", description: null }, label],
        assignees: [],
        locked: false,
        milestone: null,
        html_url: `${url}/issues/${issue}`,
        created_at: "2026-01-01T00:00:00Z",
        updated_at: at,
        closed_at: null,
        author_association: "OWNER",
        performed_via_github_app: null,
      },
      label,
      repository: {
        id: repositoryId,
        name: nameOf(repositoryId),
        full_name: `acme/${nameOf(repositoryId)}`,
        owner: { id: 1, login: "acme", type: "Organization" },
        default_branch: "main",
        archived: false,
        html_url: url,
      },
      sender: user,
      installation: { id: 1 },
    }),
  );
}

export const signatureOf = (body: Buffer): string =>
  `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;

/** Examples of the bodies about tokens, events, resources, and what waits for GitHub. */

import type { z } from "zod";
import type { EventBody } from "../events.ts";
import type { InboxAnswer, InboxEntry, OutboxAnswer, OutboxEntry } from "../queues.ts";
import type { ResourceHistory, ResourceInterval, ResourceLeases } from "../resources.ts";
import type { CreatedToken, CreateToken, TokenBody, TokensAnswer } from "../tokens.ts";
import type { Example } from "./example.ts";

const AT = "2026-09-06T01:12:44.000Z";
const UNTIL = "2026-09-06T02:12:44.000Z";

const TOKEN: TokenBody = {
  id: "0b9f5f8c-2f6c-4c43-9ad5-6f0f5b8f0a01",
  name: "the red team's workers",
  capabilities: ["read", "claim", "write"],
  repos: ["acme/widgets"],
  scope: { rootIds: ["repo/acme/widgets/mem/backlog/issue-12"], tagsInclude: null },
  githubLogin: null,
  createdBy: "admin",
  createdAt: AT,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
};

const HELD = {
  key: "staging-db",
  account: "acme",
  holderItem: "repo/acme/widgets/mem/backlog/issue-7",
  acquiredAt: AT,
  expiresAt: UNTIL,
};

const PROMISE: OutboxEntry = {
  repositoryId: 4711,
  id: 99,
  repo: "acme/widgets",
  issue: 7,
  kind: "comment",
  promise: "claim:41",
  state: "failed",
  attempts: 14,
  error: "403 Resource not accessible by integration",
  createdAt: AT,
  nextTryAt: AT,
  finishedAt: UNTIL,
};

const DELIVERY: InboxEntry = {
  id: 1234,
  repositoryId: 4711,
  repo: "acme/widgets",
  deliveryId: "72d3162e-cc78-11e3-81ab-4c9367dc0958",
  event: "issues",
  action: "labeled",
  state: "failed",
  attempts: 14,
  error: "GitHub could not be asked who that is",
  receivedAt: AT,
  nextTryAt: AT,
  finishedAt: UNTIL,
};

export const FLEET_EXAMPLES = {
  CreateToken: [
    { title: "a worker's", value: { name: "worker 1", capabilities: ["read", "claim", "write"] } },
    {
      title: "of one team, below one epic",
      value: {
        name: TOKEN.name,
        capabilities: ["read", "claim", "write"],
        repos: ["acme/widgets"],
        scope: { rootIds: ["repo/acme/widgets/mem/backlog/issue-12"], tagsInclude: ["team:red"] },
        expiresAt: "2026-12-31T00:00:00Z",
      },
    },
  ] satisfies Example<z.input<typeof CreateToken>>[],
  CreatedToken: [
    { title: "with its secret, this once", value: { ...TOKEN, token: "lh_the_secret_of_the_token" } },
  ] satisfies Example<CreatedToken>[],
  Token: [
    { title: "revoked", value: { ...TOKEN, revokedAt: UNTIL, lastUsedAt: AT } },
  ] satisfies Example<TokenBody>[],
  Tokens: [
    { title: "one token", value: { tokens: [TOKEN], nextCursor: null } },
  ] satisfies Example<TokensAnswer>[],
  Event: [
    {
      title: "a claim",
      value: {
        owner: "worker/7f3a",
        region: "local",
        scope: "item",
        fencingToken: 41,
        custodyChanged: true,
        id: 1_796_058_924_286_153,
        type: "item.claimed",
        repo: "acme/widgets",
        number: 7,
        at: AT,
      },
    },
  ] satisfies Example<z.infer<typeof EventBody>>[],
  ResourceLeases: [{ title: "one is held", value: { leases: [HELD] } }] satisfies Example<ResourceLeases>[],
  ResourceHistory: [
    {
      title: "it was held, and given back",
      value: { intervals: [{ ...HELD, ended: "released", endedAt: UNTIL, endedBy: null }] },
    },
  ] satisfies Example<ResourceHistory>[],
  ResourceInterval: [
    { title: "taken away", value: { ...HELD, ended: "forced", endedAt: UNTIL, endedBy: "admin" } },
  ] satisfies Example<ResourceInterval>[],
  Outbox: [
    { title: "given up", value: { entries: [PROMISE], nextCursor: null } },
  ] satisfies Example<OutboxAnswer>[],
  OutboxEntry: [
    {
      title: "to be tried anew",
      value: { ...PROMISE, state: "pending", attempts: 0, error: null, finishedAt: null },
    },
  ] satisfies Example<OutboxEntry>[],
  Inbox: [
    { title: "given up", value: { entries: [DELIVERY], nextCursor: null } },
  ] satisfies Example<InboxAnswer>[],
  InboxEntry: [
    {
      title: "to be worked off anew",
      value: { ...DELIVERY, state: "pending", attempts: 0, error: null, finishedAt: null },
    },
  ] satisfies Example<InboxEntry>[],
};

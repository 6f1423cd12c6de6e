import { generateKeyPairSync } from "node:crypto";
import type { Account, GitHubApp, Permissions } from "./state/model.ts";

/** The App whose code the tests drive, with everything its operator would know. */
export type AppUnderTest = GitHubApp & {
  clientSecret: string;
  webhookSecret: string;
  /** PEM, PKCS#8. */
  privateKey: string;
  /** Keys that sign valid JSON web tokens. `rotatePrivateKey` adds and removes. */
  publicKeys: string[];
  /** Keys that were valid once. */
  revokedKeys: string[];
  bot: Account;
  botLogin: string;
  botId: number;
  hookId: number;
};

export const defaultPermissions: Permissions = {
  checks: "write",
  contents: "write",
  issues: "write",
  metadata: "read",
  pull_requests: "write",
  statuses: "read",
};

const subscribedEvents = [
  "check_run",
  "check_suite",
  "create",
  "delete",
  "issue_comment",
  "issue_dependencies",
  "issues",
  "label",
  "pull_request",
  "pull_request_review",
  "push",
  "repository",
  "status",
  "sub_issues",
];

export function createAppUnderTest(from: {
  owner: Account;
  bot: Account;
  hookId: number;
  permissions: Permissions;
  now: Date;
}): AppUnderTest {
  const { privateKey, publicKey } = sharedKeyPair();
  return {
    id: 120_745,
    slug: "leasehold",
    clientId: "Iv23liLEASEHOLD00001",
    clientSecret: "a-client-secret-of-the-fake",
    webhookSecret: "a-webhook-secret-of-the-fake",
    owner: from.owner,
    permissions: from.permissions,
    events: subscribedEvents,
    createdAt: from.now,
    privateKey,
    publicKeys: [publicKey],
    revokedKeys: [],
    bot: from.bot,
    botLogin: from.bot.login,
    botId: from.bot.id,
    hookId: from.hookId,
  };
}

export type KeyPair = { privateKey: string; publicKey: string };

export function generateKeyPair(): KeyPair {
  return generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

/** Making an RSA key takes about as long as a whole test, so one process makes one. */
function sharedKeyPair(): KeyPair {
  shared ??= generateKeyPair();
  return shared;
}

let shared: KeyPair | null = null;

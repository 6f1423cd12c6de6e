/** Examples of the bodies of claims, and of finishing items. */

import type { z } from "zod";
import type {
  ClaimGranted,
  ClaimHistory,
  ClaimNextAnswer,
  ClaimNextRequest,
  ClaimRefused,
  ClaimRequest,
  ClaimStatus,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from "../claims.ts";
import type {
  AdvanceManyAnswer,
  AdvanceManyRequest,
  AdvanceRequest,
  AdvanceResult,
  CompleteRequest,
  ParkRequest,
  TransitionsAnswer,
} from "../finishing.ts";
import type { Example } from "./example.ts";

const UNTIL = "2026-09-06T01:12:44.000Z";
const AT = "2026-09-06T00:57:44.000Z";
const KEY = "repo/acme/widgets/mem/backlog/issue-7";

export const CLAIM_EXAMPLES = {
  ClaimRequest: [
    { title: "an item, for fifteen minutes", value: { owner: "worker/7f3a", leaseSeconds: 900 } },
    { title: "waiting in line", value: { owner: "worker/7f3a", leaseSeconds: 900, maxWaitSeconds: 30 } },
    { title: "an epic with all below it", value: { owner: "lead/1", leaseSeconds: 1800, scope: "subtree" } },
  ] satisfies Example<z.input<typeof ClaimRequest>>[],
  ClaimGranted: [
    {
      title: "granted",
      value: {
        granted: true,
        key: KEY,
        number: 7,
        owner: "worker/7f3a",
        region: "local",
        scope: "item",
        fencingToken: 41,
        leaseSeconds: 900,
        leaseExpiresAt: UNTIL,
        attempt: 1,
        custodyChanged: true,
        previous: null,
        baseBranch: "main",
        workingBranch: "feat/issue-7",
        resume: null,
        overlaps: [],
        title: "Speed up the parser",
        url: "https://github.com/acme/widgets/issues/7",
      },
    },
  ] satisfies Example<z.infer<typeof ClaimGranted>>[],
  ClaimRefused: [
    {
      title: "another holds it",
      value: { granted: false, key: KEY, reason: "contended", retryAfterMs: 12_000, blockers: [] },
    },
    { title: "it waits for others", value: { granted: false, key: KEY, reason: "blocked", blockers: [3] } },
  ] satisfies Example<z.infer<typeof ClaimRefused>>[],
  ClaimSuperseded: [
    {
      title: "asked again under a key whose grant is over",
      value: { granted: false, key: KEY, reason: "superseded", blockers: [] },
    },
  ] satisfies Example<ClaimNextAnswer>[],
  ClaimNextRequest: [
    { title: "the best that is ready", value: { owner: "worker/7f3a", leaseSeconds: 900 } },
    {
      title: "of one team, the successor of what was just done first",
      value: { owner: "worker/7f3a", selector: { tags: ["team:red"], after: 3, orderBy: "priority" } },
    },
  ] satisfies Example<z.input<typeof ClaimNextRequest>>[],
  NoneReady: [
    {
      title: "nothing to claim",
      value: { granted: false, reason: "none_ready", verdict: "waiting", pending: 4 },
    },
  ] satisfies Example<ClaimNextAnswer>[],
  RenewRequest: [
    { title: "fifteen minutes from now", value: { fencingToken: 41, leaseSeconds: 900 } },
  ] satisfies Example<z.input<typeof RenewRequest>>[],
  RenewGranted: [
    {
      title: "renewed",
      value: {
        granted: true,
        fencingToken: 41,
        leaseSeconds: 900,
        leaseExpiresAt: UNTIL,
        leaseShortened: false,
        previousLeaseExpiresAt: AT,
      },
    },
  ] satisfies Example<RenewAnswer>[],
  RenewRefused: [
    { title: "stop at once", value: { granted: false, reason: "superseded" } },
  ] satisfies Example<RenewAnswer>[],
  ReleaseRequest: [
    { title: "with why", value: { fencingToken: 41, note: "The fixture is missing." } },
  ] satisfies Example<z.input<typeof ReleaseRequest>>[],
  Released: [{ title: "released", value: { released: true } }] satisfies Example<ReleaseAnswer>[],
  NotReleased: [
    { title: "another holds it by now", value: { released: false, reason: "stale" } },
  ] satisfies Example<ReleaseAnswer>[],
  ClaimHistory: [
    {
      title: "one grant",
      value: {
        key: KEY,
        claims: [
          {
            fencingToken: 41,
            owner: "worker/7f3a",
            region: "local",
            scope: "item",
            grantedAt: AT,
            newAttempt: true,
            previousFencingToken: null,
            ended: null,
            endedAt: null,
            consumedCredentials: [],
          },
        ],
        nextCursor: null,
      },
    },
  ] satisfies Example<ClaimHistory>[],
  ClaimStatus: [
    {
      title: "held",
      value: {
        key: KEY,
        exists: true,
        claimed: true,
        isHeld: true,
        owner: "worker/7f3a",
        region: "local",
        scope: "item",
        fencingToken: 41,
        leaseExpiresAt: UNTIL,
        releasedAt: null,
        queueDepth: 0,
        grants: 1,
        authoritative: false,
      },
    },
  ] satisfies Example<ClaimStatus>[],
  CompleteRequest: [
    { title: "by its merged pull request", value: { pullRequest: 12 } },
    { title: "research", value: { durable: ["issue-comment:123", "mem/decisions/use-leases"] } },
  ] satisfies Example<z.input<typeof CompleteRequest>>[],
  ParkRequest: [
    {
      title: "a question",
      value: {
        reason: "The specification names two formats.",
        rulingOwner: "alice",
        question: "JSON or YAML?",
      },
    },
  ] satisfies Example<z.input<typeof ParkRequest>>[],
  AdvanceRequest: [
    { title: "start", value: { trigger: "start", owner: "lead/1", leaseSeconds: 900 } },
    { title: "hold", value: { trigger: "hold", summary: "Waits for the vendor." } },
  ] satisfies Example<z.input<typeof AdvanceRequest>>[],
  AdvanceResult: [
    {
      title: "started",
      value: {
        number: 7,
        trigger: "start",
        applied: true,
        role: "work",
        fencingToken: 41,
        leaseExpiresAt: UNTIL,
      },
    },
  ] satisfies Example<AdvanceResult>[],
  AdvanceManyRequest: [
    {
      title: "two",
      value: {
        transitions: [
          { number: 7, trigger: "complete", fencingToken: 41, pullRequest: 12 },
          { number: 8, trigger: "start" },
        ],
      },
    },
  ] satisfies Example<z.input<typeof AdvanceManyRequest>>[],
  AdvanceResults: [
    {
      title: "one of two",
      value: {
        results: [
          { number: 7, trigger: "complete", applied: true, role: "terminal" },
          {
            number: 8,
            trigger: "start",
            applied: false,
            role: "work",
            error: "the claim was refused: contended",
            errorKind: "transient",
            errorCode: "contended",
            retryAfterMs: 12_000,
          },
        ],
        summary: { total: 2, succeeded: 1, failed: 1 },
      },
    },
  ] satisfies Example<AdvanceManyAnswer>[],
  Transitions: [
    {
      title: "claimed",
      value: {
        transitions: [
          {
            at: AT,
            trigger: "start",
            actor: "worker/7f3a",
            from: "queue",
            to: "work",
            summary: null,
            fencingToken: 41,
          },
        ],
        nextCursor: null,
      },
    },
  ] satisfies Example<TransitionsAnswer>[],
};

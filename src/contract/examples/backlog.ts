/** Examples of the backlog's bodies. */

import type { z } from "zod";
import type { AttemptsAnswer } from "../attempts.ts";
import type { ItemBody, ItemPatch, ItemsAnswer, ReadyAnswer } from "../items.ts";
import type {
  BacklinksAnswer,
  BreadcrumbsAnswer,
  ChildrenAnswer,
  DependenciesAnswer,
  EdgesAnswer,
  ValidateEdges,
} from "../links.ts";
import type { Report } from "../report.ts";
import type { Example } from "./example.ts";

const AT = "2026-09-06T01:12:44.000Z";
export const key = (number: number) => `repo/acme/widgets/mem/backlog/issue-${number}`;
export const url = (number: number) => `https://github.com/acme/widgets/issues/${number}`;

export const ITEM: ItemBody = {
  key: key(7),
  number: 7,
  title: "Speed up the parser",
  url: url(7),
  state: null,
  role: "queue",
  issueState: "open",
  stateReason: null,
  labels: ["backlog", "P1"],
  tags: ["backlog", "priority:P1", "phase:implementation", "homeRegion:local", "baseBranch:main", "team:red"],
  links: { blockedBy: [key(3)], anchoredTo: ["repo/acme/widgets/file/src/parser.ts"] },
  priority: "P1",
  phase: "implementation",
  baseBranch: "main",
  homeRegion: "local",
  epic: null,
  admitted: true,
  admittedBy: "alice",
  author: "alice",
  isClaimed: false,
  attempts: { markers: 1, grants: 1, threshold: 3, poison: false, reading: "consistent" },
  resume: null,
  resumable: false,
  stale: false,
  staleLinks: [],
  anchors: "fresh",
  resourceLeases: [],
  defects: [],
  reasons: [{ reason: "blocked", on: [3], detail: "waits for #3" }],
  createdAt: "2026-09-01T08:00:00.000Z",
  updatedAt: AT,
};

const end = (number: number, title: string) => ({
  key: key(number),
  number,
  title,
  url: url(number),
  state: null,
});
const named = (number: number, title: string) => ({ number, title, url: url(number) });

export const BACKLOG_EXAMPLES = {
  Item: [{ title: "an item that waits", value: ITEM }] satisfies Example<ItemBody>[],
  Items: [{ title: "a page", value: { items: [ITEM], nextCursor: null } }] satisfies Example<
    z.infer<typeof ItemsAnswer>
  >[],
  ItemPatch: [
    { title: "a link", value: { links: { add: { blockedBy: ["mem/backlog/issue-3"] } } } },
    { title: "a tag instead of another", value: { tags: { add: ["team:blue"], remove: ["team:red"] } } },
    {
      title: "what is done and left, under the claim",
      value: {
        resume: {
          lastLocation: {
            branch: "feat/issue-7",
            pullRequest: null,
            sha: "0123456789abcdef0123456789abcdef01234567",
          },
          resumeNote: "The tokenizer is done; the printer is left.",
        },
      },
    },
  ] satisfies Example<z.input<typeof ItemPatch>>[],
  ReadySet: [
    {
      title: "something to do",
      value: {
        verdict: "ready",
        pending: 3,
        ready: [{ ...ITEM, links: {}, reasons: [] }],
        overlapping: [{ number: 8, with: [9] }],
        waiting: [{ number: 11, reasons: [{ reason: "blocked", on: [7], detail: "waits for #7" }] }],
        inFlight: [{ number: 9, leaseExpiresAt: AT, isHeld: true }],
        awaitingAdmission: [12],
        parked: [5],
        defects: [],
        totals: {
          ready: 1,
          overlapping: 1,
          waiting: 1,
          inFlight: 1,
          awaitingAdmission: 1,
          parked: 1,
          defects: 0,
        },
      },
    },
  ] satisfies Example<ReadyAnswer>[],
  Report: [
    {
      title: "where we are",
      value: {
        repository: "acme/widgets",
        at: AT,
        verdict: "ready",
        summary: ["1 item is ready.", "1 question waits for a ruling."],
        inFlight: [
          {
            ...named(9, "Print faster"),
            owner: "worker/7f3a",
            attempt: 1,
            leaseExpiresAt: AT,
            isHeld: true,
            branch: "feat/issue-9",
            resumeNote: null,
            pullRequest: { number: 21, url: "https://github.com/acme/widgets/pull/21", checks: "pending" },
          },
        ],
        ready: [{ ...named(7, ITEM.title), priority: "P1", why: "P1, the oldest" }],
        overlapping: [],
        blocked: [
          {
            ...named(11, "Use it"),
            reasons: [{ reason: "blocked", on: [7], detail: "waits for #7" }],
            why: "waits for #7",
          },
        ],
        parked: [
          {
            ...named(5, "Which format?"),
            reason: "The specification names two.",
            rulingOwner: "alice",
            question: "JSON or YAML?",
            attempts: 1,
          },
        ],
        awaitingAdmission: [{ ...named(12, "An idea"), author: "robo", since: AT }],
        defects: [],
        divergences: [],
        anchors: { anchored: 1, pending: 4, percent: 25 },
        totals: { ready: 1, inFlight: 1, blocked: 1, parked: 1, awaitingAdmission: 1, defects: 0 },
      },
    },
  ] satisfies Example<Report>[],
  ReportMarkdown: [
    {
      title: "where we are",
      value:
        "# acme/widgets: where are we?\n\n**1 item is ready.**\n\n## Ready, and why in this order\n\n- #7 Speed up the parser: P1, the oldest\n",
    },
  ] satisfies Example<string>[],
  Attempts: [
    {
      title: "two grants, of which one counts",
      value: {
        key: key(7),
        number: 7,
        count: 1,
        threshold: 3,
        poison: false,
        reading: "consistent",
        countedAfter: null,
        attempts: [
          {
            fencingToken: 42,
            counts: false,
            reason: "custody_unchanged",
            why: "the same owner took its own lapsed claim again, the first time in this attempt",
            grant: { owner: "worker/7f3a", grantedAt: AT, newAttempt: false, ended: null },
            marker: null,
          },
          {
            fencingToken: 41,
            counts: true,
            reason: "grant",
            why: "a grant that started an attempt",
            grant: {
              owner: "worker/7f3a",
              grantedAt: "2026-09-06T00:12:44.000Z",
              newAttempt: true,
              ended: "lapsed",
            },
            marker: {
              owner: "worker/7f3a",
              commentId: 123,
              url: `${url(7)}#issuecomment-123`,
              byApp: true,
              countedAt: "2026-09-06T00:12:46.000Z",
            },
          },
        ],
        nextCursor: null,
      },
    },
  ] satisfies Example<AttemptsAnswer>[],
  Children: [
    { title: "one part", value: { children: [{ ...ITEM, epic: 2 }], nextCursor: null } },
  ] satisfies Example<z.infer<typeof ChildrenAnswer>>[],
  Breadcrumbs: [
    { title: "from the root down", value: { breadcrumbs: [end(1, "Release 2"), end(2, "The parser")] } },
  ] satisfies Example<z.infer<typeof BreadcrumbsAnswer>>[],
  Dependencies: [
    {
      title: "what it waits for, and what waits for it",
      value: {
        dependencies: [
          {
            direction: "blockedBy",
            ...end(3, "A tokenizer"),
            status: "waiting",
            satisfied: false,
            rulingOwner: null,
            question: null,
            own: true,
            native: false,
          },
          {
            direction: "blocks",
            ...end(11, "Use it"),
            status: "waiting",
            satisfied: false,
            rulingOwner: null,
            question: null,
            own: true,
            native: true,
          },
        ],
        nextCursor: null,
      },
    },
  ] satisfies Example<z.infer<typeof DependenciesAnswer>>[],
  Backlinks: [
    {
      title: "an item and a record",
      value: {
        backlinks: [
          { relation: "blockedBy", ...end(11, "Use it"), own: true, native: false },
          {
            relation: "related",
            key: "repo/acme/widgets/mem/gotchas/slow-lines",
            number: null,
            title: "Long lines are slow",
            url: null,
            state: null,
            own: true,
            native: false,
          },
        ],
        nextCursor: null,
      },
    },
  ] satisfies Example<z.infer<typeof BacklinksAnswer>>[],
  ValidateEdges: [
    {
      title: "two edges",
      value: {
        edges: [
          { from: 7, relation: "blockedBy", to: 3 },
          { from: 3, relation: "blockedBy", to: 7 },
        ],
      },
    },
  ] satisfies Example<z.input<typeof ValidateEdges>>[],
  EdgeVerdicts: [
    {
      title: "the second closes a circle",
      value: {
        edges: [
          { ok: true },
          {
            ok: false,
            code: "cycle",
            detail: "the items would wait for each other: #3 → #7 → #3",
            path: [key(3), key(7), key(3)],
          },
        ],
      },
    },
  ] satisfies Example<z.infer<typeof EdgesAnswer>>[],
};

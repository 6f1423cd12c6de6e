/** Examples of memory's bodies, and of those about the whole installation. */

import type { z } from "zod";
import type { ForgetAnswer, NoRecord, RecordAnswer, RememberRequest, UpdateRequest } from "../memory.ts";
import type { NeighborsAnswer, ScanAnswer, SearchAnswer, TopicsAnswer } from "../memory-reading.ts";
import type { HealthAnswer, ReposAnswer } from "../operations.ts";
import type { Example } from "./example.ts";

const KEY = "repo/acme/widgets/mem/decisions/use-leases";
const AT = "2026-09-06T01:12:44.000Z";

const RECORD: RecordAnswer = {
  exists: true,
  key: KEY,
  topic: "decisions",
  id: "use-leases",
  kind: "Decision",
  title: "Use leases",
  body: "A flag that a dead worker leaves set strands its item; a lease runs out.",
  author: "worker/7f3a",
  provenance: "issue #7",
  tags: ["area:claims"],
  links: {
    informs: ["repo/acme/widgets/mem/backlog/issue-7"],
    anchoredTo: ["repo/acme/widgets/file/src/claims.ts"],
  },
  createdAt: AT,
  updatedAt: AT,
  writtenBy: "token/0199f7a2-5c1e-7d43-9b1a-2f6c8e4d7a10",
  expiresAt: null,
  stale: false,
  staleLinks: [],
  unknownRelations: [],
};

export const MEMORY_EXAMPLES = {
  RememberRequest: [
    {
      title: "a decision, anchored to the code that it is about",
      value: {
        title: RECORD.title,
        body: RECORD.body,
        kind: "Decision",
        author: "worker/7f3a",
        tags: ["area:claims"],
        links: { anchoredTo: ["file/src/claims.ts"], informs: ["mem/backlog/issue-7"] },
      },
    },
    {
      title: "a handoff that runs out",
      value: { title: "The branch is rebased", kind: "Handoff", expiresAt: "2026-09-13T00:00:00Z" },
    },
  ] satisfies Example<z.input<typeof RememberRequest>>[],
  UpdateRequest: [
    {
      title: "a tag instead of another, and one link less",
      value: {
        tags: { add: ["area:leases"], remove: ["area:claims"] },
        links: { remove: { informs: ["mem/backlog/issue-7"] } },
      },
    },
  ] satisfies Example<z.input<typeof UpdateRequest>>[],
  Record: [{ title: "a record", value: RECORD }] satisfies Example<RecordAnswer>[],
  NoRecord: [{ title: "absent or expired", value: { exists: false, key: KEY } }] satisfies Example<
    z.infer<typeof NoRecord>
  >[],
  Forgotten: [
    { title: "forgotten", value: { key: KEY, forgotten: true, expiresAt: null } },
    { title: "it lapses", value: { key: KEY, forgotten: false, expiresAt: AT } },
  ] satisfies Example<ForgetAnswer>[],
  Topics: [
    {
      title: "two topics",
      value: {
        topics: [
          { topic: "backlog", records: 120 },
          { topic: "decisions", records: 14 },
        ],
        nextCursor: null,
      },
    },
  ] satisfies Example<TopicsAnswer>[],
  Scan: [
    {
      title: "a page",
      value: {
        records: [{ ...RECORD, stale: null, staleLinks: null }],
        nextCursor: "WyJyZWNvcmQiLCJ1c2UtbGVhc2VzIl0",
      },
    },
  ] satisfies Example<ScanAnswer>[],
  SearchResults: [
    {
      title: "one result",
      value: {
        results: [
          {
            key: KEY,
            topic: "decisions",
            id: "use-leases",
            kind: "Decision",
            title: "Use leases",
            tags: ["area:claims"],
            author: "worker/7f3a",
            createdAt: AT,
            updatedAt: AT,
            expiresAt: null,
            rank: 0.61,
            highlights: {
              title: "Use <mark>leases</mark>",
              body: "strands its item; a <mark>lease</mark> runs out",
            },
          },
        ],
        capped: false,
      },
    },
  ] satisfies Example<SearchAnswer>[],
  Neighbors: [
    {
      title: "a decision and the item that it informs",
      value: {
        key: KEY,
        depth: 1,
        nodes: [
          {
            key: KEY,
            depth: 0,
            type: "record",
            exists: true,
            kind: "Decision",
            title: "Use leases",
            number: null,
            url: null,
            state: null,
            tags: ["area:claims"],
          },
          {
            key: "repo/acme/widgets/mem/backlog/issue-7",
            depth: 1,
            type: "item",
            exists: true,
            kind: "Note",
            title: "Speed up the parser",
            number: 7,
            url: "https://github.com/acme/widgets/issues/7",
            state: null,
            tags: ["backlog", "priority:P1"],
          },
        ],
        edges: [{ from: KEY, to: "repo/acme/widgets/mem/backlog/issue-7", relation: "informs" }],
        truncated: false,
      },
    },
  ] satisfies Example<NeighborsAnswer>[],
  Repositories: [
    {
      title: "one repository",
      value: {
        repos: [
          { owner: "acme", name: "widgets", id: 4711, installed: true, items: 120, mirrorAgeSeconds: 12 },
        ],
        nextCursor: null,
      },
    },
  ] satisfies Example<ReposAnswer>[],
  Health: [
    { title: "for anybody", value: { status: "ok", version: "0.1.0" } },
    {
      title: "with a token",
      value: {
        status: "ok",
        version: "0.1.0",
        database: "ok",
        migrations: { applied: "0015_memory", pending: 0 },
        inbox: { pending: 0, oldestSeconds: null, failed: 0, failures: [] },
        outbox: { pending: 1, oldestSeconds: 2, failed: 0, held: 0 },
        github: "connected",
        repos: [{ repo: "acme/widgets", mirrorAgeSeconds: 12, config: [] }],
      },
    },
  ] satisfies Example<HealthAnswer>[],
  Metrics: [
    {
      title: "a counter",
      value:
        '# HELP leasehold_claims_total Claims, by outcome\n# TYPE leasehold_claims_total counter\nleasehold_claims_total{outcome="granted"} 41\n',
    },
  ] satisfies Example<string>[],
};

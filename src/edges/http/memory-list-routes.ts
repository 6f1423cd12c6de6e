/** Memory as a whole: topics, scans, new records, search, and what is linked with what. */

import { randomUUID } from "node:crypto";
import { BacklinksAnswer, LinksQuery } from "../../contract/links.ts";
import { RecordAnswer, RememberRequest } from "../../contract/memory.ts";
import {
  NeighborsAnswer,
  NeighborsQuery,
  ScanAnswer,
  ScanQuery,
  SearchAnswer,
  SearchQuery,
  TopicsAnswer,
  TopicsQuery,
} from "../../contract/memory-reading.ts";
import { Problem } from "../../contract/problem.ts";
import type { Deps } from "../../services/deps.ts";
import { scan, topics } from "../../services/memory-lists.ts";
import { neighbors } from "../../services/neighbors.ts";
import { backlinksOfRecord } from "../../services/read-links.ts";
import { remember } from "../../services/remember.ts";
import { repositoryByName } from "../../services/repository-by-name.ts";
import { searchMemory } from "../../services/search-memory.ts";
import { keyed } from "./once-of.ts";
import { KEYED_CODES, READ_CODES, refusing } from "./refusals.ts";
import {
  FenceHeaders,
  RecordParams,
  RepoParams,
  type Routes,
  repositoryName,
  TopicParams,
} from "./route-schemas.ts";

const REPO = "/api/v1/repos/:owner/:repo";
const tags = ["Memory"];

export function memoryListRoutes(app: Routes, deps: Deps): void {
  app.get(
    `${REPO}/memory`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listTopics",
        summary: "Topics, with how many records each has",
        description: "By name. What has expired is not counted, and counts are exact up to 10,000.",
        tags,
        params: RepoParams,
        querystring: TopicsQuery,
        response: { 200: TopicsAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return topics(deps, request.caller, repository, request.query);
    },
  );
  app.get(
    `${REPO}/memory/:topic`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "scanTopic",
        summary: "Scan a topic, page by page",
        description:
          "By id, so that pages are stable: a record that is there throughout is in exactly one, whatever is written meanwhile. A scan does not evaluate staleness (`stale: null`). A page ends early when its texts are long.",
        tags,
        params: TopicParams,
        querystring: ScanQuery,
        response: { 200: ScanAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return scan(deps, request.caller, repository, request.params.topic, request.query);
    },
  );
  app.post(
    `${REPO}/memory/:topic`,
    {
      config: { capability: "write", scope: "filtered" },
      schema: {
        operationId: "addRecord",
        summary: "Remember under an id that is made up",
        description:
          "For notes that nobody needs to find by name. A record that is yet to be made cannot be claimed, so a Fencing-Token is refused.",
        tags,
        params: TopicParams,
        headers: FenceHeaders,
        body: RememberRequest,
        response: {
          201: RecordAnswer,
          ...refusing(
            ...KEYED_CODES,
            "conflict",
            "field_not_settable",
            "ttl_forbidden",
            "reserved",
            "not_claimable",
          ),
        },
      },
    },
    async (request, reply) => {
      if (request.headers["fencing-token"] !== undefined) {
        throw new Problem(
          "not_claimable",
          "a record that is yet to be made cannot be claimed; leave Fencing-Token out, or PUT the record you claimed",
        );
      }
      const { topic } = request.params;
      const name = repositoryName(request.params);
      const { record } = await keyed(
        deps,
        request,
        reply,
        (inside) => {
          const address = { repository: name, topic, id: randomUUID() };
          return remember(inside, request.caller, address, null, request.body);
        },
        (written) => ({ status: 201, answer: written.record }),
      );
      return reply.status(201).send(record);
    },
  );
  app.get(
    `${REPO}/memory/:topic/:id/backlinks`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listRecordBacklinks",
        summary: "Items and records that link to a record",
        description: "By any relation. The record itself need not be there.",
        tags,
        params: RecordParams,
        querystring: LinksQuery,
        response: { 200: BacklinksAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const { topic, id } = request.params;
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return backlinksOfRecord(deps, { repository, topic, id }, request.query, request.caller);
    },
  );
  app.get(
    `${REPO}/memory-search`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "searchMemory",
        summary: "Search memory: full text, ranked, with highlights",
        description:
          "PostgreSQL's full-text search, in English word forms, over ids, titles, tags, and the first 100,000 characters of bodies. Those whose titles match come first. Items are searched by `R/items?q=`; what is written on their records is found here too.",
        tags,
        params: RepoParams,
        querystring: SearchQuery,
        response: { 200: SearchAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return searchMemory(deps, request.caller, repository, request.query);
    },
  );
  app.get(
    `${REPO}/neighbors`,
    {
      config: { capability: "read", scope: "filtered" },
      schema: {
        operationId: "listNeighbors",
        summary: "What is linked with a record or a file, in both directions",
        description:
          "Up to three links away and at most a hundred nodes; larger numbers are brought within these bounds. What is out of the caller's scope is neither shown nor passed through.",
        tags,
        params: RepoParams,
        querystring: NeighborsQuery,
        response: { 200: NeighborsAnswer, ...refusing(...READ_CODES) },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return neighbors(deps, request.caller, repository, request.query);
    },
  );
}

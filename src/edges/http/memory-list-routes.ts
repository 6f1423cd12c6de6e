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
import {
  FenceHeaders,
  fenceRefusals,
  RecordParams,
  RepoParams,
  type Routes,
  refusals,
  repositoryName,
  TopicParams,
} from "./route-schemas.ts";

const REPO = "/api/v1/repos/:owner/:repo";
const tags = ["Memory"];

export function memoryListRoutes(app: Routes, deps: Deps): void {
  app.get(
    `${REPO}/memory`,
    {
      config: { capability: "read" },
      schema: {
        summary: "Topics, with how many records each has",
        tags,
        params: RepoParams,
        querystring: TopicsQuery,
        response: { 200: TopicsAnswer, ...refusals },
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
      config: { capability: "read" },
      schema: {
        summary: "Scan a topic, page by page",
        tags,
        params: TopicParams,
        querystring: ScanQuery,
        response: { 200: ScanAnswer, ...refusals },
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
      config: { capability: "write" },
      schema: {
        summary: "Remember under an id that is made up",
        tags,
        params: TopicParams,
        headers: FenceHeaders,
        body: RememberRequest,
        response: { 201: RecordAnswer, ...fenceRefusals },
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
      config: { capability: "read" },
      schema: {
        summary: "Items and records that link to a record",
        tags,
        params: RecordParams,
        querystring: LinksQuery,
        response: { 200: BacklinksAnswer, ...refusals },
      },
    },
    async (request) => {
      const { topic, id } = request.params;
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return backlinksOfRecord(deps, { repository, topic, id }, request.query);
    },
  );
  app.get(
    `${REPO}/memory-search`,
    {
      config: { capability: "read" },
      schema: {
        summary: "Search memory: full text, ranked, with highlights",
        tags,
        params: RepoParams,
        querystring: SearchQuery,
        response: { 200: SearchAnswer, ...refusals },
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
      config: { capability: "read" },
      schema: {
        summary: "What is linked with a record or a file, in both directions",
        tags,
        params: RepoParams,
        querystring: NeighborsQuery,
        response: { 200: NeighborsAnswer, ...refusals },
      },
    },
    async (request) => {
      const repository = await repositoryByName(deps, repositoryName(request.params));
      return neighbors(deps, request.caller, repository, request.query);
    },
  );
}

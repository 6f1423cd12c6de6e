/** What is asked of a backlog, through the program as it runs, each figure by one caller unless it says otherwise. */

import type { App } from "../../src/app.ts";
import { ADMIN } from "../../src/services/caller.ts";
import { claimNext } from "../../src/services/claim-next.ts";
import { repositoryByName } from "../../src/services/repository-by-name.ts";
import { offeredHead } from "../../src/store/ready-items.ts";
import { HttpConnection } from "../claims/http-connection.ts";
import { TOKEN } from "../claims/leasehold.ts";
import { measure, percentile } from "../claims/measure.ts";
import { query, REPOSITORY } from "../claims/stage.ts";
import { byNotExists, INDEX_FOR_NOT_EXISTS, NO_INDEX_FOR_NOT_EXISTS, naively } from "./naive.ts";

const LIMIT = 20;
const R = "/api/v1/repos/acme/widgets";
/** Of few calls each is a large part of the percentiles. */
const LEAST_CALLS = 5;
/** Until every connection has its plans, and node has compiled what it runs often. */
const WARM_UP_SECONDS = 2;

export interface Answers {
  readonly what: string;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly calls: number;
}

interface Question {
  readonly what: string;
  readonly callers?: number;
  /** False: this call is not to be counted. */
  ask(): Promise<unknown>;
  before?(): Promise<unknown>;
  after?(): Promise<unknown>;
}

/** Asks each in turn, all of them in each round. `naive`: also page by page, which takes its time. */
export async function askAll(
  app: App,
  url: string,
  { rounds, seconds, naive }: { rounds: number; seconds: number; naive: boolean },
): Promise<Answers[]> {
  const { deps } = app;
  const { pool } = deps.database;
  const repository = await repositoryByName(deps, { owner: "acme", name: "widgets" });
  const connection = await HttpConnection.open(app.address, TOKEN);
  const get = async (path: string): Promise<void> => {
    const { status, body } = await connection.send("GET", R + path, null);
    if (status !== 200) throw new Error(`GET ${path}: ${JSON.stringify(body)}`);
  };
  const take = async (selector?: { tags: string[] }): Promise<boolean> =>
    (await claimNext(deps, ADMIN, repository, { owner: "worker/7f3a", leaseSeconds: 1800, selector }))
      .granted;
  const giveBack = async (): Promise<void> => {
    await query(
      url,
      `delete from claim_grant where owner = 'worker/7f3a';
      delete from claim where owner = 'worker/7f3a';
      truncate outbox`,
    );
    await query(url, "vacuum claim, claim_grant");
  };
  let givingBack: Promise<void> | null = null;
  /** A small backlog is soon claimed whole: then all of it is given back, and that call does not count. */
  const takeOne = async (): Promise<boolean> => {
    if (await take()) return true;
    givingBack ??= giveBack().finally(() => {
      givingBack = null;
    });
    await givingBack;
    return false;
  };
  const head = () => offeredHead(deps.db, { repositoryId: REPOSITORY, region: null }, LIMIT);
  const questions: Question[] = [
    { what: "ready query", ask: head },
    {
      what: "NOT EXISTS query",
      ask: () => byNotExists(pool, LIMIT),
      before: () => query(url, INDEX_FOR_NOT_EXISTS),
      after: () => query(url, NO_INDEX_FOR_NOT_EXISTS),
    },
    { what: "GET ready?limit=20", ask: () => get(`/ready?limit=${LIMIT}`) },
    { what: "GET ready, nothing ready there", ask: () => get(`/ready?limit=${LIMIT}&region=elsewhere`) },
    { what: "claim-next", ask: takeOne, after: giveBack },
    { what: "claim-next, 16 callers", callers: 16, ask: takeOne, after: giveBack },
    { what: "claim-next, nothing fits", ask: async () => void (await take({ tags: ["no-item-has-this"] })) },
  ];
  if (naive) questions.push({ what: "page by page", ask: () => naively(pool, LIMIT) });
  await assertSame(await head(), await byNotExists(pool, LIMIT));
  const found = new Map<Question, number[]>(questions.map((question) => [question, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [question, latencies] of found) {
      await question.before?.();
      latencies.push(...(await latenciesOf(question, seconds / rounds)));
      await question.after?.();
    }
  }
  connection.close();
  return [...found].map(([{ what }, latencies]) => ({
    what,
    p50: percentile(latencies, 0.5) ?? Number.NaN,
    p99: percentile(latencies, 0.99) ?? Number.NaN,
    calls: latencies.length,
  }));
}

async function latenciesOf({ ask, callers = 1 }: Question, seconds: number): Promise<readonly number[]> {
  // The first finds nothing planned, and little in the cache.
  await ask();
  const before = performance.now();
  await ask();
  const first = performance.now() - before;
  // What takes so long is asked a few times only, however long that takes.
  if (first * LEAST_CALLS > seconds * 1000) return [first];
  const counted: number[] = [];
  const call = async (): Promise<void> => {
    const begin = performance.now();
    if ((await ask()) !== false) counted.push(performance.now() - begin);
  };
  await measure(callers, WARM_UP_SECONDS, call);
  counted.length = 0;
  await measure(callers, seconds, call);
  return counted;
}

/** The index must answer what the rule means; work in flight is not left out by either. */
async function assertSame(one: readonly number[], other: readonly number[]): Promise<void> {
  if (one.length === 0 || one.join() !== other.join())
    throw new Error(`the ready query and NOT EXISTS do not agree: ${one.join()} and ${other.join()}`);
}

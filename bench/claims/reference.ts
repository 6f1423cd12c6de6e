/** The reference: PostgreSQL alone, driven by pgbench if this machine has it, else through node `pg`. */

import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { inThread } from "./in-thread.ts";
import { measure, type Slice, type Subject } from "./measure.ts";
import { clearClaims, query, REPOSITORY } from "./stage.ts";

const run = promisify(execFile);
export const BEHIND_HTTP = "full claim behind node http, 1";
const CALL = `select reference_claim(${REPOSITORY}, nextval('bench_item')::integer, 'worker/7f3a', 900)`;

/** Where pgbench is, or null. */
async function findPgbench(): Promise<string | null> {
  for (const path of ["pgbench", ...globSync("/usr/lib/postgresql/*/bin/pgbench").sort().reverse()]) {
    const works = await run(path, ["--version"]).catch(() => null);
    if (works) return path;
  }
  return null;
}

export interface Reference {
  /** What drives it. */
  readonly driver: string;
  readonly subjects: readonly Subject[];
}

/** Makes the function that is the reference. */
export const makeReference = async (url: string): Promise<unknown> =>
  query(url, await readFile(join(import.meta.dirname, "reference.sql"), "utf8"));

export async function reference(url: string): Promise<Reference> {
  await makeReference(url);
  const pgbench = await findPgbench();
  const prepared = async (): Promise<void> => {
    await clearClaims(url);
    await query(url, "select setval('bench_item', 1, false)");
  };
  const subject = (callers: number): Subject => ({
    group: "reference",
    name: `full claim, ${callers}`,
    slice: async (seconds) => {
      await prepared();
      return pgbench ? byPgbench(pgbench, url, callers, seconds) : byNode(url, callers, seconds);
    },
  });
  const node: Subject = {
    group: "reference",
    name: "full claim through node pg, 16",
    slice: async (seconds) => {
      await prepared();
      return byNode(url, 16, seconds);
    },
  };
  const behindHttp: Subject = {
    group: "reference",
    name: BEHIND_HTTP,
    slice: async (seconds) => {
      await prepared();
      return byHttp(url, seconds);
    },
  };
  return {
    driver: pgbench === null ? "node pg (there is no pgbench here)" : "pgbench, prepared",
    subjects: [subject(16), subject(1), node, behindHttp],
  };
}

/** pgbench logs each transaction, which is where its percentiles come from. */
async function byPgbench(pgbench: string, url: string, clients: number, seconds: number): Promise<Slice> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-pgbench-"));
  try {
    await writeFile(join(folder, "claim.sql"), `${CALL};\n`);
    const whole = Math.max(2, Math.round(seconds));
    const options = ["-n", "-M", "prepared", "-c", `${clients}`, "-j", "1", "-T", `${whole}`, "-l"];
    const { stdout } = await run(pgbench, [...options, "-f", "claim.sql", url], { cwd: folder });
    const tps = /tps = ([\d.]+)/.exec(stdout)?.[1];
    if (tps === undefined) throw new Error(`pgbench said nothing of its throughput: ${stdout}`);
    const logs = (await readdir(folder)).filter((name) => name.startsWith("pgbench_log"));
    const lines = await Promise.all(logs.map((name) => readFile(join(folder, name), "utf8")));
    // client, transaction, microseconds, …
    const latencies = lines.flatMap((text) =>
      text
        .trim()
        .split("\n")
        .map((line) => Number(line.split(" ")[2]) / 1000),
    );
    return { perSecond: Number(tps), latencies };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function byNode(url: string, callers: number, seconds: number): Promise<Slice> {
  const pool = new pg.Pool({ connectionString: url, max: callers });
  try {
    return await measure(
      callers,
      seconds,
      async () => void (await pool.query({ name: "claim", text: CALL })),
    );
  } finally {
    await pool.end();
  }
}

/** The least that a claim over one connection costs here: node's own server, and nothing but the call. */
async function byHttp(url: string, seconds: number): Promise<Slice> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const server = createServer((request, reply) => {
    const answer = async (): Promise<void> => {
      const { rows } = await pool.query<{ reference_claim: string }>({ name: "claim", text: CALL });
      const text = JSON.stringify({ granted: true, fencingToken: Number(rows[0]?.reference_claim) });
      reply.setHeader("content-length", text.length).end(text);
    };
    request.resume().on("end", () => void answer().catch((error: Error) => reply.destroy(error)));
  });
  try {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return await inThread({
      address: `http://127.0.0.1:${port}`,
      token: "none",
      program: "claim",
      callers: 1,
      items: Number.MAX_SAFE_INTEGER,
      seconds,
    });
  } finally {
    server.close();
    await pool.end();
  }
}

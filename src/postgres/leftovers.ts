import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { ifMissing } from "./errno.ts";
import { pollUntil } from "./poll-until.ts";
import { listPidsIn, type ProcessFacts, readProcess } from "./process-facts.ts";
import { CLUSTER_NAME } from "./settings.ts";

/*
 * After a crash, processes of the run before may still work in the cluster: a server that the watchdog is just
 * stopping, or sessions whose server was killed. Starting beside them would spoil the data, so they must be gone
 * first. The caller owns the folder, hence a server of ours found here has lost its owner.
 *
 * postmaster.pid alone proves nothing. After a crash its pid may belong to anything, and in a container,
 * where pids are few, it soon does; PostgreSQL would then refuse to start for ever. So a process counts only if
 * the system says that it is a PostgreSQL in this very folder.
 */

/** What is sent, one after the other, and how long each gets. */
type Escalation = readonly { readonly signal: NodeJS.Signals | null; readonly thenWaitMs: number }[];

/** First nothing: the watchdog is at it already, as a rule. A server takes its sessions with it. */
const FOR_A_SERVER: Escalation = [
  { signal: null, thenWaitMs: 2_000 },
  { signal: "SIGINT", thenWaitMs: 10_000 },
  { signal: "SIGQUIT", thenWaitMs: 10_000 },
];

/** Sessions without a server can save nothing any more; their work was lost with it. */
const FOR_SESSIONS: Escalation = [
  { signal: "SIGQUIT", thenWaitMs: 3_000 },
  { signal: "SIGKILL", thenWaitMs: 5_000 },
];

interface Leftover {
  readonly pid: number;
  readonly kind: "ours" | "not_ours";
}

/** Returns when no PostgreSQL works in the cluster, having stopped what was left of ours. */
export async function clearLeftovers(
  cluster: string,
  log: (message: string, fields?: object) => void,
): Promise<void> {
  const found = await findLeftovers(cluster);
  if (found.length === 0) return removeLyingPidFile(cluster);

  const stranger = found.find(({ kind }) => kind === "not_ours");
  if (stranger !== undefined) throw stillInUse(cluster, stranger.pid);

  const pids = found.map(({ pid }) => pid);
  log("waiting for the PostgreSQL of the run before to finish", { pids });
  const serverPid = await readPidFile(cluster);
  const hasServer = serverPid !== null && pids.includes(serverPid);
  const toSignal = hasServer ? [serverPid] : pids;
  for (const { signal, thenWaitMs } of hasServer ? FOR_A_SERVER : FOR_SESSIONS) {
    if (signal !== null) for (const pid of toSignal) sendSignal(pid, signal);
    const isClear = async () => (await findLeftovers(cluster)).length === 0;
    if (await pollUntil(isClear, { withinMs: thenWaitMs })) return removeLyingPidFile(cluster);
  }
  throw stillInUse(cluster, toSignal[0]);
}

/** Whether a process is a PostgreSQL in this cluster, and if so whether this launcher started it. */
export function judgeProcess(facts: ProcessFacts, cluster: string): Leftover["kind"] | null {
  const isPostgres = /(^|\/)postgres(:|$)/.test(facts.program);
  // The server names the folder in its arguments; its sessions do not, but they work in it.
  const isHere = facts.cwd === cluster || facts.command.includes(`-D ${cluster} `);
  if (!isPostgres || !isHere) return null;
  const isOurs =
    facts.command.includes(`cluster_name=${CLUSTER_NAME} `) ||
    facts.command.startsWith(`postgres: ${CLUSTER_NAME}: `);
  return isOurs ? "ours" : "not_ours";
}

async function findLeftovers(cluster: string): Promise<Leftover[]> {
  const pidInFile = await readPidFile(cluster);
  const pids = (await listPidsIn(cluster)) ?? (pidInFile === null ? [] : [pidInFile]);
  const judged = await Promise.all(
    pids.map(async (pid) => {
      const facts = await readProcess(pid);
      const kind = typeof facts === "string" ? null : judgeProcess(facts, cluster);
      return kind === null ? [] : [{ pid, kind }];
    }),
  );
  return judged.flat();
}

/**
 * Removes a postmaster.pid whose pid lives on as something else. One whose pid is gone stays: PostgreSQL deals
 * with it, and looks for forgotten sessions first, in a way that works without /proc too.
 */
async function removeLyingPidFile(cluster: string): Promise<void> {
  const pid = await readPidFile(cluster);
  if (pid === null) return;
  const facts = await readProcess(pid);
  if (typeof facts === "string" || judgeProcess(facts, cluster) !== null) return;
  await rm(join(cluster, "postmaster.pid"), { force: true });
}

async function readPidFile(cluster: string): Promise<number | null> {
  const text = await ifMissing(readFile(join(cluster, "postmaster.pid"), "utf8"), "");
  // PostgreSQL writes a negative pid for its single-user mode.
  const pid = Math.abs(Number.parseInt(text, 10));
  return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended in the meantime.
  }
}

function stillInUse(cluster: string, pid: number | undefined): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "folder_in_use",
    `A PostgreSQL (pid ${pid}) is still working in ${cluster}. Stop it (kill -INT ${pid}) and start Leasehold again.`,
  );
}

import { type FileHandle, open, readFile, rename } from "node:fs/promises";
import { ifMissing } from "./errno.ts";

const TAIL_LINES = 15;

/** Opens an empty log, so that it never grows beyond one run, and keeps that of the run before as `.previous`. */
export async function openFreshLog(path: string): Promise<FileHandle> {
  await ifMissing(rename(path, `${path}.previous`), undefined);
  return open(path, "ax", 0o600);
}

/** The last lines of a log, to show what PostgreSQL complained about. */
export async function readLogTail(path: string): Promise<string> {
  const text = await ifMissing(readFile(path, "utf8"), "");
  return text.trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
}

/** What PostgreSQL's own words say about a start that failed. Its messages are in English: the cluster is made so. */
export function diagnose(logTail: string): "port_taken" | "cluster_busy" | "unknown" {
  if (/could not bind .*: Address already in use/.test(logTail)) return "port_taken";
  // A server of ours that is still on its way out, or whose sessions are.
  if (/lock file "postmaster.pid" already exists|pre-existing shared memory block/.test(logTail)) {
    return "cluster_busy";
  }
  return "unknown";
}

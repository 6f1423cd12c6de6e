import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { ifMissing } from "./errno.ts";

const run = promisify(execFile);

/** What tells a process from a later one that got the same pid. */
export interface ProcessFacts {
  /** Opaque; two processes with the same pid never share it, not even across a reboot. */
  readonly birth: string;
  /** Its name for itself, without arguments; a path as a rule, and paths may have spaces. */
  readonly program: string;
  readonly command: string;
  /** Null where the system does not tell. */
  readonly cwd: string | null;
}

/** `hidden`: the process is there, but nothing more can be learnt about it. */
export async function readProcess(pid: number): Promise<ProcessFacts | "gone" | "hidden"> {
  if (!existsProcess(pid)) return "gone";
  const facts = process.platform === "linux" ? await readFromProc(pid) : await readFromPs(pid);
  if (facts !== null) return facts;
  return existsProcess(pid) ? "hidden" : "gone";
}

/** The processes whose working folder this is, or null where there is no /proc to tell. */
export async function listPidsIn(folder: string): Promise<number[] | null> {
  const entries = process.platform === "linux" ? await ifMissing(readdir("/proc"), null) : null;
  if (entries === null) return null;
  const pids = entries.filter((entry) => /^\d+$/.test(entry));
  const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => null)));
  return pids.filter((_, index) => folders[index] === folder).map(Number);
}

function existsProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM is a process of somebody else.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function readFromProc(pid: number): Promise<ProcessFacts | "gone" | null> {
  try {
    const [stat, bootId, command, cwd] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
      readFile(`/proc/${pid}/cmdline`, "utf8"),
      readlink(`/proc/${pid}/cwd`).catch(() => null),
    ]);
    const { state, startTicks } = parseProcStat(stat);
    // A zombie has ended and only waits for its parent to notice.
    if (state === "Z" || state === "X") return "gone";
    return {
      birth: `${bootId.trim()}/${startTicks}`,
      program: command.split("\0", 1)[0] ?? "",
      command: command.replaceAll("\0", " ").trim(),
      cwd,
    };
  } catch {
    return null;
  }
}

/** The name in parentheses may hold anything, spaces and parentheses too, so fields are counted after the last one. */
export function parseProcStat(stat: string): { state: string; startTicks: string } {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", startTicks: fields[19] ?? "" };
}

async function readFromPs(pid: number): Promise<ProcessFacts | null> {
  try {
    const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
    const { stdout } = await run("ps", ["-o", "lstart=", "-o", "command=", "-p", String(pid)], { env });
    // lstart is a date of fixed width: "Mon Jan  1 00:00:00 2029".
    const line = stdout.trim();
    const command = line.slice(24).trim();
    // Where the arguments begin cannot be told; those of our server begin with -D.
    return { birth: line.slice(0, 24), program: command.split(" -D ", 1)[0] ?? "", command, cwd: null };
  } catch {
    return null;
  }
}

/**
 * A child process that does not outlive us, whatever becomes of it or us: even one that is stopped (SIGSTOP) when
 * this process is killed. A shell starts a watchdog and then becomes the program, so that the pid is the program's.
 * The watchdog reads from a pipe whose other end only we hold; when that ends without a word, we are gone, and it
 * kills the program.
 */

import { type ChildProcess, spawn } from "node:child_process";

const LEASH = `
exec 3<&0 </dev/null
( (read -r word <&3 || kill -KILL $$) >/dev/null 2>&1 & )
exec 3<&-
exec "$@"
`;

export interface Leashed {
  readonly pid: number;
  readonly child: ChildProcess;
  /** How it ended. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly isRunning: () => boolean;
  kill(signal: NodeJS.Signals): void;
}

/** Runs this node with arguments, from a folder, with an environment that is all its own. */
export async function spawnLeashed(
  args: readonly string[],
  options: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<Leashed> {
  const child = spawn("/bin/sh", ["-c", LEASH, "leash", process.execPath, ...args], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin?.on("error", () => {});
  let running = true;
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("exit", (code, signal) => {
      running = false;
      child.stdin?.end("over\n");
      resolve({ code, signal });
    });
  });
  const { promise: spawned, resolve, reject } = Promise.withResolvers<void>();
  child.once("spawn", resolve);
  child.once("error", reject);
  await spawned;
  const { pid } = child;
  if (pid === undefined) throw new Error("the process has no pid");
  return {
    pid,
    child,
    exited,
    isRunning: () => running,
    kill: (signal) => {
      if (running) child.kill(signal);
    },
  };
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { type RunUser, spawnAs } from "./run-user.ts";

/*
 * Runs a program that does not outlive us.
 *
 * A shell starts a watchdog and then becomes the program (exec), so the pid and the exit status that we see are
 * the program's own. The watchdog reads from a pipe whose other end only this process holds. When the program
 * has ended we write a word there; if the pipe ends without a word, we were killed, and the watchdog stops the
 * program: SIGINT, which is PostgreSQL's fast shutdown, and SIGQUIT if that takes too long. There is no moment
 * without a watchdog, however early we die.
 *
 * The watchdog is started by a subshell that ends at once, so that it is no child of the program: PostgreSQL
 * waits for all its children and takes an unknown one for a fault. The program gets a session of its own
 * (`detached`), so ^C in the terminal reaches us alone and we decide the order of stopping.
 */
const WATCHED = `
watch() {
  read -r word && exit 0
  kill -INT $$ || exit 0
  seconds=0
  while kill -0 $$ && [ $seconds -lt 30 ]; do
    [ $seconds -eq 10 ] && kill -QUIT $$
    sleep 1
    seconds=$((seconds + 1))
  done
}
exec 3<&0 </dev/null
( watch <&3 3<&- >/dev/null 2>&1 & )
exec 3<&-
exec "$@"
`;

/** How a process ended: with a code or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program under a watchdog. */
export interface GuardedProcess {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a program as an account, its output going to an open file. */
export async function spawnGuarded(
  command: string,
  args: readonly string[],
  { user, outputFd }: { user: RunUser | null; outputFd: number },
): Promise<GuardedProcess> {
  const child = spawn("/bin/sh", ["-c", WATCHED, "leasehold-postgres", command, ...args], {
    ...spawnAs(user),
    detached: true,
    stdio: ["pipe", outputFd, outputFd],
  });
  const lifeline = child.stdin;
  // Writing to a watchdog that somebody killed is no fault of ours.
  lifeline?.on("error", () => {});
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => {
      lifeline?.end("over\n");
      resolve({ code, signal });
    });
  });
  await once(child, "spawn");
  const { pid } = child;
  if (pid === undefined) throw new Error("the process has no pid");
  return { pid, exited, kill: (signal) => void child.kill(signal) };
}

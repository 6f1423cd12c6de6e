/** What every command is. */

import type { Api } from "./api.ts";

/** The operator called it wrongly: the usage is shown, and the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface Around {
  readonly api: Api;
  /** Writes a line to standard output. */
  readonly out: (line: string) => void;
}

export interface Command {
  /** What follows `leasehold`, e.g. `outbox list [--repo owner/name]`. */
  readonly usage: string;
  /** One line for the help. */
  readonly summary: string;
  /** Resolves to the exit code. Throws `UsageError` and `CliError`. */
  readonly run: (args: readonly string[], around: Around) => Promise<number>;
}

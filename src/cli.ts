#!/usr/bin/env node
/** `leasehold …`: the operator's commands, which ask the running server over HTTP. */

import { ConfigError, loadCliConfig } from "./config.ts";
import { CliError } from "./edges/cli/api.ts";
import { runCli } from "./edges/cli/run.ts";

/** What is wrong with the environment is the operator's to mend, like a refusal. */
function server() {
  try {
    return loadCliConfig();
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(error.message);
    throw error;
  }
}

process.exitCode = await runCli(process.argv.slice(2), server, {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
});

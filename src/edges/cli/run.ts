/** Finds the command, runs it, and says what is wrong in a line. */

import { Api, CliError, type ServerAt } from "./api.ts";
import { type Command, UsageError } from "./command.ts";
import { COMMANDS } from "./commands.ts";

export interface Terminal {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

/** The longest name that the words begin with: `token create`, then `token`. */
function commandOf(words: readonly string[]): { name: string; command: Command } | null {
  for (let length = Math.min(2, words.length); length > 0; length -= 1) {
    const name = words.slice(0, length).join(" ");
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command) return { name, command };
  }
  return null;
}

export function helpText(): string {
  const commands = Object.values(COMMANDS);
  const width = Math.max(...commands.map(({ usage }) => usage.length));
  return [
    "leasehold: asks and steers a running server",
    "",
    ...commands.map(({ usage, summary }) => `  leasehold ${usage.padEnd(width)}  ${summary}`),
    "",
    "LEASEHOLD_URL says where the server is (http://127.0.0.1:3000), LEASEHOLD_TOKEN who you are;",
    "without it the admin token is used, from LEASEHOLD_ADMIN_TOKEN or DATA_DIR/admin-token.",
  ].join("\n");
}

/** Runs what the words say. Resolves to the exit code: 0 well, 1 refused or found wanting, 2 called wrongly. */
export async function runCli(
  words: readonly string[],
  server: () => ServerAt,
  { out, err }: Terminal,
): Promise<number> {
  if (words.length === 0 || ["help", "--help", "-h"].includes(words[0] ?? "")) {
    out(helpText());
    return 0;
  }
  const found = commandOf(words);
  if (found === null) {
    err(`leasehold knows no command "${words.slice(0, 2).join(" ")}"; leasehold help lists them`);
    return 2;
  }
  const { name, command } = found;
  const args = words.slice(name.split(" ").length);
  if (args.includes("--help") || args.includes("-h")) {
    out(`leasehold ${command.usage}\n  ${command.summary}`);
    return 0;
  }
  try {
    return await command.run(args, { api: new Api(server()), out });
  } catch (error) {
    const parsing = (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS") ?? false;
    if (error instanceof UsageError || parsing) {
      err(`${(error as Error).message}\nusage: leasehold ${command.usage}`);
      return 2;
    }
    if (!(error instanceof CliError)) throw error;
    err(error.message);
    return 1;
  }
}

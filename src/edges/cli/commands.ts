/** Every command, by the words that call it; the help is made from this list. */

import type { Command } from "./command.ts";
import { doctor } from "./doctor.ts";
import { health } from "./health.ts";
import { QUEUE_COMMANDS } from "./queues.ts";
import { TOKEN_COMMANDS } from "./tokens.ts";

export const COMMANDS: Readonly<Record<string, Command>> = {
  doctor,
  health,
  ...QUEUE_COMMANDS,
  ...TOKEN_COMMANDS,
};

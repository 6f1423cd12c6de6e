/** Every command, by the words that call it; the help is made from this list. */

import type { Command } from "./command.ts";
import { health } from "./health.ts";
import { QUEUE_COMMANDS } from "./queues.ts";

export const COMMANDS: Readonly<Record<string, Command>> = {
  health,
  ...QUEUE_COMMANDS,
};

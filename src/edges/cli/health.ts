/** `leasehold health`: the server's own picture of itself. */

import { type Command, UsageError } from "./command.ts";

export const health: Command = {
  usage: "health",
  summary: "Say whether all is well; exits with 1 when it is not",
  run: async (args, { api, out }) => {
    if (args.length > 0) throw new UsageError(`health takes nothing, not "${args[0]}"`);
    const answer = (await api.call("GET", "/health")) as { status: string };
    out(JSON.stringify(answer, null, 2));
    return answer.status === "ok" ? 0 : 1;
  },
};

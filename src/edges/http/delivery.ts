/** Whether an answer reaches the caller: a grant that does not is taken back. */

import type { FastifyReply } from "fastify";
import type { Delivery } from "../../services/claim.ts";

export function deliveryOf(reply: FastifyReply): Delivery {
  const { raw } = reply;
  // Made when it is asked for: most callers do not wait, and nobody asks for theirs.
  let left: AbortController | null = null;
  let handler: ((delivered: boolean) => void) | null = null;
  let outcome: boolean | null = null;
  const settle = (delivered: boolean): void => {
    if (outcome !== null) return;
    outcome = delivered;
    if (!delivered) left?.abort();
    handler?.(delivered);
  };
  raw.once("finish", () => settle(true));
  raw.once("close", () => settle(raw.writableFinished));
  return {
    get left() {
      left ??= new AbortController();
      if (outcome === false) left.abort();
      return left.signal;
    },
    onOutcome: (told) => {
      handler = told;
      if (outcome !== null) told(outcome);
    },
  };
}

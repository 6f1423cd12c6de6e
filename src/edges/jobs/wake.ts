/**
 * Wakes the drains after a commit: many wakes in a short time become one job. A wake that is lost with the
 * process costs only time, because every replica looks for waiting work now and then (`runner.ts`).
 */

import type { Logger } from "pino";
import type { Wake } from "../../services/deps.ts";
import type { Db } from "../../store/database.ts";
import { askForJob } from "../../store/jobs.ts";

/** Coalesces calls: while one runs, any number of further calls become a single further run. */
function coalesced(run: () => Promise<void>): () => void {
  let running = false;
  let again = false;
  const loop = async (): Promise<void> => {
    running = true;
    do {
      again = false;
      await run();
    } while (again);
    running = false;
  };
  return () => {
    if (running) again = true;
    else void loop();
  };
}

export function createWake(db: Db, log: Logger): Wake {
  const ask = (...args: Parameters<typeof askForJob>) =>
    askForJob(...args).catch((error: unknown) =>
      log.warn({ err: error }, "a drain could not be woken; it will wake by itself"),
    );
  return {
    inbox: coalesced(() => ask(db, "inbox", { key: "inbox" })),
    outbox: coalesced(() => ask(db, "outbox", { key: "outbox" })),
    backfill: (repositoryId) =>
      void ask(db, "backfill", { key: `backfill:${repositoryId}`, payload: { repositoryId } }),
  };
}

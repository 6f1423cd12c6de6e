/**
 * Watches over every request to GitHub. Writes wait for their turn; what GitHub says to one of us (wait, suspended, the
 * key is not taken) is noted for all, before whoever asked goes on.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as rest } from "node:timers/promises";
import type { WritePace } from "../domain/write-pace.ts";
import type { Client } from "../github/connection.ts";
import { barOf, isInstallationUnknown, isTokenRefused, RequestHeld, waitOf } from "../github/failure.ts";
import type { Supervisor } from "../github/installation-octokit.ts";
import { markSuspended } from "../store/repositories.ts";
import { endTurn, findStanding, pauseInstallation, takeTurn } from "../store/write-turns.ts";
import type { Deps } from "./deps.ts";

/** Whoever would have to wait longer comes back later. Short beside the lease of the outbox's writer. */
const PATIENCE_SECONDS = 10;

/** `onKeyRefused` is called once for each key. */
export function supervisor(
  deps: Pick<Deps, "db" | "log">,
  pace: WritePace,
  onKeyRefused: (message: string) => void,
): Supervisor {
  // An error passes twice where it was met while a token was asked for.
  const heeded = new WeakSet<object>();
  return {
    inTurn: (installationId, write) => inTurn(deps, installationId, pace, write),
    refused: async (installationId, error) => {
      if (typeof error !== "object" || error === null || heeded.has(error)) return;
      heeded.add(error);
      await heed(deps, installationId, error);
    },
    keyRefused: onKeyRefused,
  };
}

async function inTurn<T>(
  { db, log }: Pick<Deps, "db" | "log">,
  installationId: number,
  pace: WritePace,
  write: () => Promise<T>,
): Promise<T> {
  const turn = randomUUID();
  const until = performance.now() + PATIENCE_SECONDS * 1000;
  for (;;) {
    const seconds = await takeTurn(db, installationId, turn, pace);
    if (seconds === 0) break;
    if (performance.now() + seconds * 1000 > until) {
      const wait = Math.ceil(seconds);
      throw new RequestHeld(
        "rate_limited",
        `it is not our turn to write to GitHub for another ${wait} s`,
        wait,
      );
    }
    await rest(seconds * 1000);
  }
  try {
    return await write();
  } finally {
    // Not vital: it lapses by itself. What the write came to is what matters.
    await endTurn(db, installationId, turn, pace).catch((error: unknown) =>
      log.warn({ err: error, installationId }, "a turn to write stays taken until it lapses"),
    );
  }
}

async function heed(
  { db, log }: Pick<Deps, "db" | "log">,
  installationId: number,
  error: unknown,
): Promise<void> {
  if (barOf(error) === "suspended") {
    log.warn(
      { installationId },
      "GitHub says that the App is suspended, and no event told of it; work waits",
    );
    return db.transaction().execute((trx) => markSuspended(trx, installationId, true));
  }
  const wait = waitOf(error);
  // Without a token that GitHub takes, or an installation that it knows, nothing else fares better.
  if (wait === null && !isInstallationUnknown(error) && !isTokenRefused(error)) return;
  await pauseInstallation(db, installationId, typeof wait === "number" ? wait : null);
}

/** A client for an installation, unless nothing is to be asked for it now: then `RequestHeld`. */
export async function clientOf({ db, github }: Deps, installationId: number): Promise<Client> {
  const standing = await findStanding(db, installationId);
  if (standing?.kind === "suspended")
    throw new RequestHeld("barred", "the App is suspended on this account", null);
  if (standing?.kind === "paused") {
    const { seconds } = standing;
    throw new RequestHeld("rate_limited", `GitHub asks to wait for another ${seconds} s`, seconds);
  }
  return github.client(installationId);
}

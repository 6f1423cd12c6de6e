/** Works off the inbox: lanes in parallel, each in order; failures are kept, retried alone with backoff, and told. */

import { ZodError } from "zod";
import { failureOf, isGitHubFailure } from "../github/failure.ts";
import { isConnectionLost } from "../store/failure.ts";
import {
  type Delivery,
  failDelivery,
  finishDelivery,
  postponeDelivery,
  returnDelivery,
  takeDelivery,
} from "../store/inbox.ts";
import { applyTogether } from "./apply-together.ts";
import type { Deps } from "./deps.ts";

/** Runs a delivery through the webhook handlers. */
export type Receive = (delivery: Delivery) => Promise<void>;

/** Faults of our own are given up about an hour after the first try; those of GitHub after its redelivery window. */
const MAX_ATTEMPTS = 14;
/** So often a process may end, or hang, over a delivery. */
const MAX_LAPSES = 5;
const MAX_OUTAGE_SECONDS = 3 * 86_400;
const MAX_BACKOFF_SECONDS = 600;

/** Seconds to wait after so many attempts: 1, 2, 4, … up to ten minutes. */
export const backoffSeconds = (attempts: number): number =>
  Math.min(2 ** (attempts - 1), MAX_BACKOFF_SECONDS);

/** As many transactions of many deliveries are under way: while one waits for the disk, the next is worked on. */
const TOGETHER_AT_ONCE = 2;

/**
 * The work of one loop over the inbox: many deliveries in one transaction, or one lane whose head has to be applied alone.
 * False: nothing is due that is not being worked on. However many there are of the former, most loops are left for the
 * latter, which may wait for GitHub.
 */
export function inboxWork(deps: Deps, receive: Receive, stopping: AbortSignal): () => Promise<boolean> {
  let underWay = 0;
  let again = false;
  const together = async (): Promise<boolean> => {
    if (underWay === TOGETHER_AT_ONCE) {
      // What this loop was woken for may have come after they looked.
      again = true;
      return false;
    }
    underWay += 1;
    try {
      do {
        again = false;
        if (await applyTogether(deps)) return true;
      } while (again && !stopping.aborted);
      return false;
    } finally {
      underWay -= 1;
    }
  };
  return async () => (await together()) || (await drainLane(deps, receive, stopping));
}

/** Works off one lane: its head, if it is due, and what follows. False: no delivery is due. */
async function drainLane(deps: Deps, receive: Receive, stopping: AbortSignal): Promise<boolean> {
  const head = await takeDelivery(deps.db, null);
  let next = head;
  while (next) {
    await handle(deps, receive, next, stopping);
    next = stopping.aborted ? null : await takeDelivery(deps.db, next);
  }
  return head !== null;
}

async function handle(
  deps: Deps,
  receive: Receive,
  delivery: Delivery,
  stopping: AbortSignal,
): Promise<void> {
  const { seq, attempts, lapses } = delivery;
  if (lapses >= MAX_LAPSES) return giveUpLapsed(deps, delivery);
  try {
    await receive(delivery);
    // Events that no handler knows are done by having been received.
    await finishDelivery(deps.db, seq);
  } catch (thrown) {
    const error = thrown instanceof AggregateError && thrown.errors.length > 0 ? thrown.errors[0] : thrown;
    // Octokit hangs the whole event on what a handler throws; what people wrote is not for the log.
    if (error instanceof Error) Reflect.deleteProperty(error, "event");
    const fields = {
      delivery: delivery.deliveryId,
      event: delivery.event,
      repositoryId: delivery.repositoryId,
      attempts,
    };
    // Cut off by our own end: the next process goes on at once.
    if (stopping.aborted) return returnDelivery(deps.db, seq, attempts);
    if (error instanceof ZodError) {
      const where = error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
      deps.log.error(fields, "a delivery is not of the form GitHub documents; it is kept as failed");
      return failDelivery(deps.db, seq, attempts, `not the documented form: ${where}`);
    }
    const failure = failureOf(error);
    // While GitHub is down, limits us or refuses our key, or PostgreSQL is away, nothing is wrong with the delivery.
    const isOutage = (isGitHubFailure(error) && failure.kind !== "refused") || isConnectionLost(error);
    const isOver = isOutage ? delivery.ageSeconds > MAX_OUTAGE_SECONDS : attempts >= MAX_ATTEMPTS;
    if (isOver) {
      deps.log.error(
        { ...fields, err: error },
        "a delivery failed for good; it is kept, and a redelivery tries it anew",
      );
      return failDelivery(deps.db, seq, attempts, failure.message);
    }
    const seconds = failure.retryAfterSeconds ?? backoffSeconds(attempts);
    deps.log.warn(
      { ...fields, reason: failure.message, retryInSeconds: seconds },
      "a delivery will be tried again",
    );
    await postponeDelivery(deps.db, seq, attempts, failure.message, seconds);
  }
}

/** Not begun again: as far as anybody can tell, it ends each process that does. */
async function giveUpLapsed(deps: Deps, delivery: Delivery): Promise<void> {
  const { seq, attempts, lapses, deliveryId, event, repositoryId } = delivery;
  deps.log.error(
    { delivery: deliveryId, event, repositoryId, lapses },
    "each process that began a delivery ended or hung; it is kept as failed, and a redelivery tries it anew",
  );
  const reason = `begun ${lapses} times, and each time the process ended or hung over it; the log may say why`;
  await failDelivery(deps.db, seq, attempts, reason);
}

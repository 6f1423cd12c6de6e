/** Works off the inbox: lanes in parallel, each in order; failures are kept, retried with backoff, and told. */

import { ZodError } from "zod";
import { failureOf } from "../github/failure.ts";
import {
  type Delivery,
  failDelivery,
  finishDelivery,
  postponeDelivery,
  takeDelivery,
} from "../store/inbox.ts";
import type { Deps } from "./deps.ts";
import { settleDelivery } from "./settle-delivery.ts";

/** Runs a delivery through the webhook handlers. */
export type Receive = (delivery: Delivery) => Promise<void>;

const LANES = 8;
/** With the backoff below the last try is about an hour after the first. */
const MAX_ATTEMPTS = 14;
const MAX_BACKOFF_SECONDS = 600;

/** Seconds to wait after so many attempts: 1, 2, 4, … up to ten minutes. */
export const backoffSeconds = (attempts: number): number =>
  Math.min(2 ** (attempts - 1), MAX_BACKOFF_SECONDS);

/** Takes every delivery that is due, until none is or `stopping` says so. */
export async function drainInbox(deps: Deps, receive: Receive, stopping: AbortSignal): Promise<void> {
  const work = async (): Promise<void> => {
    while (!stopping.aborted) {
      let delivery = await takeDelivery(deps.db, null);
      if (!delivery) return;
      while (delivery && !stopping.aborted) {
        await handle(deps, receive, delivery);
        delivery = await takeDelivery(deps.db, delivery);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, work));
}

async function handle(deps: Deps, receive: Receive, delivery: Delivery): Promise<void> {
  const { seq, attempts } = delivery;
  try {
    await receive(delivery);
    // Events that no handler knows are done by having been received.
    await settleDelivery(deps, seq, (trx) => finishDelivery(trx, seq));
  } catch (thrown) {
    const error = thrown instanceof AggregateError && thrown.errors.length > 0 ? thrown.errors[0] : thrown;
    const fields = {
      delivery: delivery.deliveryId,
      event: delivery.event,
      repositoryId: delivery.repositoryId,
      attempts,
    };
    if (error instanceof ZodError) {
      const where = error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
      deps.log.error(fields, "a delivery is not of the form GitHub documents; it is kept as failed");
      return failDelivery(deps.db, seq, attempts, `not the documented form: ${where}`);
    }
    const failure = failureOf(error);
    if (attempts >= MAX_ATTEMPTS) {
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

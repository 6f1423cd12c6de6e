/** Takes a verified delivery into the inbox. What it means is found out later, and never here. */

import { z } from "zod";
import { Envelope } from "../contract/github-payloads.ts";
import { Problem } from "../contract/problem.ts";
import { cleanText } from "../domain/clean-text.ts";
import { isDataError } from "../store/failure.ts";
import { type NewDelivery, type Stored, storeDeliveries } from "../store/inbox.ts";
import type { Deps } from "./deps.ts";
import { SharedCommit } from "./shared-commit.ts";

export interface IncomingDelivery {
  readonly hookId: string;
  readonly deliveryId: string;
  readonly event: string;
  readonly body: string;
}

/** Takes deliveries in. */
export type ReceiveDelivery = (incoming: IncomingDelivery) => Promise<Stored>;

/** GitHub waits ten seconds for an answer; a commit of so much takes a small part of one. */
const MOST_IN_ONE_COMMIT = { count: 64, weight: 4 * 1024 * 1024 };

/**
 * Stores each delivery and wakes the drain; answered is only what is committed, and many share a commit. A body that is
 * no JSON object is refused; any other is kept.
 */
export function deliveryReceiver(deps: Pick<Deps, "db" | "wake">): ReceiveDelivery {
  const commits = new SharedCommit<NewDelivery, Stored>({
    run: (all) => storeDeliveries(deps.db, all),
    weigh: ({ payload }) => payload.length,
    isOfOne: isDataError,
    most: MOST_IN_ONE_COMMIT,
  });
  return async (incoming) => {
    const { hookId, deliveryId, event, body } = incoming;
    const stored = await commits.add({ hookId, deliveryId, event, payload: body, ...addressOf(incoming) });
    if (stored !== "repeated") deps.wake.inbox();
    return stored;
  };
}

/** Which repository's inbox, and which lane of it: one per issue, so that an issue's events stay in order. */
function addressOf({ event, deliveryId, body }: IncomingDelivery) {
  const json = parse(body);
  const read = Envelope.safeParse(json);
  // Not of the documented form: kept, in a lane of its own, where its failure holds up nothing else.
  if (!read.success) return { repositoryId: 0, action: null, lane: `malformed:${deliveryId}` };
  const { repository, issue, pull_request, installation, action } = read.data;
  const lane = (): string => {
    if (event.startsWith("installation")) return `installation:${installation?.id ?? 0}`;
    if (issue) return `issue:${issue.number}`;
    if (pull_request) return `pull:${pull_request.number}`;
    const near = nearEnd(event, read.data);
    if (near) return `issue:${near.number}`;
    if (event === "push" || event === "check_suite") return event;
    return "repository";
  };
  return {
    repositoryId: event.startsWith("installation") ? 0 : (repository?.id ?? 0),
    action: action == null ? null : cleanText(action),
    lane: lane(),
  };
}

/** Of a link between two issues: the one that is in the delivery's repository. */
function nearEnd(event: string, payload: z.infer<typeof Envelope>): { number: number } | null | undefined {
  const action = payload.action ?? "";
  if (event === "sub_issues") {
    return action.startsWith("sub_issue_") ? payload.parent_issue : payload.sub_issue;
  }
  if (event !== "issue_dependencies") return null;
  return action.startsWith("blocked_by_") ? payload.blocked_issue : payload.blocking_issue;
}

function parse(body: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(body);
    return z.record(z.string(), z.unknown()).parse(json);
  } catch {
    throw new Problem(
      "validation_failed",
      "the body is no JSON object: set the webhook's content type to application/json",
    );
  }
}

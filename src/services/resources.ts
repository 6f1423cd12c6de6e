/** Who holds which resource, who did, and taking one away by force (protocol 9). */

import { Problem } from "../contract/problem.ts";
import type {
  ForceQuery,
  LeaseHistoryQuery,
  ResourceHistory,
  ResourceLeases,
} from "../contract/resources.ts";
import { BACKLOG, itemId, recordKey } from "../domain/record-key.ts";
import { forceRelease, holdersOf, type Interval, openLeases, pastLeases } from "../store/resources.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";

/** More than any fleet has; who has more asks for the history of a key. */
const MOST_LEASES = 1_000;

export async function resourceLeases(deps: Deps, caller: Caller): Promise<ResourceLeases> {
  const rows = await openLeases(deps.db, caller, MOST_LEASES);
  return { leases: rows.map(heldBody) };
}

export async function resourceHistory(
  deps: Deps,
  caller: Caller,
  { key, at, limit }: LeaseHistoryQuery,
): Promise<ResourceHistory> {
  const asked = { key: key ?? null, at: at === undefined ? null : new Date(at), limit };
  const rows = await pastLeases(deps.db, caller, asked);
  return { intervals: rows.map(intervalBody) };
}

/** The item goes on without it: whoever forces knows that nothing is damaged by that. */
export async function releaseByForce(deps: Deps, caller: Caller, key: string, { account }: ForceQuery) {
  const holders = await holdersOf(deps.db, key, account ?? null);
  const [holder, another] = holders;
  if (holder && another) {
    const accounts = holders.map(({ owner }) => owner).join(", ");
    throw new Problem(
      "conflict",
      `items of several accounts hold ${key}: add ?account= with one of ${accounts}`,
    );
  }
  const forced = holder ? await forceRelease(deps.db, holder.id, caller.actor) : null;
  if (forced === null)
    throw new Problem("not_found", `nobody holds ${key}${account ? ` in the account ${account}` : ""}`);
  deps.log.warn({ key, account: forced.owner, number: forced.number }, "a resource was released by force");
  return intervalBody(forced);
}

const heldBody = ({ key, owner, name, number, acquiredAt, expiresAt }: Interval) => ({
  key,
  account: owner,
  holderItem: recordKey({ owner, name }, BACKLOG, itemId(number)),
  acquiredAt: acquiredAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
});

const intervalBody = (row: Interval) => ({
  ...heldBody(row),
  ended: row.ended,
  endedAt: row.endedAt?.toISOString() ?? null,
  endedBy: row.endedBy,
});

/** Claims the first of some items that is to be had (`take_next` in migrations/0022): what `claim-next` does in one call. */

import { callTogether } from "./call.ts";
import type { Db } from "./database.ts";
import type { ClaimGrantedRow } from "./take-claim.ts";

export interface NextCall {
  readonly repositoryId: number;
  /** The best first. */
  readonly numbers: readonly number[];
  readonly owner: string;
  readonly actor: string;
  readonly region: string;
  readonly deploymentRegion: string;
  readonly leaseSeconds: number;
  readonly replica: string;
}

export interface NextGrant {
  readonly number: number;
  readonly claim: ClaimGrantedRow;
}

export type NextRow =
  | NextGrant
  /** None was to be had at once; of these others decided at that moment. */
  | { readonly number: null; readonly busy: readonly number[] };

const TAKE_NEXT = {
  name: "take_next",
  text: "select take_next($1, $2::int[], $3, $4, $5, $6, $7, $8, false) as answer",
} as const;

type Answer =
  | { number: number; claim: Omit<ClaimGrantedRow, "anchored">; anchored: boolean }
  | { from: number; busy: number[] }
  | { busy: number[] };

/** Goes on until one is granted, or none is left. */
export async function takeNext(db: Db, call: NextCall): Promise<NextRow> {
  const { repositoryId, owner, actor, region, deploymentRegion, leaseSeconds, replica } = call;
  const busy: number[] = [];
  for (let left = call.numbers; ; ) {
    const rest = [owner, actor, region, deploymentRegion, leaseSeconds, replica];
    const parameters = [repositoryId, `{${left.join()}}`, ...rest];
    const answer = await callTogether<Answer>(db, TAKE_NEXT, parameters, true);
    if ("number" in answer)
      return { number: answer.number, claim: { ...answer.claim, anchored: answer.anchored } };
    busy.push(...answer.busy);
    if (!("from" in answer)) return { number: null, busy };
    left = left.slice(left.indexOf(answer.from));
  }
}

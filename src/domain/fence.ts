/**
 * The fence on the write path (protocol 4, "The fence on the write path"): one pure decision, taken in the
 * transaction that writes with the claim's row locked, so that nothing comes between the check and the write.
 * It never reads the lease's expiry: a lapsed holder may write until somebody else is granted a higher token.
 */

/** What the fence knows of a record: null when it was never claimed. */
export interface FenceState {
  /** The high-water mark: the highest token ever granted on the record. */
  readonly mark: number;
  /** From grant until release, whatever the clock says. */
  readonly live: boolean;
  readonly region: string;
  /** The API actor that the token at the mark was granted to. */
  readonly actor: string;
}

export interface WriteAttempt {
  readonly token: number | null;
  readonly region: string;
  readonly actor: string;
}

export type FenceRefusal =
  | "claim_required"
  | "stale_token"
  | "unissued_token"
  | "claim_released"
  | "not_holder"
  | "foreign_region";

export type FenceVerdict =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly code: FenceRefusal };

const ACCEPTED: FenceVerdict = { accepted: true };
const refused = (code: FenceRefusal): FenceVerdict => ({ accepted: false, code });

/** Whether a write passes the fence, in the order of the protocol's table. */
export function decideWrite(state: FenceState | null, attempt: WriteAttempt): FenceVerdict {
  if (state === null) return ACCEPTED;
  if (attempt.token === null) return state.live ? refused("claim_required") : ACCEPTED;
  if (attempt.token < state.mark) return refused("stale_token");
  if (attempt.token > state.mark) return refused("unissued_token");
  if (!state.live) return refused("claim_released");
  if (attempt.actor !== state.actor) return refused("not_holder");
  if (attempt.region !== state.region) return refused("foreign_region");
  return ACCEPTED;
}

/**
 * Whether the token of a subtree claim above the record admits a write to it: held by this caller, here, and not
 * below the record's own mark (protocol 4, "Subtree claims").
 */
export function admitsBelow(epic: FenceState, record: FenceState | null, attempt: WriteAttempt): boolean {
  return (
    decideWrite(epic, attempt).accepted && attempt.token !== null && attempt.token >= (record?.mark ?? 0)
  );
}

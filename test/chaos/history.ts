/**
 * What a race leaves behind: every request with its answer, both timed on the machine's one monotonic clock, the
 * disturbances, and what the database holds at the end. Plain data, so that it can be kept as a file and checked anew.
 */

/** A record's address below the repository: `items/7` or `memory/notes/n1`. */
export type RecordName = string;

export type Call =
  | {
      readonly kind: "claim";
      readonly record: RecordName;
      readonly leaseSeconds: number;
      readonly maxWaitSeconds: number;
    }
  | { readonly kind: "claim-next"; readonly leaseSeconds: number }
  | {
      readonly kind: "renew";
      readonly record: RecordName;
      readonly token: number;
      readonly leaseSeconds: number;
    }
  | { readonly kind: "release"; readonly record: RecordName; readonly token: number }
  /** `text` is new for every write, so that it names the write. */
  | {
      readonly kind: "write";
      readonly record: RecordName;
      readonly token: number | null;
      readonly text: string;
    }
  | { readonly kind: "read"; readonly record: RecordName }
  | { readonly kind: "status"; readonly record: RecordName }
  | { readonly kind: "grants"; readonly record: RecordName };

export interface GrantSeen {
  readonly token: number;
  readonly owner: string;
  readonly ended: string | null;
}

export type Outcome =
  /** Of a claim or a renewal. `expiresAtMs` is the lease's end by the database's clock. */
  | {
      readonly kind: "granted";
      readonly record: RecordName;
      readonly token: number;
      readonly leaseSeconds: number;
      readonly expiresAtMs: number;
    }
  | { readonly kind: "not_granted"; readonly reason: string }
  | { readonly kind: "released" }
  | { readonly kind: "not_released"; readonly reason: string }
  | { readonly kind: "written" }
  | { readonly kind: "text"; readonly text: string | null }
  | { readonly kind: "status"; readonly token: number | null; readonly queueDepth: number }
  /** Newest first; `complete` when no older ones were left off. */
  | { readonly kind: "grants"; readonly grants: readonly GrantSeen[]; readonly complete: boolean }
  /** A problem answered by the server: nothing was done. */
  | { readonly kind: "refused"; readonly status: number; readonly code: string }
  /**
   * No answer, or (`answered`) one that says that it failed half way: it may have been done, now or later, or not.
   */
  | { readonly kind: "cut"; readonly why: string; readonly answered: boolean }
  /** It never left. */
  | { readonly kind: "unsent" };

export interface Exchange {
  /** Unique in the history. */
  readonly id: string;
  readonly owner: string;
  /** Which of the servers was asked. */
  readonly server: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly call: Call;
  readonly outcome: Outcome;
}

/** What may excuse a waiter's being passed over. */
export type Disturbance =
  | { readonly kind: "server_killed"; readonly server: number; readonly atMs: number }
  /** From the kill until the database answered again. */
  | { readonly kind: "postgres_down"; readonly fromMs: number; readonly untilMs: number }
  /** A server was so busy that its heart may have counted as stopped, and its waiters as gone, before it beat again. */
  | { readonly kind: "heart_late"; readonly fromMs: number; readonly untilMs: number };

/** A record as the database has it when everything is over. */
export interface FinalRecord {
  readonly record: RecordName;
  readonly mark: number;
  readonly text: string | null;
  /** Every grant of the database. `grantedAtMs` is by the database's clock. */
  readonly grants: readonly (GrantSeen & { readonly grantedAtMs: number })[];
}

export interface History {
  /** The database's clock less the machine's monotonic one lies between these. */
  readonly clockOffsetMs: { readonly low: number; readonly high: number };
  readonly exchanges: readonly Exchange[];
  readonly disturbances: readonly Disturbance[];
  /** Null: the race was not brought to its end. */
  readonly final: readonly FinalRecord[] | null;
}

/** A server that nobody listens to any more may still carry a request out so long after. */
export const LATE_MS = 60_000;
/** One that has answered, or is dead, has done all it will; what it left in the line counts for a little longer. */
export const LEFT_MS = 10_000;
/** For so long after the database came back, a server may still find a connection broken. */
export const BACK_MS = 3_000;

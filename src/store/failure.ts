/** What a failure of PostgreSQL means for whoever asked: wait for it, try again at once, or neither. */

interface Failure {
  readonly code?: string;
  readonly message?: string;
  readonly cause?: unknown;
}

/**
 * The classes of SQLSTATE for a connection that failed (08P01 is a mistake of ours), for a server that shuts down,
 * crashed or is starting, and for one that has no connection left; and the network's own codes.
 */
const LOST_CODES =
  /^(080..|57P0.|53300|25P0[34]|ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/;

/** What `pg` and its pool say without a code, when the connection breaks, does not come about, or was given up. */
const LOST_WORDS =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|timeout expired|Query read timeout|Cannot use a pool after calling end)/;

/**
 * PostgreSQL could not be reached, or the connection broke. Of what was under way nobody knows whether it was
 * committed; what follows may succeed as soon as PostgreSQL is back.
 */
export function isConnectionLost(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code = "", message = "", cause } = error as Failure;
  return (
    LOST_CODES.test(code) || LOST_WORDS.test(message) || (cause !== undefined && isConnectionLost(cause))
  );
}

/**
 * PostgreSQL broke the transaction off because of others: a deadlock, or an order that could not be had. Nothing was
 * committed, so it may be run again from its beginning.
 */
export const isBrokenOff = (error: unknown): boolean =>
  /^(40P01|40001)$/.test((error as Failure | null)?.code ?? "");

/** PostgreSQL takes no writes there: it is a standby, or its disk is full and somebody made it read-only. */
export const isReadOnly = (error: unknown): boolean => (error as Failure | null)?.code === "25006";

/** PostgreSQL refused a value (classes 22 and 23): trying again would not help. */
export const isDataError = (error: unknown): boolean => /^2[23]/.test((error as Failure | null)?.code ?? "");

const MOST_TRIES = 5;
const FIRST_PAUSE_MS = 10;

/**
 * Runs a whole transaction, and again when it was broken off: five times at most, after a pause that grows from about
 * 10 to 80 ms, by chance more or less, so that two that met do not meet again. `work` must do nothing but ask PostgreSQL.
 */
export async function untilNotBrokenOff<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isBrokenOff(error) || tries === MOST_TRIES) throw error;
      const pauseMs = FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random());
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

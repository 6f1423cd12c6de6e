/** What can go wrong with the embedded PostgreSQL, as stable codes a caller can switch on. */
export type EmbeddedPostgresErrorCode =
  | "no_binaries"
  | "no_run_user"
  | "folder_foreign"
  | "folder_in_use"
  | "folder_not_writable"
  | "folder_unreachable"
  | "cluster_damaged"
  | "version_mismatch"
  | "password_lost"
  | "port_taken"
  | "start_failed"
  | "stop_failed";

/** The message says what is wrong and what to do next, for someone who has never run PostgreSQL. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly code: EmbeddedPostgresErrorCode;

  constructor(code: EmbeddedPostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Anything that was not foreseen becomes `start_failed`, its cause kept. */
export function asStartFailure(error: unknown): EmbeddedPostgresError {
  if (error instanceof EmbeddedPostgresError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new EmbeddedPostgresError(
    "start_failed",
    `The embedded PostgreSQL could not be started: ${reason}. ` +
      "Set DATABASE_URL to use a PostgreSQL server of your own instead.",
    { cause: error },
  );
}

/** Whether the mirror is too old to grant claims by it (protocol 4, `mirror_stale`). It fails closed. */

export interface MirrorAge {
  /** How long ago it was known to be whole, or, before its first reading is done, how long the repository is known. */
  readonly seconds: number;
  /** Nothing of the repository is on GitHub: there is nothing to mirror. */
  readonly local: boolean;
  /** It was read as a whole at least once. */
  readonly read: boolean;
}

/** `limit` in seconds; null: however old. */
export const isMirrorStale = ({ seconds, local }: MirrorAge, limit: number | null): boolean =>
  !local && limit !== null && seconds > limit;

/** What to tell whoever is refused. */
export const staleText = ({ seconds, read }: MirrorAge, limit: number | null): string =>
  (read
    ? `GitHub was not heard from completely for ${seconds} s, and claims are granted up to ${limit} s`
    : `the repository has been known for ${seconds} s and could not be read from GitHub yet`) +
  ": issues may have been closed, blocked or withdrawn meanwhile. Claims go on by themselves when the mirror is whole " +
  "again; GET /health says what is in the way (refuseClaimsWhenMirrorOlderThanSeconds sets the limit)";

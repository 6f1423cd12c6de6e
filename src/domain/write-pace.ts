/**
 * How fast GitHub may be written to, for one installation. GitHub takes about 80 writes of content a minute and 500 an
 * hour (github-cases, section 2), shared with the people who write in the browser, and asks for a second between two.
 */

export interface WriteWindow {
  /** At most so many writes … */
  readonly writes: number;
  /** … begin within so many seconds. */
  readonly seconds: number;
}

export interface WritePace {
  /** From the end of a write to the beginning of the next. */
  readonly spacingSeconds: number;
  readonly windows: readonly WriteWindow[];
}

/** GitHub's own limits, and some room below them for people. */
export const GITHUB_PACE = { spacingMs: 1000, perMinute: 75, perHour: 480 } as const;

/** `perMinute` and `perHour`: 0 means that there is no such limit, as on an Enterprise Server with limits off. */
export function writePace(limits: { spacingMs: number; perMinute: number; perHour: number }): WritePace {
  const windows = [
    { writes: limits.perMinute, seconds: 60 },
    { writes: limits.perHour, seconds: 3600 },
  ];
  return {
    spacingSeconds: limits.spacingMs / 1000,
    windows: windows.filter(({ writes }) => writes > 0),
  };
}

/**
 * When the write after one that begins `now` may begin. `latest(n)` is when the n-th latest write began, counting
 * this one as the first; null: there were not so many.
 */
export function nextWriteAt(now: Date, pace: WritePace, latest: (n: number) => Date | null): Date {
  let at = now.getTime() + pace.spacingSeconds * 1000;
  for (const { writes, seconds } of pace.windows) {
    const first = latest(writes);
    if (first !== null) at = Math.max(at, first.getTime() + seconds * 1000);
  }
  return new Date(at);
}

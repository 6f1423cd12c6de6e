/** Measures how often callers, each waiting for its answer, get something done. */

/** What was measured in one go. */
export interface Slice {
  readonly perSecond: number;
  /** Of single rounds of work, in milliseconds; empty where they cannot be told. */
  readonly latencies: readonly number[];
}

/** One figure: measured in slices that alternate with those of the others. */
export interface Subject {
  readonly group: string;
  readonly name: string;
  slice(seconds: number): Promise<Slice>;
}

const WARM_UP_MS = 150;

/** Runs `work` again and again for each of the callers. The first moments, when plans are made, do not count. */
export async function measure(
  callers: number,
  seconds: number,
  work: (caller: number) => Promise<void>,
): Promise<Slice> {
  const begin = performance.now() + WARM_UP_MS;
  const end = begin + seconds * 1000;
  const latencies: number[] = [];
  const loop = async (caller: number): Promise<void> => {
    for (let before = performance.now(); before < end; ) {
      await work(caller);
      const after = performance.now();
      if (before >= begin && after <= end) latencies.push(after - before);
      before = after;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => loop(caller)));
  return { perSecond: latencies.length / seconds, latencies };
}

/** The value below which so much of the values lies; null when there are none. */
export function percentile(values: readonly number[], part: number): number | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? null;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5) ?? Number.NaN;

/** The machine's monotonic clock in milliseconds: the same in every process on it. */

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Cursors of listings: opaque to callers, the last key seen to us. */

import type { z } from "zod";
import { Problem } from "../contract/problem.ts";

export const cursorOf = (last: number): string => Buffer.from(`after:${last}`).toString("base64url");

/** Where a listing goes on, at most at key `most`; `start` when there is no cursor. */
export function readCursor(cursor: string | undefined, start: number, most: number): number {
  if (cursor === undefined) return start;
  const match = /^after:(-?\d{1,16})$/.exec(Buffer.from(cursor, "base64url").toString());
  const key = Number(match?.[1] ?? Number.NaN);
  if (Math.abs(key) <= most) return key;
  throw notOurs();
}

/** As above, of a listing whose rows are ordered by several columns. */
export const keyCursor = (last: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(last)).toString("base64url");

/** The key of the last row seen; null when there is no cursor. */
export function readKeyCursor<Key>(cursor: string | undefined, shape: z.ZodType<Key>): Key | null {
  if (cursor === undefined) return null;
  try {
    const read = shape.safeParse(JSON.parse(Buffer.from(cursor, "base64url").toString()));
    if (read.success) return read.data;
  } catch {
    // No JSON at all.
  }
  throw notOurs();
}

function notOurs(): Problem {
  const message = "this is no cursor of this listing; leave it out to begin at the first page";
  return new Problem("validation_failed", message, { errors: [{ field: "cursor", message }] });
}

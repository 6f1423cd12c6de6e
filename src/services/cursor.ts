/** Cursors of listings: opaque to callers, the last key seen to us. */

import { Problem } from "../contract/problem.ts";

export const cursorOf = (last: number): string => Buffer.from(`after:${last}`).toString("base64url");

/** Where a listing goes on, at most at key `most`; `start` when there is no cursor. */
export function readCursor(cursor: string | undefined, start: number, most: number): number {
  if (cursor === undefined) return start;
  const match = /^after:(-?\d{1,16})$/.exec(Buffer.from(cursor, "base64url").toString());
  const key = Number(match?.[1] ?? Number.NaN);
  if (Math.abs(key) <= most) return key;
  const message = "this is no cursor of this listing; leave it out to begin at the first page";
  throw new Problem("validation_failed", message, { errors: [{ field: "cursor", message }] });
}

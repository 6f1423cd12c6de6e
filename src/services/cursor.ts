/** Cursors of listings: opaque to callers, the last key seen to us. */

import { Problem } from "../contract/problem.ts";

export const cursorOf = (last: number): string => Buffer.from(`after:${last}`).toString("base64url");

/** Where a listing goes on; the beginning when there is no cursor. */
export function readCursor(cursor: string | undefined, start = 0): number {
  if (cursor === undefined) return start;
  const match = /^after:(-?\d{1,16})$/.exec(Buffer.from(cursor, "base64url").toString());
  if (match) return Number(match[1]);
  const message = "this is no cursor of this listing; leave it out to begin at the first page";
  throw new Problem("validation_failed", message, { errors: [{ field: "cursor", message }] });
}

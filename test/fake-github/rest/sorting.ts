import { malformed } from "../http-error.ts";
import { type ApiRequest, choice } from "./api-request.ts";

/** The rows changed at `?since=` or after it. */
export function since<T>(request: ApiRequest, rows: readonly T[], updatedAt: (row: T) => Date): T[] {
  const text = request.query.get("since");
  if (text === null) return [...rows];
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw malformed(422, `Invalid request: since=${text}`);
  return rows.filter((row) => updatedAt(row).getTime() >= time);
}

/** Sorted upwards by `compare`, and turned around unless `?direction=asc`. */
export function directed<T>(request: ApiRequest, rows: readonly T[], compare: (a: T, b: T) => number): T[] {
  const direction = choice(request, "direction", ["desc", "asc"]);
  return [...rows].sort(direction === "asc" ? compare : (a, b) => compare(b, a));
}

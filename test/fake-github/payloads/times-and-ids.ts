/** GitHub writes times without milliseconds. */
export function isoTime(date: Date): string {
  return date.toISOString().replace(/\.\d{3}Z$/, "Z");
}

export function isoTimeOrNull(date: Date | null): string | null {
  return date ? isoTime(date) : null;
}

/** Opaque on GitHub, but the same thing always has the same one. */
export function nodeId(prefix: string, id: number | string): string {
  return `${prefix}_${Buffer.from(`${prefix}:${id}`).toString("base64url")}`;
}

/** Frames of a stream of server-sent events, as text: what stands in one line must not break into two. */

export interface Frame {
  readonly id?: number | null;
  readonly event?: string;
  /** Any text: each of its lines gets its own `data:`. */
  readonly data?: string;
  /** How soon a client connects again, milliseconds. */
  readonly retryMs?: number;
  readonly comment?: string;
}

/** Without `data` a frame tells the client its place, and is no event for it. */
export function encodeFrame({ id = null, event, data, retryMs, comment }: Frame): string {
  const lines: string[] = [];
  if (comment !== undefined) lines.push(`: ${oneLine(comment)}`);
  if (retryMs !== undefined) lines.push(`retry: ${retryMs}`);
  if (id !== null) lines.push(`id: ${id}`);
  if (event !== undefined) lines.push(`event: ${oneLine(event)}`);
  if (data !== undefined) for (const line of data.split(/\r\n|\r|\n/)) lines.push(`data: ${line}`);
  return `${lines.join("\n")}\n\n`;
}

const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, " ");

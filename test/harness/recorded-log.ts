/** A logger that keeps its lines, so that a test can say what must, and must not, have been logged. */

import { type Logger, pino } from "pino";

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface RecordedLog {
  readonly log: Logger;
  readonly lines: LogLine[];
  /** Everything logged, as one text. */
  text(): string;
}

export const WARN = 40;
export const ERROR = 50;

export function recordedLog(): RecordedLog {
  const lines: LogLine[] = [];
  const text: string[] = [];
  const log = pino(
    { level: "debug" },
    {
      write: (line: string) => {
        text.push(line);
        lines.push(JSON.parse(line) as LogLine);
      },
    },
  );
  return { log, lines, text: () => text.join("") };
}

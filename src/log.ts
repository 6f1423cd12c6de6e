/** The one place where loggers are made: structured, without secrets, readable on a terminal. */

import { type Logger, pino } from "pino";

/** Wherever these appear in a logged object, they do not reach the log. */
const SECRETS = [
  "authorization",
  "*.authorization",
  "*.*.authorization",
  "*.headers.authorization",
  "token",
  "*.token",
  "privateKey",
  "*.privateKey",
  "webhookSecret",
  "*.webhookSecret",
  "err.request.headers.authorization",
  "err.request.body",
  "err.response.data",
];

export function createLog(options: { level: string; pretty: boolean }): Logger {
  return pino({
    level: options.level,
    redact: { paths: SECRETS, censor: "[secret]" },
    ...(options.pretty
      ? {
          transport: {
            target: "pino-pretty",
            options: { ignore: "pid,hostname", translateTime: "HH:MM:ss" },
          },
        }
      : {}),
  });
}

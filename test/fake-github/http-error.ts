import type { JsonObject } from "./json.ts";

/** What GitHub refuses. The people's API throws it too, so that a test sees the refusal by name. */
export class HttpError extends Error {
  readonly status: number;
  readonly errors: JsonObject[] | null;
  readonly headers: Record<string, string>;
  /** A correct App does not send this: it goes to `github.unexpected`. */
  readonly isClientBug: boolean;

  constructor(
    status: number,
    message: string,
    more: { errors?: JsonObject[]; headers?: Record<string, string>; isClientBug?: boolean } = {},
  ) {
    super(message);
    this.name = "HttpError";
    this.status = status;
    this.errors = more.errors ?? null;
    this.headers = more.headers ?? {};
    this.isClientBug = more.isClientBug ?? false;
  }
}

export function notFound(): HttpError {
  return new HttpError(404, "Not Found");
}

export function validationFailed(resource: string, field: string, code: string, message?: string): HttpError {
  const error = message === undefined ? { resource, field, code } : { resource, field, code, message };
  return new HttpError(422, "Validation Failed", { errors: [error] });
}

export function malformed(status: 400 | 401 | 404 | 413 | 422, message: string): HttpError {
  return new HttpError(status, message, { isClientBug: true });
}

/** An App knows the limit, so running into it is its mistake. */
export function tooLong(resource: string, field: string, message: string): HttpError {
  const error = { resource, field, code: "custom", message };
  return new HttpError(422, "Validation Failed", { errors: [error], isClientBug: true });
}

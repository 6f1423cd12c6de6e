/** One translator from whatever was thrown to what a caller may know: problem+json, never a stack or a secret. */

import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import type { Logger } from "pino";
import { SETTABLE } from "../../contract/memory.ts";
import { type FieldError, Problem, problemBody } from "../../contract/problem.ts";
import { Replayed } from "../../services/once.ts";
import { outageOf } from "../../services/outage.ts";

const TYPE = "application/problem+json; charset=utf-8";

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.retryAfterMs !== null) reply.header("retry-after", Math.ceil(problem.retryAfterMs / 1000));
  if (problem.code === "unauthenticated") reply.header("www-authenticate", "Bearer");
  // Serialised here: a route's schemas describe its answers, and this is none of them.
  return reply
    .status(problem.status)
    .header("content-type", TYPE)
    .serializer(JSON.stringify)
    .send(problemBody(problem));
}

export function answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = request.url.split("?", 1)[0];
  return sendProblem(
    reply,
    new Problem("not_found", `there is no ${request.method} ${path}; /docs lists what there is`),
  );
}

/**
 * Answers an error. Callers' mistakes are not news: only what is broken here is logged. PostgreSQL's being away is no
 * fault of the request's: it is told in a line, without a stack, however many ask meanwhile.
 */
export function answerError(
  log: Logger,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof Replayed) return sendAgain(reply, error);
  const problem = problemOf(error, request);
  const where = { method: request.method, route: request.routeOptions.url };
  if (problem.code === "unavailable" || (error instanceof Problem && problem.status >= 500)) {
    log.warn({ ...where, reason: messageOf(error) }, "a request could not be served");
  } else if (problem.status >= 500) {
    log.error({ err: error, ...where }, "a request failed");
  }
  return sendProblem(reply, problem);
}

/** The first answer once more: as text, for it must be the same to the byte. */
const sendAgain = (reply: FastifyReply, { status, body }: Replayed): FastifyReply =>
  reply
    .status(status)
    .header("content-type", "application/json; charset=utf-8")
    .header("idempotency-replayed", "true")
    .serializer((text: unknown) => text as string)
    .send(body);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function problemOf(error: unknown, request: FastifyRequest): Problem {
  if (error instanceof Problem) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return invalid(error, request);
  const { code = "", statusCode = 500, message } = error as Partial<FastifyError> & { message: string };
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE")
    return new Problem("payload_too_large", "the body is over the limit");
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return new Problem("unsupported_media_type", "send JSON, with the header Content-Type: application/json");
  }
  if (code === "FST_ERR_CTP_EMPTY_JSON_BODY") return invalidFields([bodyError("is empty: send JSON")]);
  if (code === "FST_ERR_CTP_INVALID_JSON_BODY" || error instanceof SyntaxError)
    return invalidFields([bodyError("is not valid JSON")]);
  if (code === "FST_ERR_BAD_URL")
    return new Problem("validation_failed", "the address holds a % that does not begin an escape of UTF-8");
  if (code === "FST_ERR_MAX_PARAM_LENGTH")
    return new Problem("validation_failed", "a part of the address is longer than any name");
  if (statusCode >= 400 && statusCode < 500) return new Problem("validation_failed", message);
  return outageOf(error) ?? new Problem("internal", "something failed here; the server's log says what");
}

interface ZodIssueParams {
  readonly issue?: { readonly code?: string; readonly keys?: readonly string[] };
}

function invalid(
  error: {
    validation: readonly { instancePath: string; message?: string; params?: unknown }[];
    validationContext?: string;
  },
  request: FastifyRequest,
): Problem {
  const where = error.validationContext ?? "body";
  // Only of the body itself: below it (`tags.set`) the fault lies in the form, not in the name.
  const unknown = error.validation.flatMap(({ instancePath, params }) =>
    instancePath.replace(/^\//, "") === "" ? unknownKeys(params) : [],
  );
  const isMemoryWrite =
    /\/memory\//.test(request.routeOptions.url ?? "") && /^(PUT|PATCH|POST)$/.test(request.method);
  const [first] = unknown;
  if (first !== undefined && isMemoryWrite && where === "body" && !request.url.includes("/claim")) {
    return new Problem(
      "field_not_settable",
      `${first} cannot be set; a record's fields are ${SETTABLE.join(", ")}`,
      {
        errors: unknown.map((field) => ({ field, message: "cannot be set" })),
      },
    );
  }
  const errors: FieldError[] = error.validation.flatMap(({ instancePath, message = "not valid", params }) => {
    const path = instancePath.replace(/^\//, "").replaceAll("/", ".");
    const keys = unknownKeys(params);
    if (keys.length > 0)
      return keys.map((key) => ({ field: path ? `${path}.${key}` : key, message: "is not known" }));
    return [{ field: path || where, message }];
  });
  return invalidFields(errors);
}

/** More mistakes than these only make the answer long. */
const SHOWN_ERRORS = 20;

const bodyError = (message: string): FieldError => ({ field: "body", message });

function invalidFields(errors: readonly FieldError[]): Problem {
  const shown = errors.slice(0, SHOWN_ERRORS);
  const told = shown.map(({ field, message }) => `${field}: ${message}`);
  if (errors.length > shown.length) told.push(`and ${errors.length - shown.length} more`);
  return new Problem("validation_failed", told.join("; ") || "the request is not valid", { errors: shown });
}

const unknownKeys = (params: unknown): readonly string[] => {
  const direct = params as { keys?: readonly string[] } & ZodIssueParams;
  return direct?.keys ?? direct?.issue?.keys ?? [];
};

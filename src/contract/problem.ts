/** Errors as callers see them: `application/problem+json` (RFC 9457), with the codes of api.md. */

import { z } from "zod";

export const PROBLEMS = {
  validation_failed: [400, "The request is not valid"],
  not_claimable: [400, "This record cannot be claimed"],
  reserved: [400, "This is reserved; another call does it"],
  field_not_settable: [400, "This field cannot be set"],
  ttl_forbidden: [400, "Backlog items never expire"],
  unauthenticated: [401, "A valid token is needed"],
  insufficient_capability: [403, "The token lacks a capability"],
  scope_forbidden: [403, "The token does not reach this"],
  not_found: [404, "Not found"],
  conflict: [409, "Conflict"],
  claim_required: [409, "A live claim excludes writes without its token"],
  stale_token: [409, "The fencing token was superseded"],
  unissued_token: [409, "The fencing token was never granted here"],
  claim_released: [409, "The claim of this token has ended"],
  not_holder: [409, "The fencing token was granted to another caller"],
  foreign_region: [409, "The claim is held in another region"],
  cycle: [409, "The edge would close a cycle"],
  edge_refused: [409, "The edge is refused"],
  payload_too_large: [413, "The body is too large"],
  unsupported_media_type: [415, "The body must be JSON"],
  evidence_missing: [422, "The evidence is missing"],
  ruling_required: [422, "A ruling owner and a question are needed"],
  idempotency_mismatch: [422, "The idempotency key was used for another request"],
  rate_limited: [429, "Too many requests"],
  internal: [500, "Something failed here"],
  github_unavailable: [502, "GitHub did not answer"],
  unavailable: [503, "Not available right now"],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof PROBLEMS;

export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/** A refusal that a caller is told about. `detail` says what is wrong and what to do next. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  readonly retryAfterMs: number | null;
  /** Where a result that came too late was kept. */
  readonly lateResult: string | null;

  constructor(
    code: ProblemCode,
    detail: string,
    extra: { errors?: readonly FieldError[]; retryAfterMs?: number; lateResult?: string } = {},
  ) {
    super(detail);
    this.name = "Problem";
    this.code = code;
    this.errors = extra.errors ?? [];
    this.retryAfterMs = extra.retryAfterMs ?? null;
    this.lateResult = extra.lateResult ?? null;
  }

  get status(): number {
    return PROBLEMS[this.code][0];
  }
}

export const ProblemBody = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    retryAfterMs: z.int().optional(),
    lateResult: z.string().optional().meta({ description: "Where what came too late was kept" }),
    errors: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457 problem details" });

/** The body that a problem is answered with. */
export function problemBody(problem: Problem): z.infer<typeof ProblemBody> {
  const [status, title] = PROBLEMS[problem.code];
  return {
    type: `urn:leasehold:problem:${problem.code}`,
    title,
    status,
    detail: problem.message,
    code: problem.code,
    ...(problem.retryAfterMs === null ? {} : { retryAfterMs: problem.retryAfterMs }),
    ...(problem.lateResult === null ? {} : { lateResult: problem.lateResult }),
    ...(problem.errors.length === 0 ? {} : { errors: [...problem.errors] }),
  };
}

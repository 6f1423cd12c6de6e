/**
 * What a route may refuse, by its codes. The document lists them by status, and test/http/refusals provokes each: a
 * code that stands in a route's list and never comes is a defect, and so is one that comes and does not stand there.
 */

import { PROBLEMS, ProblemBody, type ProblemCode } from "../../contract/problem.ts";

/** A refusal of one status, as the routes' schemas hold it. */
export interface RefusalSchema {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: typeof ProblemBody }>>;
  readonly codes: readonly ProblemCode[];
}

/** What most routes below a repository refuse. */
export const READ_CODES = ["validation_failed", "not_found"] as const;
/** And writes that take an idempotency key. */
export const KEYED_CODES = [...READ_CODES, "idempotency_mismatch"] as const;
/** The fence on the write path (protocol 4). `conflict`: the repository was just connected to GitHub. */
export const FENCE_CODES = [
  "claim_required",
  "stale_token",
  "unissued_token",
  "claim_released",
  "not_holder",
  "foreign_region",
  "conflict",
] as const;

/** Of every route under the API: these need not be said again. */
const EVERYWHERE: readonly ProblemCode[] = ["unauthenticated", "insufficient_capability", "unavailable"];
/** Of every route that takes a body. */
const WITH_BODY: readonly ProblemCode[] = ["payload_too_large", "unsupported_media_type"];

/** The responses with which a route refuses, to be spread into its schema. They are documented, never serialised. */
export const refusing = (...codes: ProblemCode[]): Record<never, never> => byStatus(codes);

/** All the refusals of a route: those that it names, and those of every route of its kind. */
export function allRefusals(route: {
  readonly response: unknown;
  readonly isApi: boolean;
  /** A token with bounds may be refused the whole of it. */
  readonly isBounded: boolean;
  readonly hasBody: boolean;
}): Record<string, RefusalSchema> {
  const named = Object.values((route.response ?? {}) as object).flatMap((answer) =>
    isRefusal(answer) ? answer.codes : [],
  );
  return byStatus([
    ...named,
    ...(route.isApi ? EVERYWHERE : []),
    ...(route.isBounded ? (["scope_forbidden"] as const) : []),
    ...(route.hasBody ? WITH_BODY : []),
  ]);
}

export const isRefusal = (answer: unknown): answer is RefusalSchema =>
  typeof answer === "object" && answer !== null && "codes" in answer;

function byStatus(codes: readonly ProblemCode[]): Record<string, RefusalSchema> {
  const found = new Map<number, ProblemCode[]>();
  for (const code of new Set(codes)) {
    const [status] = PROBLEMS[code];
    found.set(status, [...(found.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...found].map(([status, all]) => [
      String(status),
      {
        description: all.map((code) => `\`${code}\`: ${PROBLEMS[code][1]}`).join(". "),
        content: { "application/problem+json": { schema: ProblemBody } },
        codes: all,
      },
    ]),
  );
}

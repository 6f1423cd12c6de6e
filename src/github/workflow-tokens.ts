/**
 * The tokens that GitHub Actions makes for its workflows (OIDC): verified against the keys that the issuer publishes, for
 * our audience only. It fails closed: what cannot be verified now is not accepted.
 */

import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { WorkflowClaims } from "../contract/workflow-claims.ts";

export interface WorkflowIssuer {
  /** E.g. `https://token.actions.githubusercontent.com`. */
  readonly issuer: string;
  /** What a workflow asks its token for: another server's token is not one for this. */
  readonly audience: string;
  /** Keys that are not known are asked for anew at most so often. */
  readonly cooldownMs?: number;
}

/** The token is not one that this server takes; the message says why, for its bearer. */
export class WorkflowTokenRefused extends Error {
  override readonly name = "WorkflowTokenRefused";
}

/** The issuer's keys cannot be read, so that nothing can be said of the token. */
export class IssuerUnreachable extends Error {
  override readonly name = "IssuerUnreachable";
}

/** GitHub signs with nothing else; whoever may choose the algorithm may choose none. */
const ALGORITHMS = ["RS256"];
const KEYS_KEPT_MS = 600_000;
const COOLDOWN_MS = 30_000;
const TIMEOUT_MS = 5_000;

/** Only these say that the token is bad; anything else says that it could not be judged. */
const REFUSALS: readonly (new (...given: never[]) => Error)[] = [
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JWTInvalid,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
];

export class WorkflowTokens {
  readonly #of: WorkflowIssuer;
  readonly #keys: JWTVerifyGetKey;

  constructor(of: WorkflowIssuer) {
    this.#of = of;
    this.#keys = createRemoteJWKSet(new URL(`${of.issuer}/.well-known/jwks`), {
      cacheMaxAge: KEYS_KEPT_MS,
      cooldownDuration: of.cooldownMs ?? COOLDOWN_MS,
      timeoutDuration: TIMEOUT_MS,
    });
  }

  /** What the token says, if it is valid at `now`. Throws `WorkflowTokenRefused` and `IssuerUnreachable`. */
  async verify(token: string, now: Date): Promise<WorkflowClaims> {
    const { issuer, audience } = this.#of;
    try {
      const { payload } = await jwtVerify(token, this.#keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        currentDate: now,
        requiredClaims: ["exp", "sub"],
      });
      const claims = WorkflowClaims.safeParse(payload);
      if (claims.success) return claims.data;
    } catch (error) {
      if (error instanceof Error && REFUSALS.some((refusal) => error instanceof refusal))
        throw new WorkflowTokenRefused(this.#reasonOf(error));
      throw new IssuerUnreachable((error as Error).message, { cause: error });
    }
    throw new WorkflowTokenRefused(
      "it does not name its workflow's repository and run as GitHub Actions does",
    );
  }

  #reasonOf(error: Error): string {
    const { issuer, audience } = this.#of;
    if (error instanceof errors.JWTExpired) return "it has expired: ask GitHub for another one";
    if (error instanceof errors.JWTClaimValidationFailed && error.claim === "aud")
      return `it is for another audience: ask GitHub for one with the audience ${audience}`;
    if (error instanceof errors.JWTClaimValidationFailed && error.claim === "iss")
      return `it is not of ${issuer}, the only issuer that is trusted here`;
    return "it is not signed by GitHub Actions";
  }
}

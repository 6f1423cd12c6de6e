/** What each refusal looks like. */

import type { z } from "zod";
import { Problem, type ProblemBody, type ProblemCode, problemBody } from "../problem.ts";

const DETAILS: Readonly<Record<ProblemCode, string>> = {
  validation_failed: "limit: a whole number from 1 to 100",
  not_claimable: "a record that is yet to be made cannot be claimed; leave Fencing-Token out",
  reserved: "the tag state:complete is not set here: merge its pull request",
  field_not_settable: "createdAt cannot be set; a record's fields are title, body, author, provenance, kind",
  ttl_forbidden: "backlog items never expire: silent expiry would starve what waits for them",
  unauthenticated: "send the header Authorization: Bearer <token>",
  insufficient_capability: "this token may not write; it needs the capability write",
  scope_forbidden: "#7 is out of this token's scope",
  not_found: "acme/widgets is not known here. Install the GitHub App on it, or check the spelling",
  conflict: "#7 is parked: a human unparks it first",
  claim_required: "the record is claimed; send the holder's Fencing-Token, or wait until the claim ends",
  stale_token:
    "a newer claim was granted, so this token may not write any more; stop, and claim again if work is left",
  unissued_token:
    "no claim with this token was granted on the record; send the token that the grant answered",
  claim_released: "the claim of this token has ended; claim the record again before writing under a token",
  not_holder: "this fencing token was granted to another API token; claim the record yourself",
  foreign_region: "the claim is held in another region; write there",
  cycle: "the items would wait for each other: #7 → #3 → #7",
  edge_refused: "#3 is parked: whoever waits for it would wait for a ruling",
  payload_too_large: "the body is over the limit",
  unsupported_media_type: "send JSON, with the header Content-Type: application/json",
  evidence_missing: "the pull request #12 is not merged",
  ruling_required: "say who can decide (rulingOwner) and what they have to decide (question)",
  idempotency_mismatch: "this Idempotency-Key was sent with another request within the last 24 hours",
  rate_limited: "too many requests of this token; wait as Retry-After says",
  internal: "something failed here; the server's log says what",
  github_unavailable: "GitHub could not be asked; try again",
  unavailable: "the database does not answer; send it again in a moment",
};

export const problemExample = (code: ProblemCode): z.infer<typeof ProblemBody> =>
  problemBody(new Problem(code, DETAILS[code]));

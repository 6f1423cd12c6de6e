/**
 * What claims are by the pure rules alone: a record that is claimed, renewed, released, written and parked by
 * `domain/`, without a database. Tokens come from outside: the sequence gives them, the model only says whether it may.
 */

import { decideItemClaim, decideRecordClaim } from "../../../src/domain/claim-decision.ts";
import { decideWrite } from "../../../src/domain/fence.ts";
import {
  clampLease,
  decideRelease,
  decideRenew,
  isHeld,
  type LeaseBounds,
} from "../../../src/domain/lease.ts";
import type { ClaimFacts } from "../../../src/domain/why-not.ts";
import { item } from "../../domain/facts.ts";

export const THRESHOLD = 3;
export const BOUNDS: LeaseBounds = { defaultSeconds: 30, maxSeconds: 1800 };

export interface Who {
  readonly owner: string;
  readonly actor: string;
  /** Where the request arrives. */
  readonly deployment: string;
}

interface GrantKept {
  readonly fence: number;
  readonly owner: string;
  readonly newAttempt: boolean;
  readonly previousFence: number | null;
  ended: string | null;
}

export class ClaimModel {
  readonly isItem: boolean;
  #exists = true;
  #parked = false;
  #claim: ClaimFacts | null = null;
  #attemptsAfter = 0;
  readonly #grants: GrantKept[] = [];

  constructor(isItem: boolean) {
    this.isItem = isItem;
  }

  get fences(): readonly number[] {
    return this.#grants.map(({ fence }) => fence);
  }

  get #attempts(): number {
    return this.#grants.filter(({ fence, newAttempt }) => newAttempt && fence > this.#attemptsAfter).length;
  }

  /** `fence`: the token that the database gave, if it granted. Answers what a caller must be told. */
  claim(who: Who, asked: { region?: string; leaseSeconds?: number }, now: Date, fence: number | null) {
    const { owner, actor, deployment } = who;
    const claimant = { owner, actor, region: asked.region ?? deployment };
    const before = this.#claim;
    const state = this.#parked ? ("parked" as const) : null;
    const facts = item({ claim: before, attempts: this.#attempts, threshold: THRESHOLD, state });
    const decision = this.isItem
      ? decideItemClaim(facts, claimant, deployment, now)
      : decideRecordClaim({ exists: this.#exists, claim: before }, claimant, deployment, now);
    if (!decision.granted) {
      const { reason, retryAfterMs, blockers } = decision;
      return { granted: false, reason, blockers, ...(retryAfterMs === null ? {} : { retryAfterMs }) };
    }
    const leaseSeconds = clampLease(asked.leaseSeconds, BOUNDS);
    const leaseExpiresAt = new Date(now.getTime() + leaseSeconds * 1000);
    const { newAttempt, previous } = decision;
    if (before?.live) this.#end(before.owner === owner && before.actor === actor ? "lapsed" : "superseded");
    this.#grants.push({
      fence: fence ?? Number.NaN,
      owner,
      newAttempt,
      previousFence: before?.fence ?? null,
      ended: null,
    });
    this.#claim = {
      ...claimant,
      fence: fence ?? Number.NaN,
      live: true,
      leaseExpiresAt,
      reclaims: newAttempt ? 0 : (before?.reclaims ?? 0) + 1,
    };
    return {
      granted: true,
      owner,
      region: claimant.region,
      fencingToken: fence,
      leaseSeconds,
      leaseExpiresAt: leaseExpiresAt.toISOString(),
      attempt: this.isItem ? this.#attempts : this.#grants.length,
      custodyChanged: newAttempt,
      previous: previous && { owner: previous.owner, fencingToken: previous.fence, lapsed: previous.lapsed },
    };
  }

  renew({ actor }: Who, token: number, seconds: number | undefined, now: Date) {
    const claim = this.#claim;
    if (claim === null && !this.#exists) return { granted: false, reason: "missing" };
    const verdict = decideRenew(claim, token, actor, now);
    if (verdict === "not_holder") return { refused: "not_holder" };
    if (verdict === "superseded" || claim === null) return { granted: false, reason: "superseded" };
    const leaseSeconds = clampLease(seconds, BOUNDS);
    const leaseExpiresAt = new Date(now.getTime() + leaseSeconds * 1000);
    this.#claim = { ...claim, leaseExpiresAt };
    return {
      granted: true,
      fencingToken: token,
      leaseSeconds,
      leaseExpiresAt: leaseExpiresAt.toISOString(),
      leaseShortened: leaseExpiresAt < claim.leaseExpiresAt,
      previousLeaseExpiresAt: claim.leaseExpiresAt.toISOString(),
    };
  }

  release({ actor }: Who, token: number) {
    if (this.#claim === null && !this.#exists) return { released: false, reason: "missing" };
    const verdict = decideRelease(this.#claim, token, actor);
    if (verdict === "not_holder") return { refused: "not_holder" };
    if (verdict !== "release") return { released: false, reason: verdict };
    this.#end("released");
    // The last attempt has run to its end.
    if (this.isItem && this.#attempts >= THRESHOLD) this.#parked = true;
    return { released: true };
  }

  /** A write that makes the record if it is not there. */
  write({ actor, deployment }: Who, token: number | null) {
    const claim = this.#claim;
    const state = claim && { mark: claim.fence, live: claim.live, region: claim.region, actor: claim.actor };
    const verdict = decideWrite(state, { token, region: deployment, actor });
    if (!verdict.accepted) return { refused: verdict.code };
    this.#exists = true;
    return { accepted: true };
  }

  forget(who: Who, token: number | null) {
    const existed = this.#exists;
    const answer = this.write(who, token);
    this.#exists = "accepted" in answer ? false : existed;
    return answer;
  }

  park(): void {
    if (this.#parked) return;
    this.#parked = true;
    if (this.#claim?.live) this.#end("parked");
  }

  unpark(): void {
    if (!this.#parked) return;
    this.#parked = false;
    this.#attemptsAfter = this.#claim?.fence ?? 0;
  }

  status(now: Date) {
    const claim = this.#claim;
    return {
      exists: this.#exists,
      claimed: claim?.live ?? false,
      isHeld: isHeld(claim, now),
      owner: claim?.owner ?? null,
      region: claim?.region ?? null,
      fencingToken: claim?.fence ?? null,
      leaseExpiresAt: claim?.leaseExpiresAt.toISOString() ?? null,
      queueDepth: 0,
      grants: this.#grants.length,
    };
  }

  /** Newest first. */
  history(now: Date) {
    const isLapsed = this.#claim?.live === true && !isHeld(this.#claim, now);
    return this.#grants.toReversed().map(({ fence, owner, newAttempt, previousFence, ended }, index) => ({
      fencingToken: fence,
      owner,
      newAttempt,
      previousFencingToken: previousFence,
      ended: ended ?? (index === 0 && isLapsed ? "lapsed" : null),
    }));
  }

  #end(how: string): void {
    const last = this.#grants.at(-1);
    if (last) last.ended = how;
    if (this.#claim) this.#claim = { ...this.#claim, live: false };
  }
}

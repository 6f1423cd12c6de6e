/** Small histories with one fault each, and their like without it. */

import type { History } from "./history.ts";
import {
  ask,
  atTheEnd,
  claim,
  depth,
  lease,
  R,
  read,
  refused,
  release,
  renew,
  S,
  served,
  shown,
  stored,
  story,
  wait,
  write,
} from "./story-parts.ts";
import type { Rule } from "./violation.ts";

export interface Planted {
  readonly rule: Rule;
  readonly what: string;
  readonly broken: History;
  readonly fine: History;
}

const timedOut = wait("b", [200, 1_200], { kind: "not_granted", reason: "timeout" });

export const planted: readonly Planted[] = [
  {
    rule: "two_holders",
    what: "a second grant within the lease",
    broken: story([claim("a", 1, 100), claim("b", 2, 9_000)]),
    fine: story([claim("a", 1, 100), claim("b", 2, 10_200)]),
  },
  {
    rule: "two_holders",
    what: "a second grant within the lease as it was renewed",
    broken: story([claim("a", 1, 100), renew("a", 1, 9_000), claim("b", 2, 12_000)]),
    fine: story([claim("a", 1, 100), renew("a", 1, 9_000), release("a", 1, 11_000), claim("b", 2, 12_000)]),
  },
  {
    rule: "token_not_increasing",
    what: "a lower token after a higher one",
    broken: story([claim("a", 5, 100), release("a", 5, 200), claim("b", 4, 300)]),
    fine: story([claim("a", 4, 100), release("a", 4, 200), claim("b", 5, 300)]),
  },
  {
    rule: "token_issued_twice",
    what: "the same token on two records",
    broken: story([claim("a", 5, 100), claim("b", 5, 300, S)]),
    fine: story([claim("a", 5, 100), claim("b", 6, 300, S)]),
  },
  {
    rule: "write_below_mark",
    what: "a late write after another's grant",
    broken: story([claim("a", 1, 100), claim("b", 2, 10_200), write("a", 1, 10_300)]),
    fine: story([claim("a", 1, 100), write("a", 1, 10_190), claim("b", 2, 10_200)]),
  },
  {
    rule: "write_without_token",
    what: "a bare write while a claim is live, though lapsed",
    broken: story([claim("a", 1, 100), write("c", null, 15_000)]),
    fine: story([claim("a", 1, 100), release("a", 1, 14_998), write("c", null, 15_000)]),
  },
  {
    rule: "write_after_release",
    what: "a write under a token that was given back",
    broken: story([claim("a", 1, 100), release("a", 1, 200), write("a", 1, 300)]),
    fine: story([claim("a", 1, 100), release("a", 1, 200), write("a", 1, 300, refused("claim_released"))]),
  },
  {
    rule: "write_with_unissued_token",
    what: "a write under a token that nobody was granted",
    broken: story([claim("a", 1, 100), write("a", 9, 300)]),
    fine: story([claim("a", 1, 100), write("a", 9, 300, refused("unissued_token"))]),
  },
  {
    rule: "renewed_after_end",
    what: "a renewal after the lease had run out",
    broken: story([claim("a", 1, 100), renew("a", 1, 10_200)]),
    fine: story([claim("a", 1, 100), renew("a", 1, 10_098)]),
  },
  {
    rule: "refused_without_cause",
    what: "stale, though nobody else was granted it",
    broken: story([claim("a", 1, 100), write("a", 1, 20_000, refused("stale_token"))]),
    fine: story([claim("a", 1, 100), claim("b", 2, 15_000), write("a", 1, 20_000, refused("stale_token"))]),
  },
  {
    rule: "refused_without_cause",
    what: "a granted token is said to be unissued",
    broken: story([claim("a", 1, 100), write("a", 1, 20_000, refused("unissued_token"))]),
    fine: story([claim("a", 1, 100), write("a", 1, 20_000)]),
  },
  {
    rule: "lease_not_as_granted",
    what: "a lease by a clock that is an hour ahead",
    broken: story([
      ask(
        "a",
        [95, 105],
        { kind: "claim", record: R, leaseSeconds: 10, maxWaitSeconds: 0 },
        lease(R, 1, 3_600_100),
      ),
    ]),
    fine: story([claim("a", 1, 100)]),
  },
  {
    rule: "grant_lost",
    what: "a grant is not in the history of claims",
    broken: story([claim("a", 1, 100), release("a", 1, 200), shown(300)]),
    fine: story([claim("a", 1, 100), release("a", 1, 200), shown(300, ["a", 1, "released"])]),
  },
  {
    rule: "grant_lost",
    what: "a delivered grant was taken back",
    broken: story([claim("a", 1, 100), shown(300, ["a", 1, "undelivered"])]),
    fine: story([claim("a", 1, 100), shown(300, ["a", 1, null])]),
  },
  {
    rule: "grant_from_nowhere",
    what: "the database has a grant that nobody asked for",
    broken: story([claim("a", 1, 100)], atTheEnd(2, null, [stored(1, "a", 100), stored(2, "b", 20_000)])),
    fine: story(
      [claim("a", 1, 100), wait("b", [19_000, 19_500], { kind: "cut", why: "", answered: false })],
      atTheEnd(2, null, [stored(1, "a", 100), stored(2, "b", 20_000)]),
    ),
  },
  {
    rule: "waiter_overtaken",
    what: "who came later was served first",
    broken: story([
      claim("a", 1, 100),
      served(200, 3_000, "b", 3, 2_950),
      depth(1, 300),
      served(400, 2_000, "c", 2, 1_000),
      release("a", 1, 950),
      release("c", 2, 2_500),
    ]),
    fine: story([
      claim("a", 1, 100),
      served(200, 2_000, "b", 2, 1_000),
      depth(1, 300),
      served(400, 3_000, "c", 3, 2_950),
      release("a", 1, 950),
      release("b", 2, 2_500),
    ]),
  },
  {
    rule: "overtaken_by_hasty",
    what: "who did not wait was served before who did, and who then timed out",
    broken: story([
      claim("a", 1, 100),
      wait("b", [200, 30_250], { kind: "not_granted", reason: "timeout" }),
      depth(1, 300),
      claim("c", 2, 10_500),
    ]),
    fine: story([
      claim("a", 1, 100),
      wait("b", [200, 30_250], { kind: "not_granted", reason: "timeout" }),
      depth(1, 300),
      claim("c", 2, 30_210),
    ]),
  },
  {
    rule: "phantom_waiter",
    what: "one is said to wait, and nobody is there",
    broken: story([claim("a", 1, 100), depth(1, 300)]),
    fine: story([claim("a", 1, 100), depth(0, 300)]),
  },
  {
    rule: "phantom_waiter",
    what: "somebody who has timed out still counts; fine only while the database could not hear of it",
    broken: story([claim("a", 1, 100), timedOut, depth(1, 1_500)]),
    fine: {
      ...story([claim("a", 1, 100), timedOut, depth(1, 1_500)]),
      disturbances: [{ kind: "postgres_down", fromMs: 700, untilMs: 1_400 }],
    },
  },
  {
    rule: "write_lost",
    what: "an older write is read after a later one",
    broken: story([write("a", null, 100), write("b", null, 200), read("a at 100", 300)]),
    fine: story([write("a", null, 100), write("b", null, 200), read("b at 200", 300)]),
  },
  {
    rule: "write_lost",
    what: "a refused write is there at the end",
    broken: story(
      [claim("a", 1, 100), write("b", null, 200, refused("claim_required"))],
      atTheEnd(1, "b at 200", [stored(1, "a", 100)]),
    ),
    fine: story([claim("a", 1, 100), write("a", 1, 200)], atTheEnd(1, "a at 200", [stored(1, "a", 100)])),
  },
  {
    rule: "mark_wrong",
    what: "the mark was lowered",
    broken: story(
      [claim("a", 1, 100), release("a", 1, 200), claim("b", 2, 300)],
      atTheEnd(1, null, [stored(1, "a", 100, "released"), stored(2, "b", 300)]),
    ),
    fine: story(
      [claim("a", 1, 100), release("a", 1, 200), claim("b", 2, 300)],
      atTheEnd(2, null, [stored(1, "a", 100, "released"), stored(2, "b", 300)]),
    ),
  },
];

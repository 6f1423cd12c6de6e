/** Random backlogs, written as rows: what SQL and the pure rules must agree on. */

import fc from "fast-check";
import type { Pool } from "pg";

export const NUMBERS = [1, 2, 3, 4, 5, 6];
export const OWNERS = ["w/a", "w/b"];

/** An epic's branch makes a container; the others only look like one. */
export const BASES = [
  "feat/epic/login",
  "feat/epic/login-issue-7",
  "feat/epic/a..b",
  "feat/epic/",
  "epic/login",
  "f-2/epic/a.b_c-d",
].map((branch) => [`baseBranch:${branch}`]);

const aClaim = fc.record({
  live: fc.boolean(),
  owner: fc.constantFrom(...OWNERS),
  scope: fc.constantFrom("item", "subtree"),
  leaseEndsIn: fc.constantFrom(-7200, -1200, -600, -5, 600),
});

const anItem = fc.record({
  enrolled: fc.constantFrom(true, true, true, true, false),
  admitted: fc.constantFrom(true, true, true, false),
  state: fc.constantFrom(null, null, null, null, "complete", "parked", "cancelled"),
  open: fc.constantFrom(true, true, true, true, false),
  region: fc.constantFrom(
    ["homeRegion:local"],
    ["homeRegion:local"],
    ["homeRegion:eu"],
    [],
    ["homeRegion:eu", "homeRegion:local"],
  ),
  attempts: fc.constantFrom(0, 0, 1, 3),
  claim: fc.option(aClaim),
  activeAgo: fc.constantFrom(null, 1, 700, 3000),
  review: fc.constantFrom(null, null, null, null, "in_review", "resumable", "again"),
  onHold: fc.constantFrom(false, false, false, false, false, true),
  base: fc.constantFrom(["baseBranch:main"], ["baseBranch:main"], ...BASES),
  priority: fc.constantFrom(
    ["priority:P2"],
    ["priority:P2"],
    ["priority:P0"],
    ["priority:P0", "priority:P1"],
    ["priority:P9"],
  ),
  more: fc.constantFrom<readonly string[]>([], [], [], [], ["phase:research"], ["state:done"]),
  ageSeconds: fc.integer({ min: 0, max: 3 }),
  anchors: fc.constantFrom<readonly string[]>(
    [],
    [],
    [],
    ["src/"],
    ["src/a.ts"],
    ["src/b.ts"],
    ["./src//a.ts"],
    ["."],
    ["docs/*.md"],
    ["docs"],
  ),
});

export const aBacklog = fc.record({
  items: fc.array(anItem, { minLength: NUMBERS.length, maxLength: NUMBERS.length }),
  partOf: fc.array(fc.tuple(fc.constantFrom(3, 4, 5, 6), fc.constantFrom(1, 2)), { maxLength: 3 }),
  nested: fc.boolean(),
  integrates: fc.option(fc.tuple(fc.constantFrom(3, 4), fc.constantFrom(1, 2)), { freq: 2 }),
  blockedBy: fc.array(fc.tuple(fc.constantFrom(...NUMBERS), fc.constantFrom(1, 2, 3, 4, 5, 6, 99)), {
    maxLength: 3,
  }),
});

export type Backlog = typeof aBacklog extends fc.Arbitrary<infer Value> ? Value : never;
export type Item = Backlog["items"][number];

export const FREE: Item = {
  enrolled: true,
  admitted: true,
  state: null,
  open: true,
  region: ["homeRegion:local"],
  attempts: 0,
  claim: null,
  activeAgo: null,
  review: null,
  onHold: false,
  base: ["baseBranch:main"],
  priority: ["priority:P2"],
  more: [],
  ageSeconds: 0,
  anchors: [],
};
export const backlog = (first: Partial<Item>, edges: Partial<Backlog> = {}): Backlog => ({
  items: NUMBERS.map((number) => (number === 1 ? { ...FREE, ...first } : FREE)),
  partOf: [],
  nested: false,
  integrates: null,
  blockedBy: [],
  ...edges,
});
const RELEASED = { live: false, owner: "w/a", scope: "item", leaseEndsIn: -5 };
let repository = 1000;
/** Ages are told apart by whole seconds. */
const BORN = Date.now();

/** Writes the backlog as rows of a repository of its own; answers the repository's id. */
export async function writeBacklog(pool: Pool, backlog: Backlog): Promise<number> {
  repository += 1;
  await pool.query("insert into repository (id, owner, name) values ($1, 'o', $2)", [
    repository,
    `r${repository}`,
  ]);
  for (const [index, item] of backlog.items.entries()) {
    const number = NUMBERS[index];
    await pool.query(
      `insert into issue (repository_id, number, id, title, state, html_url, created_at, updated_at)
       values ($1, $2::int, $2::int, 't', $3, 'u', now(), now())`,
      [repository, number, item.open ? "open" : "closed"],
    );
    await pool.query(
      `insert into item (repository_id, number, enrolled, admitted, admission_at, created_at) values ($1, $2, $3, $4, now(), $5)`,
      [repository, number, item.enrolled, item.admitted, new Date(BORN - item.ageSeconds * 1000)],
    );
    const state = item.state === "complete" || item.state === "parked" ? [`state:${item.state}`] : [];
    await pool.query(
      "insert into record (repository_id, topic, id, kind, tags) values ($1, 'backlog', $2, 'Note', $3)",
      [
        repository,
        `issue-${number}`,
        [
          "backlog",
          "phase:implementation",
          ...item.priority,
          ...item.base,
          ...item.region,
          ...item.more,
          ...state,
        ],
      ],
    );
    await pool.query(
      `update item set state = $3, active_at = now() - make_interval(secs => $4), review = $5, review_pull = 12,
         hold_at = case when $6::boolean then now() end, hold_by = 'o' where repository_id = $1 and number = $2`,
      [repository, number, item.state, item.activeAgo, item.review, item.onHold],
    );
    for (let attempt = 1; attempt <= item.attempts; attempt += 1) {
      await pool.query(
        `insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt)
         values ($1, 'backlog', $2, $3, 'w/x', 'admin', 'local', 'item', now(), true)`,
        [repository, `issue-${number}`, attempt],
      );
    }
    // A grant always leaves a claim behind, which outlives it as the mark.
    const claim = item.claim ?? (item.attempts > 0 ? RELEASED : null);
    if (!claim) continue;
    await pool.query(
      `insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at, lease_expires_at, grants)
       values ($1, 'backlog', $2, 4, $3, $4, 'admin', 'local', $5, 60, now(), now() + make_interval(secs => $6), $7)`,
      [
        repository,
        `issue-${number}`,
        claim.live,
        claim.owner,
        claim.scope,
        claim.leaseEndsIn,
        Math.max(1, item.attempts),
      ],
    );
  }
  const edges = [
    ...backlog.partOf.map(([part, epic]) => [part, "partOf", epic] as const),
    ...(backlog.nested ? [[2, "partOf", 1] as const] : []),
    ...(backlog.integrates ? [[backlog.integrates[0], "integrates", backlog.integrates[1]] as const] : []),
    ...backlog.blockedBy.map(([item, on]) => [item, "blockedBy", on] as const),
  ];
  for (const [index, item] of backlog.items.entries()) {
    for (const path of item.anchors) {
      await pool.query(
        `insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
         values ($1::bigint, 'backlog', $2, 'anchoredTo', $1::bigint, $3)`,
        [repository, `issue-${NUMBERS[index]}`, `file/${path}`],
      );
    }
  }
  for (const [from, relation, to] of edges) {
    await pool.query(
      `insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
       values ($1::bigint, 'backlog', $2, $3, $1::bigint, $4) on conflict do nothing`,
      [repository, `issue-${from}`, relation, `mem/backlog/issue-${to}`],
    );
  }
  return repository;
}

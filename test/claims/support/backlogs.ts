/** Random backlogs, written as rows, many at once: what SQL and the pure rules must agree on. */

import fc from "fast-check";
import type { Pool } from "pg";
import { checkItems } from "../../../src/services/check-items.ts";
import type { Db } from "../../../src/store/database.ts";

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
  parkAsked: fc.constantFrom(false, false, false, false, false, true),
  base: fc.constantFrom(["baseBranch:main"], ["baseBranch:main"], ...BASES),
  priority: fc.constantFrom(
    ["priority:P2"],
    ["priority:P2"],
    ["priority:P0"],
    ["priority:P0", "priority:P1"],
    ["priority:P9"],
  ),
  more: fc.constantFrom<readonly string[]>([], [], [], [], ["phase:research"], ["state:done"]),
  resources: fc.constantFrom<readonly string[]>(
    [],
    [],
    [],
    [],
    ["resource:db"],
    ["resource:quota"],
    ["trait:soft"],
    ["trait:wide", "resource:db"],
    ["trait:nowhere"],
    ["resource:", "trait:", "resource:constructor"],
  ),
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

/** The repository's, in every backlog. */
const SETTINGS = {
  resources: {
    db: { mode: "exclusive", ttlSeconds: 100, description: null },
    quota: { mode: "advisory", ttlSeconds: null, description: null },
  },
  traits: {
    soft: {
      resources: { db: { mode: "advisory", ttlSeconds: null }, quota: { mode: "advisory", ttlSeconds: 5 } },
    },
    wide: {
      resources: {
        quota: { mode: "exclusive", ttlSeconds: null },
        "a/b": { mode: "exclusive", ttlSeconds: 90_000 },
      },
    },
  },
};

/** A resource that somebody holds: an item of the backlog, or (0) one of another repository of the account. */
const aLease = fc.record({
  key: fc.constantFrom("db", "quota", "a/b", "other"),
  holder: fc.constantFrom(0, 1, 2, 3),
  endsIn: fc.constantFrom(-5, 600),
});

export const aBacklog = fc.record({
  items: fc.array(anItem, { minLength: NUMBERS.length, maxLength: NUMBERS.length }),
  partOf: fc.array(fc.tuple(fc.constantFrom(3, 4, 5, 6), fc.constantFrom(1, 2)), { maxLength: 3 }),
  nested: fc.boolean(),
  integrates: fc.option(fc.tuple(fc.constantFrom(3, 4), fc.constantFrom(1, 2)), { freq: 2 }),
  blockedBy: fc.array(fc.tuple(fc.constantFrom(...NUMBERS), fc.constantFrom(1, 2, 3, 4, 5, 6, 99)), {
    maxLength: 3,
  }),
  leases: fc.uniqueArray(aLease, { selector: ({ key }) => key, maxLength: 2 }),
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
  parkAsked: false,
  base: ["baseBranch:main"],
  priority: ["priority:P2"],
  more: [],
  resources: [],
  ageSeconds: 0,
  anchors: [],
};
export const backlog = (first: Partial<Item>, edges: Partial<Backlog> = {}): Backlog => ({
  items: NUMBERS.map((number) => (number === 1 ? { ...FREE, ...first } : FREE)),
  partOf: [],
  nested: false,
  integrates: null,
  blockedBy: [],
  leases: [],
  ...edges,
});
const RELEASED = { live: false, owner: "w/a", scope: "item", leaseEndsIn: -5 };
let repository = 1000;
/** Ages are told apart by whole seconds. */
const BORN = Date.now();

/** Writes the backlog as rows of a repository of its own; answers the repository's id. */
export async function writeBacklog(pool: Pool, backlog: Backlog): Promise<number> {
  const [id] = await writeBacklogs(pool, [backlog]);
  if (id === undefined) throw new Error("no backlog was written");
  return id;
}

/** So many transactions write at the same time. */
const WRITERS = 3;

/** As `writeBacklogs`, in several transactions at the same time. */
export async function writeMany(pool: Pool, backlogs: readonly Backlog[]): Promise<number[]> {
  const share = Math.ceil(backlogs.length / WRITERS);
  const shares = Array.from({ length: WRITERS }, (_, writer) =>
    backlogs.slice(writer * share, (writer + 1) * share),
  );
  const written = await Promise.all(
    shares.filter((some) => some.length > 0).map((some) => writeBacklogs(pool, some)),
  );
  return written.flat();
}

const CHECKERS = 3;
/** Nobody else waits for these items, so they are looked at by larger parts than a server does. */
const CHECKED_AT_ONCE = 60;

/** Looks at every item whose facts changed. */
export async function checkAll(db: Db): Promise<void> {
  const check = async (): Promise<void> => {
    while (await checkItems(db, CHECKED_AT_ONCE));
  };
  await Promise.all(Array.from({ length: CHECKERS }, check));
}

/** Writes many, each a repository and an account of its own, in one transaction: a few statements for all of them. */
export async function writeBacklogs(pool: Pool, backlogs: readonly Backlog[]): Promise<number[]> {
  const ids = backlogs.map(() => {
    repository += 1;
    return repository;
  });
  const items = backlogs.flatMap((backlog, index) => itemRows(ids[index] ?? 0, backlog));
  const links = backlogs.flatMap((backlog, index) => linkRows(ids[index] ?? 0, backlog));
  const leases = backlogs.flatMap((backlog, index) =>
    backlog.leases.map((lease) => ({ repo: ids[index], ...lease })),
  );
  const client = await pool.connect();
  const write = async (rows: readonly object[], text: string): Promise<void> => {
    if (rows.length > 0) await client.query(text, [JSON.stringify(rows)]);
  };
  try {
    await client.query("begin");
    await write(
      ids.map((id) => ({ id, settings: SETTINGS })),
      `insert into repository (id, owner, name, settings)
       select id, 'o' || id, 'r' || id, settings from jsonb_to_recordset($1) as b (id bigint, settings jsonb)`,
    );
    await write(
      items,
      `insert into issue (repository_id, number, id, title, state, html_url, created_at, updated_at)
       select repo, number, number, 't', state, 'u', now(), now()
       from jsonb_to_recordset($1) as b (repo bigint, number int, state text)`,
    );
    await write(
      items,
      `insert into item (repository_id, number, enrolled, admitted, admission_at, created_at)
       select repo, number, enrolled, admitted, now(), born
       from jsonb_to_recordset($1) as b (repo bigint, number int, enrolled boolean, admitted boolean, born timestamptz)`,
    );
    await write(
      items,
      `insert into record (repository_id, topic, id, kind, tags)
       select repo, 'backlog', 'issue-' || number, 'Note', array(select jsonb_array_elements_text(tags))
       from jsonb_to_recordset($1) as b (repo bigint, number int, tags jsonb)`,
    );
    await write(
      items,
      `update item i set state = b.ended, active_at = now() - make_interval(secs => b.active), review = b.review,
         review_pull = 12, hold_at = case when b.held then now() end, hold_by = 'o',
         park_by = case when b.asked and b.ended is null then 'tess' end, park_at = case when b.asked and b.ended is null then now() end
       from jsonb_to_recordset($1)
         as b (repo bigint, number int, ended text, active int, review text, held boolean, asked boolean)
       where i.repository_id = b.repo and i.number = b.number`,
    );
    await write(
      items.filter(({ attempts }) => attempts > 0),
      `insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt)
       select repo, 'backlog', 'issue-' || number, attempt, 'w/x', 'admin', 'local', 'item', now(), true
       from jsonb_to_recordset($1) as b (repo bigint, number int, attempts int), generate_series(1, attempts) attempt`,
    );
    await write(
      items.filter(({ claim }) => claim !== null),
      `insert into claim (repository_id, topic, id, fence, live, owner, actor, region, scope, lease_seconds, granted_at,
         lease_expires_at, grants)
       select repo, 'backlog', 'issue-' || number, 4, (claim ->> 'live')::boolean, claim ->> 'owner', 'admin', 'local',
         claim ->> 'scope', 60, now(), now() + make_interval(secs => (claim ->> 'leaseEndsIn')::int), greatest(1, attempts)
       from jsonb_to_recordset($1) as b (repo bigint, number int, attempts int, claim jsonb)`,
    );
    await write(
      links,
      `insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
       select repo, 'backlog', 'issue-' || number, relation, repo, target
       from jsonb_to_recordset($1) as b (repo bigint, number int, relation text, target text) on conflict do nothing`,
    );
    await write(
      leases,
      `insert into resource_lease (repository_id, number, account, key, fence, actor, acquired_at, expires_at)
       select case holder when 0 then repo + 1000000 else repo end, holder, account_of(repo), key, 4, 'admin', now(),
         now() + make_interval(secs => "endsIn")
       from jsonb_to_recordset($1) as b (repo bigint, holder int, key text, "endsIn" int)`,
    );
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
  return ids;
}

const itemRows = (repo: number, { items }: Backlog) =>
  items.map((item, index) => ({
    repo,
    number: NUMBERS[index],
    state: item.open ? "open" : "closed",
    enrolled: item.enrolled,
    admitted: item.admitted,
    born: new Date(BORN - item.ageSeconds * 1000),
    tags: [
      "backlog",
      "phase:implementation",
      ...item.priority,
      ...item.base,
      ...item.region,
      ...item.more,
      ...item.resources,
      ...(item.state === "complete" || item.state === "parked" ? [`state:${item.state}`] : []),
    ],
    ended: item.state,
    active: item.activeAgo,
    review: item.review,
    held: item.onHold,
    asked: item.parkAsked,
    attempts: item.attempts,
    // A grant always leaves a claim behind, which outlives it as the mark.
    claim: item.claim ?? (item.attempts > 0 ? RELEASED : null),
  }));

const linkRows = (repo: number, backlog: Backlog) => {
  const edges = [
    ...backlog.partOf.map(([part, epic]) => [part, "partOf", epic] as const),
    ...(backlog.nested ? [[2, "partOf", 1] as const] : []),
    ...(backlog.integrates ? [[backlog.integrates[0], "integrates", backlog.integrates[1]] as const] : []),
    ...backlog.blockedBy.map(([item, on]) => [item, "blockedBy", on] as const),
  ];
  return [
    ...backlog.items.flatMap(({ anchors }, index) =>
      anchors.map((path) => ({
        repo,
        number: NUMBERS[index],
        relation: "anchoredTo",
        target: `file/${path}`,
      })),
    ),
    ...edges.map(([number, relation, to]) => ({ repo, number, relation, target: `mem/backlog/issue-${to}` })),
  ];
};

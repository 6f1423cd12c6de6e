/**
 * A backlog as a busy repository has one, written in bulk: epics of twenty with an integration item each, blockers in
 * every state, priorities, anchors, work in flight. And the adverse head: 20,000 blocked items of the highest priority.
 */

import { query, REPOSITORY } from "../claims/stage.ts";

/** Blocked items of the highest priority, older than all others, which stand before everything that is ready. */
export const HEAD = 20_000;
/** Of these the adverse head waits; the last item of the backlog. */
export const headBlocker = (items: number): number => items + HEAD + 1;
/** An item with so many dependents, and the item itself, beyond everything else. */
export const DEPENDENTS = 1_000;
export const muchAwaited = (items: number): number => items + HEAD + 2;

const R = REPOSITORY;
const ISSUE = "'https://github.com/acme/widgets/issues/' || n";
/** Triggers are off while rows are written in bulk: what they would keep on the rows is written along. */
const WITHOUT_TRIGGERS = "set session_replication_role = replica;";

/** So many items, 20 to an epic. Two epics of five are complete, and so is each tenth item of the others. */
export async function fillTypical(url: string, items: number): Promise<void> {
  await query(
    url,
    `${WITHOUT_TRIGGERS}
    insert into installation (id, account_login) values (1, 'acme');
    insert into repository (id, installation_id, owner, name, installed)
      values (${R}, 1, 'acme', 'widgets', true);
    create unlogged table seed as
      select n, e, n - e as place, n = e as is_epic, n - e = 19 as is_integration,
        case when (e / 20) % 5 < 2 then 'complete' when n = e or n - e = 19 then null
          when n % 10 = 0 then 'complete' when n % 97 = 0 then 'parked' end as state,
        n % 31 <> 0 as admitted,
        (case when n % 100 * 7919 % 100 < 5 then 0 when n % 100 * 7919 % 100 < 25 then 1 when n % 100 * 7919 % 100 < 75 then 2 else 3 end) as priority,
        now() - interval '1 year' + n * interval '10 seconds' as created_at
      from (select n, (n - 1) / 20 * 20 + 1 as e from generate_series(1, ${items}) n) as numbers;
    create unique index on seed (n);
    create unlogged table seed_edge (n int, relation text, target int);
    insert into seed_edge
      select n, 'partOf', e from seed where not is_epic
      union all select n, 'integrates', e from seed where is_integration
      union all select n, 'blockedBy', n - 1 from seed where place between 2 and 18 and n % 3 = 0
      union all select n, 'blockedBy', e + 3 * k from seed, generate_series(1, 6) k where is_integration;
    analyze seed; analyze seed_edge;
    create unlogged table seed_tags as
      select n, array['backlog', 'priority:P' || priority, 'homeRegion:local',
        'phase:' || case when is_integration then 'integration' else 'implementation' end,
        'baseBranch:feat/epic/g' || e] || case when state is null then '{}' else array['state:' || state] end as tags
      from seed;
    insert into issue (repository_id, number, id, title, state, state_reason, html_url, created_at, updated_at)
      select ${R}, n, n, 'Issue ' || n, case when state = 'complete' then 'closed' else 'open' end,
        case when state = 'complete' then 'completed' end, ${ISSUE}, created_at, created_at from seed;
    insert into record (repository_id, topic, id, kind, tags, created_at, updated_at)
      select ${R}, 'backlog', 'issue-' || n, 'Note', t.tags, created_at, created_at from seed join seed_tags t using (n);
    insert into record_link (repository_id, topic, id, relation, target_repository_id, target, created_at)
      select ${R}, 'backlog', 'issue-' || n, relation, ${R}, 'mem/backlog/issue-' || target, now() from seed_edge
      union all
      select ${R}, 'backlog', 'issue-' || n, 'anchoredTo', ${R}, 'file/src/area' || n * 31 % 400 || '/file' || n % 4000 || '.ts', now()
      from seed where place in (1, 4, 7, 10, 13, 16);
    insert into item (repository_id, number, admitted, admission_at, state, state_at, created_at, issue_open, home_region,
        open_blockers, parts, ancestors, integrates, priority, phase, tags, title, url, grouping)
      select ${R}, n, admitted, created_at, s.state, case when s.state is not null then created_at end, created_at,
        s.state is distinct from 'complete', 'local', coalesce(b.open, 0), case when is_epic then 19 else 0 end,
        case when is_epic then '{}' else array[e] end, case when is_integration then e end, priority,
        case when is_integration then 'integration' else 'implementation' end, t.tags, 'Issue ' || n, ${ISSUE}, is_epic
      from seed s join seed_tags t using (n)
      left join (select d.n, count(*) as open from seed_edge d join seed o on o.n = d.target
        where d.relation = 'blockedBy' and o.state is distinct from 'complete' group by d.n) b using (n);
    drop table seed, seed_edge, seed_tags;
    insert into claim (repository_id, topic, id, fence, live, owner, actor, region, lease_seconds, granted_at, lease_expires_at)
      select ${R}, 'backlog', 'issue-' || number, nextval('fence'), true, 'worker/' || number, 'admin', 'local', 1800,
        now(), now() + interval '1 day' from item where offered order by number desc limit 50;
    insert into claim_grant (repository_id, topic, id, fence, owner, actor, region, scope, granted_at, new_attempt)
      select repository_id, topic, id, fence, owner, actor, region, scope, granted_at, true from claim`,
  );
  await query(url, "vacuum analyze");
}

/** The head, and what it waits for. */
export async function addBlockedHead(url: string, items: number): Promise<void> {
  await query(
    url,
    `${WITHOUT_TRIGGERS}
    create temporary table seed as
      select n, case when n = ${headBlocker(items)} then 3 else 0 end as priority,
        case when n = ${headBlocker(items)} then now() else now() - interval '2 years' + n * interval '1 second' end as created_at
      from generate_series(${items + 1}, ${headBlocker(items)}) n;
    ${writeSeed}
    insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
      select ${R}, 'backlog', 'issue-' || n, 'blockedBy', ${R}, 'mem/backlog/issue-${headBlocker(items)}'
      from seed where n < ${headBlocker(items)};
    update item set open_blockers = 1 where number > ${items} and number < ${headBlocker(items)}`,
  );
  await query(url, "vacuum analyze");
}

/** One item, and so many that wait for nothing else. */
export async function addMuchAwaited(url: string, items: number): Promise<void> {
  const first = muchAwaited(items);
  await query(
    url,
    `${WITHOUT_TRIGGERS}
    create temporary table seed as
      select n, 2 as priority, now() as created_at from generate_series(${first}, ${first + DEPENDENTS}) n;
    ${writeSeed}
    insert into record_link (repository_id, topic, id, relation, target_repository_id, target)
      select ${R}, 'backlog', 'issue-' || n, 'blockedBy', ${R}, 'mem/backlog/issue-${first}' from seed where n > ${first};
    update item set open_blockers = 1 where number > ${first}`,
  );
  await query(url, "vacuum analyze");
}

/** Free items of the table `seed`, which belong to no epic. */
const writeSeed = `
  insert into issue (repository_id, number, id, title, state, html_url, created_at, updated_at)
    select ${R}, n, n, 'Issue ' || n, 'open', ${ISSUE}, created_at, created_at from seed;
  insert into record (repository_id, topic, id, kind, tags, created_at, updated_at)
    select ${R}, 'backlog', 'issue-' || n, 'Note',
      array['backlog', 'priority:P' || priority, 'homeRegion:local', 'phase:implementation', 'baseBranch:main'], created_at, created_at from seed;
  insert into item (repository_id, number, admitted, admission_at, created_at, home_region, priority, phase, tags, title, url)
    select ${R}, n, true, created_at, created_at, 'local', priority, 'implementation',
      array['backlog', 'priority:P' || priority, 'homeRegion:local', 'phase:implementation', 'baseBranch:main'],
      'Issue ' || n, ${ISSUE} from seed;`;

/**
 * Throws unless what was written along is what the triggers would have kept: of some items all over the backlog the
 * facts are worked out anew, and must come out the same.
 */
export async function assertKept(url: string): Promise<void> {
  const facts = `select array_agg((number, open_blockers, parts, ancestors, integrates, priority, phase, home_region,
    issue_open, tags, grouping, offered, urgency)::text order by number)::text as facts
    from item where number in (select n from sample)`;
  const { rows } = await query<{ before: string; after: string }>(
    url,
    `begin;
    create temporary table sample as select number as n from item order by hashint4(number) limit 300;
    create temporary table kept as ${facts};
    select refresh_item(${R}, n), keep_grouping(${R}, n) from sample;
    create temporary table anew as ${facts};
    select k.facts as before, a.facts as after from kept k, anew a`,
  ).then((results) => {
    const all = results as unknown as { rows: { before: string; after: string }[] }[];
    return all.at(-1) ?? { rows: [] };
  });
  const [row] = rows;
  if (!row || row.before !== row.after) throw new Error("the backlog is not as the triggers would keep it");
}

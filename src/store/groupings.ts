/** What is asked of groupings beside their items (protocol 7). */

import { sql } from "kysely";
import { EPIC_BRANCH_PATTERN } from "../domain/branch-names.ts";
import { isGrouping, type PartedItem } from "../domain/grouping.ts";
import type { ParentFacts } from "../domain/parent.ts";
import { isPriority, type Priority, tagValue } from "../domain/tags.ts";
import type { Db } from "./database.ts";

/** An item that is to be a parent, with the branch that its parts go into; null: there is no such item. */
export async function findParent(
  db: Db,
  repositoryId: number,
  number: number,
): Promise<(ParentFacts & { readonly baseBranch: string | null }) | null> {
  const { rows } = await sql<Omit<ParentFacts, "phase"> & { tags: string[] }>`
    select i.state, r.tags, i.integrates is not null as integrates, i.ancestors
    from item i join record r on r.repository_id = i.repository_id and r.topic = 'backlog' and r.id = 'issue-' || i.number
    where i.repository_id = ${repositoryId} and i.number = ${number} and i.enrolled`.execute(db);
  const [row] = rows;
  if (!row) return null;
  const { tags, ...facts } = row;
  return { ...facts, phase: tagValue(tags, "phase:"), baseBranch: tagValue(tags, "baseBranch:") };
}

/** Whether its parts are worked on and not it. */
export async function isGroupingItem(
  db: Db,
  repositoryId: number,
  number: number,
  tags: readonly string[],
): Promise<boolean> {
  const { rows } = await sql<Omit<PartedItem, "tags">>`
    select count(*) filter (where l.relation = 'partOf') as parts, coalesce(bool_or(l.relation = 'integrates'), false) as integrated,
      count(*) filter (where l.relation = 'partOf' and (p.state is null or p.state = 'parked')) as "openParts"
    from record_link l join item p on p.repository_id = l.repository_id and p.number = l.number and p.enrolled
    where l.target_repository_id = ${repositoryId} and l.target_number = ${number}
      and l.relation in ('partOf', 'integrates')
      and not (l.repository_id = ${repositoryId} and l.number = ${number})`.execute(db);
  const [facts] = rows;
  return facts !== undefined && isGrouping({ ...facts, tags });
}

/** The integration items of an epic that are not at their end. */
export async function integrationItems(db: Db, repositoryId: number, epic: number): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select number from item where repository_id = ${repositoryId} and integrates = ${epic} and enrolled
      and (state is null or state = 'parked') order by number`.execute(db);
  return rows.map(({ number }) => number);
}

/** The integration items whose working branch this is: it is their epic's. */
export async function integrationItemsAt(db: Db, repositoryId: number, branch: string): Promise<number[]> {
  if (!EPIC_BRANCH_PATTERN.test(branch)) return [];
  const { rows } = await sql<{ number: number }>`
    select n.number from item n
    join record r on r.repository_id = n.repository_id and r.topic = 'backlog' and r.id = 'issue-' || n.integrates
    where n.repository_id = ${repositoryId} and n.integrates is not null and n.enrolled
      and r.tags @> array[${`baseBranch:${branch}`}]
    order by n.number`.execute(db);
  return rows.map(({ number }) => number);
}

/** The branch of the epic that an item integrates: it is worked on there (protocol 7). Null: it integrates none. */
export async function branchOfIntegrated(
  db: Db,
  repositoryId: number,
  number: number,
): Promise<string | null> {
  const { rows } = await sql<{ tags: string[] }>`
    select r.tags from item n
    join record r on r.repository_id = n.repository_id and r.topic = 'backlog' and r.id = 'issue-' || n.integrates
    where n.repository_id = ${repositoryId} and n.number = ${number}`.execute(db);
  const branch = tagValue(rows[0]?.tags ?? [], "baseBranch:");
  return branch !== null && EPIC_BRANCH_PATTERN.test(branch) ? branch : null;
}

/** The priority of what an item is part of: an item without a priority label has it, too (protocol 2). */
export async function priorityOfEpic(db: Db, repositoryId: number, number: number): Promise<Priority | null> {
  const { rows } = await sql<{ tags: string[] }>`
    select r.tags from record_link l
    join item e on e.repository_id = l.target_repository_id and e.number = l.target_number and e.enrolled
    join record r on r.repository_id = e.repository_id and r.topic = 'backlog' and r.id = 'issue-' || e.number
    where l.repository_id = ${repositoryId} and l.number = ${number} and l.relation = 'partOf'
      and l.target_repository_id = ${repositoryId} and l.target_number <> ${number}
    order by l.created_at, l.target limit 1`.execute(db);
  const priority = tagValue(rows[0]?.tags ?? [], "priority:");
  return priority !== null && isPriority(priority) ? priority : null;
}

/** The live groupings that came of an item (it `informs` their epics) and show no diagram yet. */
export async function groupingsWithoutDiagram(
  db: Db,
  repositoryId: number,
  emitter: number,
): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`
    select e.number from record_link l join item e on e.repository_id = l.repository_id and e.number = l.target_number
    where l.repository_id = ${repositoryId} and l.number = ${emitter} and l.relation = 'informs'
      and l.target_repository_id = l.repository_id and e.enrolled and e.parts > 0
      and (e.state is null or e.state = 'parked') and not has_diagram(e.repository_id, e.number)
    order by e.number`.execute(db);
  return rows.map(({ number }) => number);
}

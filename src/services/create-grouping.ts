/**
 * A grouping is authored as one (protocol 7): everything is checked, then its epic and sub-issues are opened on GitHub,
 * then all records are written in one transaction, with what GitHub is still to be told: its own links, the diagram.
 */

import type { GroupingAnswer, GroupingRequest } from "../contract/authoring.ts";
import { Problem, type ProblemCode } from "../contract/problem.ts";
import type { Blocker } from "../domain/blockers.ts";
import {
  type AskedGrouping,
  type GroupingFacts,
  type GroupingPlan,
  outsideNumber,
  planGrouping,
} from "../domain/grouping-plan.ts";
import type { IssueSnapshot } from "../domain/mirror-merge.ts";
import { BACKLOG, itemId, itemTarget } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import { ensureBranch } from "../github/branches.ts";
import type { Slot } from "../store/authoring.ts";
import { inTransaction } from "../store/database.ts";
import { findParent } from "../store/groupings.ts";
import { findBlocker } from "../store/item-facts.ts";
import { findItem, itemsBasedOn } from "../store/items.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import { type Asked, assertNotFinished, assertWritable, author, finish, isUnfinished } from "./authoring.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { passFence } from "./fenced-write.ts";
import { saveGrouping } from "./grouping-records.ts";
import type { Once } from "./once.ts";
import { askingGitHub, openIssue, type Scene } from "./open-issue.ts";
import { noItem } from "./read-items.ts";
import { assertTargetsSeen, scopeForbidden } from "./sight.ts";

/** The epic among the names of a request's issues: items have others. */
export const EPIC = "";

/**
 * Answers the grouping. Sent again after a failure (under the same idempotency key, or the same request without one) it
 * goes on where it stopped, and opens no issue twice. `token`: the claim under which `emittedBy` is worked on.
 */
export async function createGrouping(
  deps: Deps,
  caller: Caller,
  named: Repository,
  request: GroupingRequest,
  token: number | null,
  once: Once | null,
): Promise<GroupingAnswer> {
  await once?.assertNew();
  // As it is now: a name may lead to what was known a moment ago.
  const repository = (await findRepositoryById(deps.db, named.id)) ?? named;
  await assertWritable(deps, repository);
  const grouping = askedGrouping(request, repository);
  await assertWithin(deps, caller, repository, grouping, request.emittedBy);
  const branch = `${grouping.epic.type}/epic/${grouping.epic.slug}`;
  const refs = [EPIC, ...request.items.map(({ ref }) => ref)];
  const asked: Asked = { kind: "grouping", repository, caller, request, branch, refs, once };
  await assertNotFinished(deps, asked);
  const isResumed = await isUnfinished(deps, asked);
  const plan = planned(grouping, isResumed ? null : await factsOf(deps, repository, grouping));
  if (!isResumed) {
    await assertBranchFree(deps, repository, branch);
    if (request.emittedBy !== null) await assertEmitter(deps, caller, repository, request.emittedBy, token);
  }

  return author(deps, asked, (scene, slots) =>
    makeGrouping(deps, scene, slots, { request, grouping, plan, branch, view: caller, once }),
  );
}

/** A grouping whose checks were made. */
export interface Accepted {
  readonly request: GroupingRequest;
  readonly grouping: AskedGrouping;
  readonly plan: GroupingPlan;
  readonly branch: string;
  /** What its caller may see. */
  readonly view: View;
  readonly once: Once | null;
}

/** What is left of one that was accepted before, in this very form. */
export function acceptedBefore(
  repository: Repository,
  request: GroupingRequest,
): Pick<Accepted, "grouping" | "plan"> {
  const grouping = askedGrouping(request, repository);
  return { grouping, plan: planned(grouping, null) };
}

/** Opens what is not open yet, and writes the records. */
export async function makeGrouping(
  deps: Deps,
  scene: Scene,
  slots: ReadonlyMap<string, Slot>,
  { request, grouping, plan, branch, view, once }: Accepted,
): Promise<GroupingAnswer> {
  const { repository } = scene;
  const { defaultBranch } = repository;
  const issues = await openAll(deps, scene, slots, request, plan);
  const isMade = await askingGitHub(deps, scene, () =>
    ensureBranch(scene.client, repository, branch, defaultBranch),
  );
  const opened = { repository, plan, grouping, issues, emittedBy: request.emittedBy };
  return finish(deps, { once }, scene, async (inside, trx) => ({
    ...(await saveGrouping(trx, inside, opened, view)),
    branch,
    ...(isMade ? {} : { branchCommand: `git push origin origin/${defaultBranch}:refs/heads/${branch}` }),
  }));
}

/** Throws `scope_forbidden` unless all of it will lie within the caller's scope, and hangs on nothing beyond it. */
async function assertWithin(
  deps: Deps,
  caller: Caller,
  { id }: Repository,
  { epic, items }: AskedGrouping,
  emittedBy: number | null,
): Promise<void> {
  const { scope } = caller;
  if (scope?.tags)
    throw scopeForbidden(
      "what a grouping makes carries no tag of yours, so that a token for tags cannot make one",
    );
  if (scope?.roots && epic.parent === null)
    throw scopeForbidden(
      "name an item that the token reaches as epic.parent: the grouping must lie below it",
    );
  const blockers = items.flatMap(({ blockedBy }) => blockedBy.flatMap((entry) => outsideNumber(entry) ?? []));
  const named = [...blockers, epic.parent, emittedBy].filter((number) => number !== null);
  await assertTargetsSeen(
    deps.db,
    caller,
    named.map((number) => ({ repositoryId: id, target: itemTarget(number) })),
  );
}

function askedGrouping({ epic, items }: GroupingRequest, { settings }: Repository): AskedGrouping {
  return { epic: { ...epic, type: epic.type ?? settings.defaults.type }, items };
}

/** The worst comes first: what is malformed, then circles, then edges. */
const SEVERITY: readonly ProblemCode[] = ["validation_failed", "cycle", "edge_refused"];

function planned(grouping: AskedGrouping, facts: GroupingFacts | null): GroupingPlan {
  const verdict = planGrouping(grouping, facts);
  if (verdict.ok) return verdict.plan;
  const code = SEVERITY.find((wanted) => verdict.errors.some((error) => error.code === wanted));
  const [first] = verdict.errors.filter((error) => error.code === code);
  const errors = verdict.errors.map(({ field, message }) => ({ field, message }));
  throw new Problem(first?.code ?? "validation_failed", `${first?.field}: ${first?.message}`, { errors });
}

async function factsOf(
  deps: Deps,
  repository: Repository,
  { epic, items }: AskedGrouping,
): Promise<GroupingFacts> {
  const outside = new Set(
    items.flatMap(({ blockedBy }) => blockedBy.flatMap((entry) => outsideNumber(entry) ?? [])),
  );
  const blockers = new Map<number, Blocker>();
  for (const number of outside) {
    const edge = { repositoryId: repository.id, target: itemTarget(number) };
    blockers.set(number, await findBlocker(deps.db, repository.id, edge));
  }
  const parent = epic.parent === null ? null : await findParent(deps.db, repository.id, epic.parent);
  return { blockers, parent };
}

async function assertBranchFree(deps: Deps, repository: Repository, branch: string): Promise<void> {
  const [epic] = await itemsBasedOn(deps.db, repository.id, branch);
  if (epic === undefined) return;
  throw new Problem(
    "conflict",
    `the branch ${branch} is that of a grouping which is not at its end, #${epic} among it; choose another slug`,
  );
}

/** Who writes that an item emitted a grouping writes to the item: under its token, if it is claimed. */
async function assertEmitter(
  deps: Deps,
  caller: Caller,
  repository: Repository,
  emitter: number,
  token: number | null,
): Promise<void> {
  if (!(await findItem(deps.db, repository.id, emitter))?.enrolled) throw noItem(repository, emitter);
  const target = { repository, topic: BACKLOG, id: itemId(emitter) };
  await inTransaction(deps.db, (trx) => passFence(trx, deps, caller, target, token));
}

/** The epic first, then its items; each one's number is known before the next is opened. */
async function openAll(
  deps: Deps,
  scene: Scene,
  slots: ReadonlyMap<string, Slot>,
  { epic }: GroupingRequest,
  plan: GroupingPlan,
): Promise<Map<string, IssueSnapshot>> {
  const { backlog, gate } = scene.repository.settings.labels;
  const issues = new Map<string, IssueSnapshot>();
  const texts = [{ ref: EPIC, title: epic.title, body: epic.body, priority: null }, ...plan.items];
  for (const { ref, title, body, priority } of texts) {
    const slot = slots.get(ref);
    if (slot === undefined) throw new Error(`the request has no issue ${ref}`);
    // The label is what sets a priority: it belongs to GitHub (protocol 2).
    const labels = [backlog, gate, ...(priority === null ? [] : [`priority:${priority}`])];
    issues.set(ref, await openIssue(deps, scene, slot, { title, body, labels }));
  }
  return issues;
}

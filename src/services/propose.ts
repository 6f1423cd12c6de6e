/** An item is proposed (protocol 3): its issue is opened on GitHub, and it waits there for a human to admit it. */

import type { ProposedItem, ProposeRequest } from "../contract/authoring.ts";
import { Problem } from "../contract/problem.ts";
import { judgeEdge } from "../domain/blockers.ts";
import { EPIC_BRANCH_PATTERN } from "../domain/branch-names.ts";
import { judgeParent, judgeWaitAbove } from "../domain/parent.ts";
import { proposalTagsFault } from "../domain/proposal-tags.ts";
import { itemOfTarget, itemRef, itemTarget } from "../domain/record-key.ts";
import { similarTitles } from "../domain/similar-titles.ts";
import { tagValue } from "../domain/tags.ts";
import { openTitles } from "../store/authoring.ts";
import { findParent, integrationItems } from "../store/groupings.ts";
import { findBlocker } from "../store/item-facts.ts";
import { addLinks, lockRecord, type RecordLink } from "../store/records.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import { type Asked, assertWritable, author, finish, isUnfinished } from "./authoring.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { promiseBlockedBy, promiseSubIssue } from "./native-writes.ts";
import type { Once } from "./once.ts";
import { openIssue } from "./open-issue.ts";
import { getItem } from "./read-items.ts";
import { readLinks } from "./record-links.ts";
import { assertUnreserved } from "./remember.ts";
import { assertTargetsSeen, missingToLand, scopeForbidden } from "./sight.ts";
import { takeUpIssue } from "./take-up-issue.ts";

/** The titles that a new one is held against: those of the open issues that were opened last. */
const COMPARED_TITLES = 2_000;

/** Answers the item. Sent again after a failure it goes on where it stopped, and opens no second issue. */
export async function propose(
  deps: Deps,
  caller: Caller,
  named: Repository,
  request: ProposeRequest,
  once: Once | null,
): Promise<ProposedItem> {
  await once?.assertNew();
  // As it is now: a name may lead to what was known a moment ago.
  const repository = (await findRepositoryById(deps.db, named.id)) ?? named;
  await assertWritable(deps, repository);
  const asked: Asked = { kind: "item", repository, caller, request, branch: null, refs: [""], once };
  const links = await linksOf(deps, repository, request);
  await assertWithin(deps, caller, request.tags, links);
  const parent = parentOf(repository, links);
  const epicBranch = parent === null ? null : await epicBranchOf(deps, repository, parent);
  if (!(await isUnfinished(deps, asked))) {
    assertTags(request.tags, repository, epicBranch);
    await assertLinks(deps, repository, links, parent);
  }
  const inherited = epicBranch === null ? [] : [`baseBranch:${epicBranch}`];
  const { backlog, gate } = repository.settings.labels;

  return author(deps, asked, async (scene, slots) => {
    const slot = slots.get("");
    if (slot === undefined) throw new Error("a proposal has one issue");
    const { title, body } = request;
    const issue = await openIssue(deps, scene, slot, { title, body, labels: [backlog, gate] });
    return finish(deps, asked, scene, async (inside, trx) => {
      const { number } = issue;
      const at = { repository, number };
      const integrating = parent === null ? [] : await integrationItems(trx, repository.id, parent);
      if (parent !== null) await lockRecord(trx, itemRef(repository.id, parent));
      for (const other of [...integrating, number].sort((a, b) => a - b))
        await lockRecord(trx, itemRef(repository.id, other));
      await takeUpIssue(trx, deps, at, { issue, tags: [...inherited, ...request.tags], links });
      const integrates = links.some(({ relation }) => relation === "integrates");
      // It is of the fan-out now, for the whole of which the integration waits.
      for (const waiting of integrates ? [] : integrating) {
        const edge = { relation: "blockedBy", repositoryId: repository.id, target: itemTarget(number) };
        await addLinks(trx, itemRef(repository.id, waiting), [edge]);
        await promiseBlockedBy(trx, { repository, number: waiting }, [number]);
      }
      if (parent !== null) await promiseSubIssue(trx, { repository, number: parent }, number);
      await promiseBlockedBy(trx, at, blockersHere(repository, links));
      const others = (await openTitles(trx, repository.id, COMPARED_TITLES)).filter(
        (other) => other.number !== number,
      );
      return {
        ...(await getItem(inside, repository, number, caller)),
        similar: similarTitles(title, others),
      };
    });
  });
}

/** Throws `scope_forbidden` unless the item will lie within the caller's scope, and hangs on nothing beyond it. */
async function assertWithin(
  deps: Deps,
  caller: Caller,
  tags: readonly string[],
  links: readonly RecordLink[],
): Promise<void> {
  const missing = missingToLand(caller.scope, tags, links);
  if (missing !== null)
    throw scopeForbidden(`the item would be out of the scope of this token: give it ${missing}`);
  await assertTargetsSeen(deps.db, caller, links);
}

/** `parent` and `blockedBy` are links under shorter names. */
async function linksOf(
  deps: Deps,
  repository: Repository,
  { links, parent, blockedBy }: ProposeRequest,
): Promise<RecordLink[]> {
  const keyOf = (entry: number | string) => (typeof entry === "number" ? itemTarget(entry) : entry);
  const short = { blockedBy: blockedBy.map(keyOf), partOf: parent === null ? [] : [itemTarget(parent)] };
  const read = [
    ...(await readLinks(deps.db, repository, links, "links")),
    ...(await readLinks(deps.db, repository, short, "")),
  ];
  const distinct = new Map(
    read.map((link) => [`${link.relation} ${link.repositoryId} ${link.target}`, link]),
  );
  return [...distinct.values()];
}

const blockersHere = (repository: Repository, links: readonly RecordLink[]): number[] =>
  links.flatMap(({ relation, repositoryId, target }) =>
    relation === "blockedBy" && repositoryId === repository.id ? (itemOfTarget(target) ?? []) : [],
  );

/** The one item that it is to be part of, or null. */
function parentOf(repository: Repository, links: readonly RecordLink[]): number | null {
  const [first, ...more] = links.filter(({ relation }) => relation === "partOf");
  if (first === undefined) return null;
  const number = first.repositoryId === repository.id ? itemOfTarget(first.target) : null;
  if (number !== null && more.length === 0) return number;
  const message = "an issue is part of one item, of the same repository";
  throw new Problem("validation_failed", `parent: ${message}`, { errors: [{ field: "parent", message }] });
}

/** What is part of an epic goes into its branch (protocol 7). */
async function epicBranchOf(deps: Deps, repository: Repository, parent: number): Promise<string | null> {
  const found = await findParent(deps.db, repository.id, parent);
  const branch = found?.baseBranch ?? "";
  return EPIC_BRANCH_PATTERN.test(branch) ? branch : null;
}

function assertTags(tags: readonly string[], repository: Repository, epicBranch: string | null): void {
  assertUnreserved(tags);
  const isMain = tagValue(tags, "baseBranch:") === repository.defaultBranch && epicBranch !== null;
  const isIntegration = tagValue(tags, "phase:") === "integration";
  const message =
    proposalTagsFault(tags) ??
    (isMain && !isIntegration
      ? `only the integration item targets ${repository.defaultBranch}; this item goes into ${epicBranch}`
      : null);
  if (message === null) return;
  throw new Problem("validation_failed", `tags: ${message}`, { errors: [{ field: "tags", message }] });
}

/** The edges of a new item: nothing waits for it yet, so that only its place below its parent can close a circle. */
async function assertLinks(
  deps: Deps,
  repository: Repository,
  links: readonly RecordLink[],
  parent: number | null,
): Promise<void> {
  const facts = parent === null ? null : await findParent(deps.db, repository.id, parent);
  if (parent !== null) {
    const refusal = judgeParent(parent, facts, { isResearchGrouping: false });
    if (refusal !== null) throw new Problem("edge_refused", refusal);
  }
  for (const link of links) {
    if (link.relation === "integrates") await assertIntegrates(deps, repository, link);
    if (link.relation !== "blockedBy") continue;
    if (link.repositoryId !== 0 && itemOfTarget(link.target) === null)
      throw new Problem("edge_refused", `an item is blocked by items only; ${link.target} is none`);
    const blocker = await findBlocker(deps.db, repository.id, link);
    const refusal = judgeEdge(0, blocker, null);
    if (refusal?.code === "edge_refused") throw new Problem("edge_refused", refusal.detail);
    if (parent === null || blocker.number === null) continue;
    const above = judgeWaitAbove(blocker.number, parent, facts);
    if (above !== null) throw new Problem("cycle", above);
  }
}

/** An epic has one integration item (protocol 7). */
async function assertIntegrates(deps: Deps, repository: Repository, link: RecordLink): Promise<void> {
  const epic = link.repositoryId === repository.id ? itemOfTarget(link.target) : null;
  if (epic === null || (await findParent(deps.db, repository.id, epic)) === null)
    throw new Problem("edge_refused", `${link.target} is no item here, and cannot be integrated`);
  const [there] = await integrationItems(deps.db, repository.id, epic);
  if (there !== undefined)
    throw new Problem(
      "edge_refused",
      `#${epic} is integrated by #${there}; an epic has one integration item`,
    );
}

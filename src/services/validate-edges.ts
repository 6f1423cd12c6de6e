/** Says, without writing, which edges would be refused and why (api.md). */

import type { EdgeVerdict, ValidateEdges } from "../contract/links.ts";
import { Problem } from "../contract/problem.ts";
import { itemOfTarget, itemTarget, type LinkTarget } from "../domain/record-key.ts";
import type { View } from "../domain/scope.ts";
import type { Edge } from "../store/edges.ts";
import { findItem } from "../store/items.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { circleText, isGraphRelation, judgeLink } from "./edges.ts";
import { printTarget, readTarget } from "./record-links.ts";
import { assertTargetsSeen } from "./sight.ts";

/** Each edge is judged as if those before it that may be were there already, as they are when all are written. */
export async function validateEdges(
  deps: Deps,
  repository: Repository,
  { edges }: ValidateEdges,
  view: View,
): Promise<{ edges: EdgeVerdict[] }> {
  const fine: (Edge & { relation: string })[] = [];
  const verdicts: EdgeVerdict[] = [];
  for (const [index, { from, relation, to }] of edges.entries()) {
    try {
      const edge = {
        from: await readEnd(deps, repository, from, `edges.${index}.from`),
        relation,
        to: await readEnd(deps, repository, to, `edges.${index}.to`),
      };
      await assertTargetsSeen(deps.db, view, [edge.from, edge.to]);
      const verdict = await judge(deps, edge, fine);
      if (verdict.ok) fine.push(edge);
      verdicts.push(verdict);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      verdicts.push({ ok: false, code: error.code, detail: error.message });
    }
  }
  return { edges: verdicts };
}

const readEnd = async (
  deps: Deps,
  home: Repository,
  end: number | string,
  field: string,
): Promise<LinkTarget> =>
  typeof end === "number"
    ? { repositoryId: home.id, target: itemTarget(end) }
    : readTarget(deps.db, home, end, field);

async function judge(
  deps: Deps,
  { from, relation, to }: Edge & { relation: string },
  fine: readonly (Edge & { relation: string })[],
): Promise<EdgeVerdict> {
  if (!isGraphRelation(relation)) return { ok: true };
  const number = itemOfTarget(from.target);
  const home = await findRepositoryById(deps.db, from.repositoryId);
  const item = number !== null && home ? await findItem(deps.db, home.id, number) : null;
  if (!item?.enrolled) {
    const detail = `${await printTarget(deps.db, from)} is no item: enrol the issue first`;
    return { ok: false, code: "not_found", detail };
  }
  const refusal = await judgeLink(deps.db, from, { relation, ...to }, fine);
  if (refusal === null) return { ok: true };
  if (refusal.code === "edge_refused") return { ok: false, code: refusal.code, detail: refusal.detail };
  const path: string[] = [];
  for (const step of refusal.cycle) path.push(await printTarget(deps.db, step));
  return { ok: false, code: "cycle", detail: await circleText(deps.db, relation, refusal.cycle), path };
}

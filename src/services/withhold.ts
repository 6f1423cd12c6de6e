/**
 * Takes out of items what names others that their reader may not see (protocol 10): links, blockers, and the texts of
 * defects. That an item is blocked is told; by what, and who rules on that, is not.
 */

import type { Blocker } from "../domain/blockers.ts";
import type { Defect } from "../domain/defects.ts";
import { itemTarget, type LinkTarget } from "../domain/record-key.ts";
import { isRestricted, type View } from "../domain/scope.ts";
import type { Db } from "../store/database.ts";
import type { JudgedItem } from "../store/item-facts.ts";
import type { ItemView } from "../store/item-view.ts";
import { sightOf } from "./sight.ts";

declare const seen: unique symbol;
/** An item that names nothing its reader may not see: only such are answered. */
export type SeenItem<Item = ItemView> = Item & { readonly [seen]: true };

type Sight = (target: LinkTarget) => boolean;

/** The items themselves must have been chosen for this view. */
export async function withhold<Item extends JudgedItem>(
  db: Db,
  view: View,
  repositoryId: number,
  items: readonly Item[],
): Promise<SeenItem<Item>[]> {
  if (!isRestricted(view)) return items as readonly Item[] as SeenItem<Item>[];
  const named = items.flatMap(({ links, defects }) => [
    ...links,
    ...defects.flatMap((defect) => mentionsOf(defect, repositoryId)),
  ]);
  const isSeen = await sightOf(db, view, named);
  return items.map((item) => withheld(item, repositoryId, isSeen) as SeenItem<Item>);
}

/** Of the defects of items that may be seen. */
export async function withholdDefects(
  db: Db,
  view: View,
  repositoryId: number,
  defects: readonly Defect[],
): Promise<readonly Defect[]> {
  if (!isRestricted(view)) return defects;
  const isSeen = await sightOf(
    db,
    view,
    defects.flatMap((defect) => mentionsOf(defect, repositoryId)),
  );
  return defects.map((defect) => withheldDefect(defect, repositoryId, isSeen));
}

function withheld<Item extends JudgedItem>(item: Item, repositoryId: number, isSeen: Sight): Item {
  // The blockers are the targets of these links, in their order.
  const waits = item.links.filter(({ relation }) => relation === "blockedBy");
  const blockers = item.facts.blockers.map((blocker, index) => {
    const link = waits[index];
    return link && isSeen(link) ? blocker : hiddenBlocker(blocker);
  });
  return {
    ...item,
    facts: { ...item.facts, blockers },
    links: item.links.filter((link) => isSeen(link)),
    defects: item.defects.map((defect) => withheldDefect(defect, repositoryId, isSeen)),
  };
}

const hiddenBlocker = ({ status, stall }: Blocker): Blocker => ({
  number: null,
  target: "an item out of the scope of this token",
  status: status === "unknown" ? "waiting" : status,
  stall,
  rulingOwner: null,
  question: null,
  hidden: true,
});

function withheldDefect(defect: Defect, repositoryId: number, isSeen: Sight): Defect {
  if (!namesElsewhere(defect) && mentionsOf(defect, repositoryId).every((target) => isSeen(target)))
    return defect;
  return { ...defect, value: "", detail: "this hangs on an item out of the scope of this token" };
}

/** The items of the repository that a defect names: `#12`, and as a key. A pull request is the item's own affair. */
function mentionsOf({ number, value, detail }: Defect, repositoryId: number): LinkTarget[] {
  const text = `${value} ${detail}`;
  // Issues and pull requests are numbered together: what is a pull request in the words is one as the value, too.
  const pulls = new Set([...text.matchAll(/pull requests? #(\d+)/gi)].map(([, name]) => Number(name)));
  return [...text.matchAll(/#(\d{1,9})\b|\bissue-(\d{1,9})\b/g)]
    .map(([, name, key]) => Number(name ?? key))
    .filter((other) => other !== number && !pulls.has(other))
    .map((other) => ({ repositoryId, target: itemTarget(other) }));
}

/** Another repository's item, in either spelling. */
const namesElsewhere = ({ value, detail }: Defect): boolean =>
  /[\w.-]#\d|\brepo\/[^/\s]+\/[^/\s]+\/mem\//.test(`${value} ${detail}`);

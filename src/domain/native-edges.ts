/**
 * What a webhook about one of GitHub's own links means for what is known of it (github-cases 62, 63). An edge
 * causes two events, perhaps in two repositories, which come in any order, late and twice; their times have whole
 * seconds. Newer wins; what is not certainly newer and says otherwise is settled by reading the link from GitHub.
 */

export type NativeRelation = "blockedBy" | "partOf";

/** What a delivery says of one edge. */
export interface EdgeNews {
  readonly relation: NativeRelation;
  readonly present: boolean;
  /** GitHub's time of the younger of both ends: orders what is said of this edge. */
  readonly saidAt: Date;
  /** And of the sub-issue or blocked issue alone: orders what is said of its several parents. */
  readonly endAt: Date;
}

/** What was said before of the same edge, or of another edge of the same issue. */
export interface KnownEdge {
  readonly present: boolean;
  readonly saidAt: Date;
  readonly endAt: Date;
}

export type EdgeDecision =
  /** The order is in doubt: GitHub is to be asked whether the edge is there. */
  | { readonly kind: "ask" }
  | {
      readonly kind: "set";
      readonly present: boolean;
      readonly saidAt: Date;
      readonly endAt: Date;
      /** An issue has one parent: this one takes the place of any other. */
      readonly replacesOthers: boolean;
    };

/**
 * Decides what becomes of an edge. `same`: what is known of it; `others`: the other edges of the relation;
 * `answer`: whether GitHub, being asked, has the edge, or null when it was not asked.
 */
export function decideEdge(
  news: EdgeNews,
  same: KnownEdge | null,
  others: readonly KnownEdge[],
  answer: boolean | null,
): EdgeDecision {
  const isParent = news.relation === "partOf";
  if (answer === null && isDoubtful(news, same, isParent ? others : [])) return { kind: "ask" };
  const present = answer ?? news.present;
  return {
    kind: "set",
    present,
    saidAt: later(news.saidAt, same?.saidAt),
    endAt: later(news.endAt, same?.endAt),
    replacesOthers: isParent && present,
  };
}

function isDoubtful(news: EdgeNews, same: KnownEdge | null, parents: readonly KnownEdge[]): boolean {
  if (same !== null && same.present !== news.present && news.saidAt <= same.saidAt) return true;
  return news.present && parents.some((other) => other.present && news.endAt <= other.endAt);
}

/**
 * The edges of an issue as GitHub lists them, against those that are known. `listedAt`: the time in what
 * named the list; of what an event said later the list knows nothing certain.
 */
export function compareWithList<Edge extends KnownEdge>(
  known: readonly Edge[],
  listed: readonly Edge[],
  listedAt: Date,
  isSame: (a: Edge, b: Edge) => boolean,
  isKept: (edge: Edge) => boolean,
): readonly Edge[] {
  const isNewer = (edge: Edge): boolean => edge.endAt > listedAt;
  const added = listed.filter((edge) => {
    const before = known.find((other) => isSame(other, edge));
    return before === undefined || (!before.present && !isNewer(before));
  });
  const removed = known
    .filter((edge) => edge.present && !isNewer(edge) && !isKept(edge))
    .filter((edge) => !listed.some((other) => isSame(other, edge)))
    .map((edge) => ({ ...edge, present: false, saidAt: later(listedAt, edge.saidAt), endAt: listedAt }));
  return [...removed, ...added];
}

const later = (a: Date, b: Date | undefined): Date => (b !== undefined && b > a ? b : a);

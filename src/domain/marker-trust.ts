/** Which claim markers count (protocol 4): a passer-by cannot park an item, and nobody can forge an attempt. */

export interface MarkerOrigin {
  /** Written by the App itself. */
  readonly byApp: boolean;
  /** The comment was changed after it was written. */
  readonly edited: boolean;
}

export interface MarkerFacts extends MarkerOrigin {
  readonly byListedAgent: boolean;
  readonly association: string | null;
  /** Its (item, fence) is a grant that this store made. */
  readonly granted: boolean;
}

const INSIDERS: readonly string[] = ["OWNER", "MEMBER", "COLLABORATOR"];

/** The App's own markers count by themselves (a lost database is rebuilt from them); others only with a grant. */
export function markerCounts(facts: MarkerFacts): boolean {
  if (facts.byApp) return !facts.edited || facts.granted;
  const insider = facts.byListedAgent || (facts.association !== null && INSIDERS.includes(facts.association));
  return insider && facts.granted;
}

/** Whether the token sequence must be above this marker's fence: only what the App itself wrote proves a token. */
export const markerProvesFence = ({ byApp, edited }: MarkerOrigin): boolean => byApp && !edited;

/** The tags of a proposal: those that stand only once, and what they may say (protocol 2). */

import { isRegion } from "./region.ts";
import { malformedResource, RESOURCE_KEY_RULE } from "./resources.ts";
import { isPhase, MANDATORY_PREFIXES, tagValues } from "./tags.ts";

/** What is wrong with them, for the caller; null: nothing. Reserved ones are refused elsewhere. */
export function proposalTagsFault(tags: readonly string[]): string | null {
  for (const prefix of MANDATORY_PREFIXES) {
    const values = tagValues(tags, prefix);
    if (values.length > 1) return `${prefix} stands once, and is given ${values.length} times`;
  }
  const [phase] = tagValues(tags, "phase:");
  if (phase !== undefined && !isPhase(phase)) return "phase: is research, implementation or integration";
  const [region] = tagValues(tags, "homeRegion:");
  if (region !== undefined && !isRegion(region)) return "homeRegion: is a region's name";
  const resource = malformedResource(tags);
  if (resource !== null) return `${resource}: after resource: comes ${RESOURCE_KEY_RULE}`;
  const [base] = tagValues(tags, "baseBranch:");
  return base === "" ? "baseBranch: names a branch" : null;
}

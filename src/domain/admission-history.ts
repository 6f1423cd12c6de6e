/**
 * Admission as an issue's history tells it: for issues that were there before Leasehold, or whose events
 * were missed (protocol 3: the reconciler finds the actor in the event list).
 */

export interface LabelEvent {
  readonly action: "labeled" | "unlabeled";
  readonly login: string | null;
  readonly human: boolean;
  /** GitHub's time. */
  readonly at: Date;
}

export interface HistoryFacts {
  readonly author: { readonly login: string | null; readonly human: boolean };
  readonly labelPresent: boolean;
  /** The gate label's events, oldest first. */
  readonly events: readonly LabelEvent[];
}

export interface HistoricAdmission {
  readonly admitted: boolean;
  readonly by: string | null;
  /** The label is to be put (back) on. */
  readonly restore: boolean;
}

/** No label and no record of a human's removal on an agent's item means not admitted. */
export function admissionByHistory({ author, labelPresent, events }: HistoryFacts): HistoricAdmission {
  if (labelPresent) return { admitted: false, by: null, restore: false };
  const last = events.at(-1);
  if (last === undefined)
    return { admitted: author.human, by: author.human ? author.login : null, restore: !author.human };
  if (last.action === "unlabeled" && last.human) return { admitted: true, by: last.login, restore: false };
  return { admitted: false, by: null, restore: true };
}

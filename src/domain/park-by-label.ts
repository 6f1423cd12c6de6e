/** Whether a human's stale label still asks for a park (protocol 5), by the order of the event list. */

export interface StateActs {
  /** A human's last close or reopening before the label was put on. */
  readonly before: "closed" | "reopened" | null;
  /** A human reopened the issue after it. */
  readonly isReopened: boolean;
}

/**
 * What had ended is not parked; and who reopens it takes the work up anew, whatever label it got meanwhile. A label from
 * while it was open goes on asking, whether it was heard of or not.
 */
export const isStillAsked = ({ before, isReopened }: StateActs): boolean =>
  !(before === "closed" && isReopened);

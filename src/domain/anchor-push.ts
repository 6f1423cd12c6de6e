/** What a push means for what is anchored on its branch (protocol 11): a reading, unless it surely changed none of it. */

import { RadiusIndex } from "./blast-radius.ts";
import { mayHideMore, type PushFacts } from "./configuration-push.ts";

export interface AnchorPush extends PushFacts {
  /** The branch's head before, as the push has it. */
  readonly before: string | null;
}

export interface PushVerdict {
  /** It goes on from the head that was seen last: its own is the head now. Otherwise a push was missed, or came late. */
  readonly follows: boolean;
  readonly isRead: boolean;
}

/** `seen`: the head that was seen last; null: none was. `paths`: what is anchored on the branch. */
export function judgePush(push: AnchorPush, seen: string | null, paths: readonly string[]): PushVerdict {
  const follows = !push.deleted && !push.created && seen !== null && push.before === seen;
  if (!follows || mayHideMore(push)) return { follows, isRead: true };
  const anchored = new RadiusIndex([{ number: 1, radius: paths }]);
  const touched = [...new Set((push.commits ?? []).flat())];
  return { follows, isRead: anchored.meets({ number: 2, radius: touched }).length > 0 };
}

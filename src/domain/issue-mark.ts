/**
 * The mark of an issue that Leasehold opens: an invisible line at the end of its body. After a lost answer it tells
 * whether the issue was opened all the same.
 */

import { MAX_COMMENT_LENGTH } from "./neutralise.ts";

export interface NewIssue {
  readonly title: string;
  /** With the mark, if there is room for it. */
  readonly body: string;
  readonly mark: string;
}

export function markedIssue(title: string, body: string, id: string): NewIssue {
  const mark = `<!-- leasehold: opened for request ${id} -->`;
  const marked = body === "" ? mark : `${body}\n\n${mark}`;
  return { title, mark, body: marked.length <= MAX_COMMENT_LENGTH ? marked : body };
}

/** Whether this is the issue that was sent. One without room for the mark is known by its whole text. */
export function isThatIssue(
  found: { readonly title: string; readonly body: string | null },
  sent: NewIssue,
): boolean {
  const body = found.body ?? "";
  if (sent.body.endsWith(sent.mark)) return body.split(/\r?\n/).includes(sent.mark);
  return found.title === sent.title && body === sent.body;
}

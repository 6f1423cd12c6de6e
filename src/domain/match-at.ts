/** At `start` with a sticky expression, from `start` on with a global one. */
export function matchAt(expression: RegExp, text: string, start: number): RegExpExecArray | null {
  expression.lastIndex = start;
  return expression.exec(text);
}

/** Where the match at `start` ends, or null where there is none. */
export function endOfMatch(sticky: RegExp, text: string, start: number): number | null {
  const match = matchAt(sticky, text, start);
  return match && start + match[0].length;
}

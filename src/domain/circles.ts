/** Whether edges lead round in a circle. */

/** True when some nodes wait for each other in a circle. In time and space of the order of the edges. */
export function hasCircle(edges: readonly { readonly from: number; readonly to: number }[]): boolean {
  const waits = new Map<number, number>();
  const awaitedBy = new Map<number, number[]>();
  for (const { from, to } of edges) {
    waits.set(from, (waits.get(from) ?? 0) + 1);
    const behind = awaitedBy.get(to);
    if (behind) behind.push(from);
    else awaitedBy.set(to, [from]);
  }
  const free = [...awaitedBy.keys()].filter((node) => !waits.has(node));
  for (let node = free.pop(); node !== undefined; node = free.pop()) {
    for (const behind of awaitedBy.get(node) ?? []) {
      const left = (waits.get(behind) ?? 0) - 1;
      if (left > 0) waits.set(behind, left);
      else {
        waits.delete(behind);
        free.push(behind);
      }
    }
  }
  return waits.size > 0;
}

const REPLACEMENT = "\uFFFD";

/**
 * Replaces U+0000 and every lone surrogate with U+FFFD. PostgreSQL's `text` and `jsonb` can hold neither, and
 * both arrive from outside: JSON may spell them as escapes.
 */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", REPLACEMENT);
}

/**
 * {@link cleanText} for every string in a JSON value, keys too, in a copy. Anything that is neither a string
 * nor a plain array or object is kept as it is.
 *
 * It keeps a list of what is still to do instead of calling itself, since a payload of 25 MB can nest deeper
 * than the call stack. Two keys that become equal follow `JSON.parse`: the later one wins.
 */
export function cleanJson<T>(value: T): T {
  const copies = new Map<object, object>();
  const pending: [source: object, copy: object][] = [];

  const clean = (part: unknown): unknown => {
    if (typeof part === "string") return cleanText(part);
    if (!isContainer(part)) return part;
    const known = copies.get(part);
    if (known !== undefined) return known;
    const copy = Array.isArray(part) ? [] : {};
    copies.set(part, copy);
    pending.push([part, copy]);
    return copy;
  };

  const result = clean(value);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [source, copy] = next;
    for (const [key, part] of Object.entries(source)) defineOwn(copy, cleanText(key), clean(part));
  }
  return result as T;
}

function isContainer(part: unknown): part is object {
  if (typeof part !== "object" || part === null) return false;
  if (Array.isArray(part)) return true;
  const prototype: unknown = Object.getPrototypeOf(part);
  return prototype === Object.prototype || prototype === null;
}

/** Assigning would not do: `JSON.parse` makes an own key `__proto__`, which an assignment treats specially. */
function defineOwn(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

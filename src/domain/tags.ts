/** Tags of backlog items (protocol 2): `key:value` attributes, of which some may stand only once. */

export const MANDATORY_PREFIXES = ["priority:", "phase:", "homeRegion:", "baseBranch:"] as const;

/** Tags that general writes may not touch: each has one way in (protocol 2). */
export const RESERVED_PREFIXES = ["state:", "priority:", "pr:"] as const;
export const ITEM_TAG = "backlog";

export const PRIORITIES = ["P0", "P1", "P2", "P3"] as const;
export type Priority = (typeof PRIORITIES)[number];
export const PHASES = ["research", "implementation", "integration"] as const;
export type Phase = (typeof PHASES)[number];

export const isPriority = (value: string): value is Priority =>
  (PRIORITIES as readonly string[]).includes(value);
export const isPhase = (value: string): value is Phase => (PHASES as readonly string[]).includes(value);

/** Whether a general write must refuse this tag and name the right call. */
export const isReservedTag = (tag: string): boolean =>
  tag === ITEM_TAG || RESERVED_PREFIXES.some((prefix) => tag.startsWith(prefix));

/** The values of every tag with this prefix, in the tags' order. */
export const tagValues = (tags: readonly string[], prefix: string): string[] =>
  tags.filter((tag) => tag.startsWith(prefix)).map((tag) => tag.slice(prefix.length));

/** The value of the single tag with this prefix; null when it is missing or doubled (a defect, never guessed). */
export function tagValue(tags: readonly string[], prefix: string): string | null {
  const values = tagValues(tags, prefix);
  return values.length === 1 ? (values[0] ?? null) : null;
}

/** The tags with every tag of this prefix replaced by the given values. */
export function withTag(tags: readonly string[], prefix: string, values: readonly string[]): string[] {
  return [...tags.filter((tag) => !tag.startsWith(prefix)), ...values.map((value) => prefix + value)];
}

/** A priority label in any of the spellings people use: `priority:P1`, `priority/P1`, `P1`, any case (protocol 2). */
export function priorityOfLabel(label: string): Priority | null {
  const match = /^(?:priority[:/]\s?)?(p[0-3])$/i.exec(label.trim());
  const value = match?.[1]?.toUpperCase();
  return value && isPriority(value) ? value : null;
}

/**
 * The priorities that an item's labels ask for, without doubles. None: the caller takes the epic's or the
 * default. More than one: all are kept as tags, which is the doubled-tag defect.
 */
export function prioritiesOfLabels(labels: readonly string[]): Priority[] {
  const found = new Set<Priority>();
  for (const label of labels) {
    const priority = priorityOfLabel(label);
    if (priority) found.add(priority);
  }
  return [...found].sort();
}

/** The number that orders items by priority; doubled or unknown priorities sort last. */
export function priorityRank(tags: readonly string[]): number {
  const value = tagValue(tags, "priority:");
  const rank = value && isPriority(value) ? PRIORITIES.indexOf(value) : -1;
  return rank < 0 ? PRIORITIES.length : rank;
}

/** GitHub matches labels without regard to case, and so do we (protocol 3). */
export const hasLabel = (labels: readonly string[], name: string): boolean =>
  labels.some((label) => label.toLowerCase() === name.toLowerCase());

/** Two label names are the same label. */
export const sameLabel = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

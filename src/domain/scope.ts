/** What part of a backlog a token reaches (protocol 10). */

export interface ItemAt {
  readonly repositoryId: number;
  readonly number: number;
}

/** Both must hold, where both are given. */
export interface Scope {
  /** Null: not bounded by roots. Else an item is reached if it, or something that it is part of, is one of them. */
  readonly roots: readonly ItemAt[] | null;
  /** Null: not bounded by tags. Else an item is reached if its own tags hold one of them. */
  readonly tags: readonly string[] | null;
}

/** What a caller may see: these repositories (null: all), and of their backlogs what the scope reaches (null: all). */
export interface View {
  readonly repositories: ReadonlySet<number> | null;
  readonly scope: Scope | null;
}

/** Whether anything at all may be out of sight. */
export const isRestricted = ({ repositories, scope }: View): boolean =>
  repositories !== null || scope !== null;

/** For what the program does by itself. */
export const EVERYTHING: View = { repositories: null, scope: null };

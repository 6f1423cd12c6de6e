/**
 * Answers a question once for all who ask it at the same time. Whoever asks while it is being answered gets the next
 * answer, with all others that came meanwhile: so nobody is told what was true before they asked.
 */
export class SharedReads<T> {
  readonly #underWay = new Map<string, { readonly current: Promise<T>; next: Promise<T> | null }>();

  /** `key` says what is asked; `read` answers it as things are when it begins. Throws what `read` threw. */
  ask(key: string, read: () => Promise<T>): Promise<T> {
    const running = this.#underWay.get(key);
    if (running === undefined) return this.#begin(key, read);
    const begin = () => this.#begin(key, read);
    running.next ??= running.current.then(begin, begin);
    return running.next;
  }

  #begin(key: string, read: () => Promise<T>): Promise<T> {
    const current = read();
    const running = { current, next: null };
    this.#underWay.set(key, running);
    const end = (): void => {
      if (running.next === null) this.#underWay.delete(key);
    };
    current.then(end, end);
    return current;
  }
}

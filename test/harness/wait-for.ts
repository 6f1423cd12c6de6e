/** Waits for a condition, with a deadline, and says what was the matter when it passes. */

const DEADLINE_MS = 60_000;

/** `check` answers null when it is content, else what is still wrong. */
export async function waitFor(
  what: string,
  check: () => Promise<string | null> | string | null,
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    const wrong = await check();
    if (wrong === null) return;
    if (Date.now() > until) throw new Error(`waited ${deadlineMs} ms for ${what}; ${wrong}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

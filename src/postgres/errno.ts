/** True when a system call failed with one of these codes, such as `ENOENT`. */
export function hasErrno(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** What the call gives, or `fallback` when the file or folder is not there. */
export async function ifMissing<T, F>(call: Promise<T>, fallback: F): Promise<T | F> {
  try {
    return await call;
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return fallback;
    throw error;
  }
}

/** Where the App's private keys are kept, and how they are written there. */

import { parseEnv } from "node:util";

/** Which of the environment's variables holds the key, or names the file that does. */
export interface KeyPlace {
  /** `PRIVATE_KEY`, as it is in the environment. */
  readonly inline: string | null;
  /** `PRIVATE_KEY_PATH`. */
  readonly path: string | null;
  /** The `.env` file, which may hold the former. */
  readonly envFile: string;
  readonly readFile: (path: string) => string;
}

const KEY = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\s\S]*?-----END \1PRIVATE KEY-----/g;

/**
 * The PEM keys in a text, the wanted one first: a file may hold two while they are rotated. In a .env file they may be
 * on one line, with \n written out, or the whole in base64.
 */
export function keysIn(text: string): string[] {
  const unfolded = text.includes("-----BEGIN")
    ? text.replaceAll("\\n", "\n")
    : Buffer.from(text, "base64").toString();
  return [...unfolded.matchAll(KEY)].map(([key]) => key);
}

/**
 * Reads the keys as they are kept now: of a file, or of the .env file where the key came from it. What came with the
 * process's own environment cannot change. Throws where the file cannot be read.
 */
export function keyReader({ inline, path, envFile, readFile }: KeyPlace): () => string[] {
  if (inline === null && path !== null) return () => keysIn(readFile(path));
  const inEnvFile = (): string | undefined => {
    try {
      return parseEnv(readFile(envFile)).PRIVATE_KEY;
    } catch {
      return undefined;
    }
  };
  // Nothing was set: /setup may write it there.
  if (inline === null || inEnvFile()?.trim() === inline) return () => keysIn(inEnvFile() ?? inline ?? "");
  return () => keysIn(inline);
}

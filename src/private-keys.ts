/** Where the App's private keys and webhook secrets are kept, and how they are written there. */

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

/** The App's webhook secrets, as they are in the environment. */
export interface SecretPlace extends Pick<KeyPlace, "envFile" | "readFile"> {
  /** `WEBHOOK_SECRET`. */
  readonly secret: string | null;
}

/**
 * Reads the webhook secrets as the .env file has them now, the current one first; empty: it has none, or those in force
 * came with the process's own environment, which cannot change.
 */
export function secretReader({ secret, envFile, readFile }: SecretPlace): () => string[] {
  const kept = (): string[] => {
    try {
      const { WEBHOOK_SECRET, WEBHOOK_SECRET_PREVIOUS } = parseEnv(readFile(envFile));
      const current = WEBHOOK_SECRET?.trim();
      const previous = WEBHOOK_SECRET_PREVIOUS?.trim();
      return current ? [current, ...(previous ? [previous] : [])] : [];
    } catch {
      return [];
    }
  };
  return secret === null || kept()[0] === secret ? kept : () => [];
}

/** Keeps the App's credentials in `.env`, where the next start finds them, without touching its other lines. */

import { randomUUID } from "node:crypto";
import { readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import type { NewApp } from "../github/manifest.ts";

/** Why the credentials could not be kept; `message` is for a person. */
export class EnvFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EnvFileError";
  }
}

const NAMES = ["APP_ID", "PRIVATE_KEY", "WEBHOOK_SECRET"] as const;

const keyOf = (app: NewApp): string => app.privateKey.trim().replaceAll("\r\n", "\n");

/** The variables, as lines of a `.env` file. */
export function envLines(app: NewApp): string {
  // One line: node turns \n inside double quotes back into a line's end, and so does our configuration.
  const key = keyOf(app).replaceAll("\n", "\\n");
  return [
    `# The GitHub App ${app.slug}, registered through /setup`,
    `APP_ID=${app.appId}`,
    `PRIVATE_KEY="${key}"`,
    `WEBHOOK_SECRET=${quoted(app.webhookSecret)}`,
    "",
  ].join("\n");
}

function quoted(value: string): string {
  if (/^[\w.:/+=@-]+$/.test(value)) return value;
  const quote = ["'", '"', "`"].find((mark) => !value.includes(mark));
  return quote ? quote + value + quote : value;
}

/**
 * The file's new content: the old one's lines, without empty settings of ours, and then ours. Throws
 * `EnvFileError` when the file already names an App, or when read back it would not say the same.
 */
export function envContent(before: string, app: NewApp): string {
  const old = parseEnv(before);
  const ours = parseEnv(envLines(app));
  const taken = NAMES.filter((name) => (old[name] ?? "").trim() !== "" && old[name] !== ours[name]);
  if (taken.length > 0) {
    throw new EnvFileError(`the file sets ${taken.join(", ")} already, and nothing in it is overwritten`);
  }
  if (NAMES.every((name) => old[name] === ours[name])) return before;
  const kept = before
    .split(/(?<=\n)/)
    .filter((line) => !/^\s*(export\s+)?(APP_ID|PRIVATE_KEY|WEBHOOK_SECRET)\s*=/.test(line))
    .join("");
  const gap = kept === "" ? "" : kept.endsWith("\n") ? "\n" : "\n\n";
  const content = kept + gap + envLines(app);
  // A line of ours inside a value over several lines, an open quote: rather not written than written wrongly.
  const read = parseEnv(content);
  const expected = { ...old, ...ours, PRIVATE_KEY: keyOf(app), WEBHOOK_SECRET: app.webhookSecret };
  const wrong = Object.entries(expected).find(([name, value]) => read[name] !== value);
  if (wrong) throw new EnvFileError(`the file cannot be added to safely: ${wrong[0]} would read differently`);
  return content;
}

/** Writes the credentials into the file, whole or not at all, readable by its owner only. Throws `EnvFileError`. */
export async function writeEnvFile(path: string, app: NewApp): Promise<void> {
  try {
    // Behind a link: the file it leads to is replaced, and not the link.
    const target = await realpath(path).catch(orIfAbsent(path));
    const before = await readFile(target, "utf8").catch(orIfAbsent(""));
    await replaceFile(target, envContent(before, app));
  } catch (error) {
    if (error instanceof EnvFileError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new EnvFileError(REASONS[code ?? ""] ?? message);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "this process may not write there",
  EPERM: "this process may not write there",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  EISDIR: "there is a folder of that name",
  EBUSY: "the file is mounted by itself, and cannot be replaced",
  ENOENT: "its folder does not exist",
};

const orIfAbsent = (instead: string) => (error: NodeJS.ErrnoException) => {
  if (error.code === "ENOENT") return instead;
  throw error;
};

/** A reader, or a crash, finds the old content or the new, and nothing between. */
async function replaceFile(path: string, content: string): Promise<void> {
  const draft = `${path}.draft-${randomUUID()}`;
  try {
    await writeFile(draft, content, { mode: 0o600, flag: "wx", flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

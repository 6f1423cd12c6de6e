/**
 * Looks after the App's private key (github-cases 76). A key that was replaced where it is kept is taken up once GitHub
 * accepts it; while GitHub refuses the key in force, every key that is kept is tried, until one is accepted. No restart.
 * Webhook secrets that were replaced are taken up as they are: GitHub says nothing about those.
 */

import type { Deps } from "./deps.ts";

/** However its lines are broken. */
const sameKey = (one: string, other: string): boolean =>
  one.replaceAll(/\s/g, "") === other.replaceAll(/\s/g, "");

export class KeyWatch {
  readonly #deps: Pick<Deps, "github" | "log" | "wake">;
  readonly #readKeys: () => readonly string[];
  readonly #readSecrets: () => readonly string[];
  #looking: Promise<void> | null = null;
  /** So that each trouble is told once. */
  #told: string | null = null;

  /**
   * `readKeys` reads the keys that are kept, the wanted one first; empty: there are none but the one in force. So does
   * `readSecrets` the webhook secrets.
   */
  constructor(
    deps: Pick<Deps, "github" | "log" | "wake">,
    readKeys: () => readonly string[],
    readSecrets: () => readonly string[] = () => [],
  ) {
    this.#deps = deps;
    this.#readKeys = readKeys;
    this.#readSecrets = readSecrets;
  }

  /** GitHub refuses the key in force: told once, and the others are tried at once. */
  refused(message: string): void {
    this.#deps.log.error(
      { reason: message },
      "GitHub refuses the App's private key; deliveries are kept, and work waits for a key that it takes",
    );
    void this.look();
  }

  /** Takes up another key, if there is reason to. One look at a time. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    this.#takeUpSecrets();
    const { github, log } = this.#deps;
    const { app } = github;
    if (app === null) return;
    const kept = this.#read();
    const isRefused = github.keyRefusal !== null;
    const [wanted] = kept;
    if (!isRefused && (wanted === undefined || sameKey(wanted, app.privateKey) || wanted === this.#told))
      return;
    // The one in force too: GitHub may have been wrong.
    const keys = isRefused ? new Set([...kept, app.privateKey]) : [wanted ?? app.privateKey];
    for (const key of keys) {
      const verdict = await github.tryKey(key);
      if (verdict === "accepted") return this.#takeUp(key);
      if (verdict === "refused" && !isRefused) {
        this.#told = key;
        log.warn("GitHub does not take the private key that is kept now; the one before stays in force");
      }
    }
  }

  #takeUpSecrets(): void {
    const { github, log } = this.#deps;
    const secrets = this.#readSecrets();
    if (github.app === null || secrets.length === 0) return;
    if (secrets.join("\n") === github.app.webhookSecrets.join("\n")) return;
    github.trustSecrets(secrets);
    log.info({ accepted: secrets.length }, "the webhook secrets were changed");
  }

  #takeUp(privateKey: string): void {
    const { github, log, wake } = this.#deps;
    const { app } = github;
    if (app === null) return;
    const isNew = !sameKey(app.privateKey, privateKey);
    github.connect({ ...app, privateKey });
    this.#told = null;
    log.info(
      isNew ? "another private key of the App is in force" : "GitHub takes the App's private key again",
    );
    for (const part of [wake.inbox, wake.outbox, wake.pulls, wake.anchors]) part();
  }

  #read(): readonly string[] {
    try {
      return this.#readKeys();
    } catch (error) {
      const { message } = error as Error;
      if (this.#told !== message)
        this.#deps.log.warn({ reason: message }, "the file of the private key cannot be read");
      this.#told = message;
      return [];
    }
  }
}

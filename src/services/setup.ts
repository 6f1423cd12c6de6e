/**
 * Registers the GitHub App once: code for credentials, credentials into `.env`, and into force without a restart.
 * What GitHub has told is never lost: if the file cannot be written the credentials stay here, to be shown and
 * tried again, until they are kept.
 */

import type { Logger } from "pino";
import type { GitHubConnection } from "../github/connection.ts";
import { failureOf } from "../github/failure.ts";
import {
  type Conversion,
  convertManifestCode,
  type NewApp,
  type RegisteredApp,
  readApp,
  webBaseOf,
} from "../github/manifest.ts";
import { EnvFileError, envLines, writeEnvFile } from "./env-file.ts";

export type { RegisteredApp };

export interface SetupDeps {
  readonly github: GitHubConnection;
  readonly log: Logger;
  readonly envFile: string;
}

/** Credentials that are in force, but only in this process's memory. */
export interface Unsaved {
  readonly app: RegisteredApp;
  readonly envFile: string;
  readonly problem: string;
  /** The lines to save. Secret. */
  readonly lines: string;
}

export type SetupStatus =
  | { readonly kind: "unconfigured" }
  /** `app` is null when GitHub does not answer; `problem` says why. */
  | {
      readonly kind: "configured";
      readonly appId: number;
      readonly app: RegisteredApp | null;
      readonly problem: string | null;
    }
  | ({ readonly kind: "unsaved" } & Unsaved);

export type Registration =
  | { readonly kind: "registered"; readonly app: RegisteredApp; readonly envFile: string }
  | ({ readonly kind: "unsaved" } & Unsaved)
  | { readonly kind: "already"; readonly appId: number }
  | Exclude<Conversion, { kind: "converted" }>;

export class Setup {
  readonly #deps: SetupDeps;
  #unsaved: { readonly app: NewApp; readonly problem: string } | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: SetupDeps) {
    this.#deps = deps;
  }

  /** Where people see the GitHub that the App is registered on. */
  get webBase(): string {
    return webBaseOf(this.#deps.github.baseUrl);
  }

  /** Whether an App is configured, without asking GitHub. */
  get isConfigured(): boolean {
    return this.#deps.github.app !== null;
  }

  async status(): Promise<SetupStatus> {
    const { github } = this.#deps;
    if (github.app === null) return { kind: "unconfigured" };
    if (this.#unsaved) return { kind: "unsaved", ...this.#shown(this.#unsaved) };
    const { appId } = github.app;
    try {
      return { kind: "configured", appId, app: await readApp(await github.appClient()), problem: null };
    } catch (error) {
      return { kind: "configured", appId, app: null, problem: failureOf(error).message };
    }
  }

  /** Takes up the App that a code stands for. One at a time: the second of two finds the first one's App. */
  register(code: string): Promise<Registration> {
    const turn = this.#last.then(() => this.#register(code));
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Tries again to keep credentials that are not. Answers whether nothing is left to keep. */
  async save(): Promise<boolean> {
    if (this.#unsaved) await this.#keep(this.#unsaved.app);
    return this.#unsaved === null;
  }

  async #register(code: string): Promise<Registration> {
    const { github, log, envFile } = this.#deps;
    // Before the code is used: it would register an App that nothing here uses.
    if (github.app !== null) return { kind: "already", appId: github.app.appId };
    const conversion = await convertManifestCode(github.baseUrl, code);
    if (conversion.kind !== "converted") return conversion;
    const { app } = conversion;
    await this.#keep(app);
    const { appId, privateKey, webhookSecret, slug } = app;
    github.connect({ appId, privateKey, webhookSecrets: [webhookSecret] });
    log.info({ appId, slug }, "a GitHub App was registered, and is in force");
    return this.#unsaved
      ? { kind: "unsaved", ...this.#shown(this.#unsaved) }
      : { kind: "registered", app, envFile };
  }

  async #keep(app: NewApp): Promise<void> {
    const { log, envFile } = this.#deps;
    try {
      await writeEnvFile(envFile, app);
      this.#unsaved = null;
      log.info({ envFile }, "the GitHub App's credentials were saved");
    } catch (error) {
      const problem = error instanceof EnvFileError ? error.message : "no reason is known";
      this.#unsaved = { app, problem };
      log.warn({ envFile, reason: problem }, "the GitHub App's credentials are not saved: open /setup");
    }
  }

  #shown({ app, problem }: { app: NewApp; problem: string }): Unsaved {
    return { app, envFile: this.#deps.envFile, problem, lines: envLines(app) };
  }
}

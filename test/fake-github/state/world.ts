import { type AppUnderTest, createAppUnderTest } from "../app-under-test.ts";
import { HttpError } from "../http-error.ts";
import type {
  Account,
  AccountType,
  Actor,
  Commit,
  GitHubApp,
  Installation,
  Issue,
  Permissions,
  Repository,
} from "./model.ts";

/** A change that GitHub tells its subscribers about. */
export type Notice = {
  event: string;
  action: string | null;
  payload: string;
  installationId: number | null;
  repositoryId: number | null;
};

/** Ids start where GitHub's had passed 32 bits, so that a client with `int` columns fails here too. */
const FIRST_ID = 3_387_467_460;

/** All of GitHub: accounts, repositories, installations, commits, and the clock. */
export class World {
  /** Base URL of the REST API, known once the server listens. */
  apiUrl = "";
  /** Set by the webhooks, which come after the world. */
  notify: (notice: Notice) => void = () => {};
  readonly app: AppUnderTest;
  readonly accounts = new Map<string, Account>();
  readonly apps = new Map<string, GitHubApp>();
  readonly repositories = new Map<number, Repository>();
  readonly installations = new Map<number, Installation>();
  readonly commits = new Map<string, Commit>();
  #clock: () => Date;
  #lastId = FIRST_ID;
  #silenced = 0;

  constructor(clock: () => Date, permissions: Permissions) {
    this.#clock = clock;
    this.app = createAppUnderTest({
      owner: this.account("leasehold-makers", "Organization"),
      bot: this.account("leasehold[bot]"),
      hookId: this.nextId(),
      permissions,
      now: this.now(),
    });
    this.apps.set(this.app.slug, this.app);
  }

  /** GitHub's time has whole seconds. */
  now(): Date {
    return new Date(Math.floor(this.#clock().getTime() / 1000) * 1000);
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  get isSilenced(): boolean {
    return this.#silenced > 0;
  }

  silently<T>(change: () => T): T {
    this.#silenced += 1;
    try {
      const result = change();
      if (result instanceof Promise) throw new Error("silently() ends before what you await in it");
      return result;
    } finally {
      this.#silenced -= 1;
    }
  }

  /** The account of that login, made on first mention: `x[bot]` is a bot, anything else a user. */
  account(login: string, type?: AccountType): Account {
    const key = login.toLowerCase();
    const known = this.accounts.get(key);
    if (known) return known;
    const made: Account = {
      id: this.nextId(),
      login,
      type: type ?? (login.endsWith("[bot]") ? "Bot" : "User"),
      members: new Set(),
      deleted: false,
    };
    this.accounts.set(key, made);
    return made;
  }

  findAccount(login: string): Account | null {
    const account = this.accounts.get(login.toLowerCase());
    return account && !account.deleted ? account : null;
  }

  /** An App of that slug, made on first mention. */
  otherApp(slug: string): GitHubApp {
    const known = this.apps.get(slug);
    if (known) return known;
    const id = this.nextId();
    const made: GitHubApp = {
      id,
      slug,
      clientId: `Iv1.${id.toString(16).padStart(16, "0")}`,
      owner: this.account(`${slug}-maker`, "Organization"),
      permissions: { issues: "write", checks: "write", metadata: "read" },
      events: [],
      createdAt: this.now(),
    };
    this.apps.set(slug, made);
    return made;
  }

  /** A bot is an App's, so what it does is done through that App. */
  actor(login: string, viaApp?: GitHubApp | null): Actor {
    const account = this.account(login);
    if (viaApp !== undefined) return { account, viaApp };
    return { account, viaApp: account.type === "Bot" ? this.otherApp(login.replace(/\[bot\]$/, "")) : null };
  }

  findRepository(owner: string, name: string): Repository | null {
    const wanted = `${owner}/${name}`.toLowerCase();
    for (const repository of this.repositories.values()) {
      if (!repository.deleted && `${repository.owner.login}/${repository.name}`.toLowerCase() === wanted) {
        return repository;
      }
    }
    return null;
  }

  findFormerRepository(owner: string, name: string): Repository | null {
    const wanted = `${owner}/${name}`.toLowerCase();
    for (const repository of this.repositories.values()) {
      if (!repository.deleted && repository.formerNames.includes(wanted)) return repository;
    }
    return null;
  }

  installationOf(repository: Repository): Installation | null {
    for (const installation of this.installations.values()) {
      if (installation.repositories.has(repository)) return installation;
    }
    return null;
  }

  installationFor(account: Account): Installation | null {
    for (const installation of this.installations.values()) {
      if (installation.account === account) return installation;
    }
    return null;
  }

  commit(sha: string): Commit {
    const commit = this.commits.get(sha);
    if (!commit) throw new HttpError(422, `No commit found for SHA: ${sha}`);
    return commit;
  }

  findIssueById(id: number): Issue | null {
    for (const repository of this.repositories.values()) {
      for (const issue of repository.issues.values()) {
        if (issue.id === id) return issue;
      }
    }
    return null;
  }
}

/** What an App may do with an installation, in the terms of GitHub's permission names. */
export function allows(permissions: Permissions, name: string, level: "read" | "write"): boolean {
  const granted = permissions[name];
  return granted === "write" || (level === "read" && granted === "read");
}

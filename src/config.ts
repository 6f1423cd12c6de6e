/** Configuration. The only file that reads the environment; everything else gets a `Config`. */

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { REGION_PATTERN } from "./domain/region.ts";
import { GITHUB_PACE, type WritePace, writePace } from "./domain/write-pace.ts";
import { keyReader, keysIn, secretReader } from "./private-keys.ts";

export interface AppConfig {
  readonly appId: number;
  readonly privateKey: string;
  readonly webhookSecrets: readonly string[];
}

export interface Config {
  readonly host: string;
  readonly port: number;
  /** Null: an embedded PostgreSQL is started under `dataDir`. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  /** Where `/setup` writes the App's credentials. */
  readonly envFile: string;
  readonly app: AppConfig | null;
  /** Reads the App's private keys as they are kept now, the wanted one first. Left out: they are kept nowhere else. */
  readonly readPrivateKeys?: () => readonly string[];
  /** Reads the webhook secrets as they are kept now, the current one first; empty: those in force cannot change. */
  readonly readWebhookSecrets?: () => readonly string[];
  readonly githubApiUrl: string;
  /** How fast GitHub may be written to. Left out: as fast as GitHub allows. */
  readonly writePace?: WritePace;
  readonly adminToken: string | null;
  readonly region: string;
  readonly defaultLeaseSeconds: number;
  readonly maxLeaseSeconds: number;
  readonly sweepSeconds: number;
  readonly reconcileSeconds: number;
  /** How many requests a second one token may send to one process; 0: as many as it likes. */
  readonly requestsPerSecond: number;
  /** Whose OIDC tokens workflows bring, and for whom they must be made. */
  readonly oidc: { readonly issuer: string; readonly audience: string };
  readonly logLevel: string;
  /** Logs are for people when they go to a terminal. */
  readonly prettyLogs: boolean;
}

/** What the commands of `leasehold` need. */
export interface CliConfig {
  /** Where the server is, e.g. `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly token: string;
}

/** What is wrong with the configuration, a line each, naming the variable. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

type Env = Readonly<Record<string, string | undefined>>;

/** Reads `.env`, if there is one, and the environment, which wins. Throws `ConfigError`. */
export function loadConfig(): Config {
  const envFile = loadEnvFile();
  return parseConfig(process.env, { envFile, isTerminal: process.stdout.isTTY === true, readFile });
}

/** Where the commands find the server, and whose token they use. Throws `ConfigError`. */
export function loadCliConfig(): CliConfig {
  loadEnvFile();
  return parseCliConfig(process.env, readFile);
}

function loadEnvFile(): string {
  const envFile = resolve(".env");
  if (!existsSync(envFile)) return envFile;
  try {
    process.loadEnvFile(envFile);
  } catch (error) {
    throw new ConfigError([`.env cannot be read: ${(error as Error).message}`]);
  }
  return envFile;
}

const readFile = (path: string): string => readFileSync(path, "utf8");
const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

/** Pure: the variables in, a `Config` or every complaint at once out. */
export function parseConfig(
  env: Env,
  around: { envFile: string; isTerminal: boolean; readFile: (path: string) => string },
): Config {
  const problems: string[] = [];
  const text = (name: string): string | null => env[name]?.trim() || null;
  const whole = (name: string, standard: number, least: number, most: number): number => {
    const given = text(name);
    if (given === null) return standard;
    const value = Number(given);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    problems.push(`${name} is "${given}": a whole number from ${least} to ${most} is needed`);
    return standard;
  };
  const url = (name: string, schemes: readonly string[]): string | null => {
    const given = text(name);
    if (given === null) return null;
    if (URL.canParse(given) && schemes.includes(new URL(given).protocol)) return given.replace(/\/+$/, "");
    problems.push(
      `${name} is not a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(" or ")}`,
    );
    return null;
  };

  const maxLeaseSeconds = whole("LEASEHOLD_MAX_LEASE_SECONDS", 1800, 30, 7200);
  const defaultLeaseSeconds = whole("LEASEHOLD_DEFAULT_LEASE_SECONDS", 30, 1, 7200);
  if (defaultLeaseSeconds > maxLeaseSeconds) {
    problems.push("LEASEHOLD_DEFAULT_LEASE_SECONDS is above LEASEHOLD_MAX_LEASE_SECONDS");
  }
  const region = text("LEASEHOLD_REGION") ?? "local";
  if (!REGION_PATTERN.test(region)) problems.push(`LEASEHOLD_REGION is "${region}": use A-Z a-z 0-9 . _ -`);
  const adminToken = text("LEASEHOLD_ADMIN_TOKEN");
  if (adminToken !== null && adminToken.length < 16) {
    problems.push("LEASEHOLD_ADMIN_TOKEN is shorter than 16 characters: it would be guessed");
  }
  const logLevel = text("LOG_LEVEL") ?? "info";
  if (!LOG_LEVELS.includes(logLevel))
    problems.push(`LOG_LEVEL is "${logLevel}": one of ${LOG_LEVELS.join(", ")}`);

  const config: Config = {
    host: text("HOST") ?? "127.0.0.1",
    port: whole("PORT", 3000, 0, 65535),
    databaseUrl: url("DATABASE_URL", ["postgres:", "postgresql:"]),
    dataDir: text("DATA_DIR") ?? ".data",
    envFile: around.envFile,
    app: parseApp(text, around.readFile, problems),
    readPrivateKeys: keyReader({
      inline: text("PRIVATE_KEY"),
      path: text("PRIVATE_KEY_PATH"),
      ...around,
    }),
    readWebhookSecrets: secretReader({ secret: text("WEBHOOK_SECRET"), ...around }),
    githubApiUrl: parseApiUrl(text, url("GITHUB_API_URL", ["https:", "http:"]), problems),
    writePace: writePace({
      spacingMs: whole("LEASEHOLD_WRITE_SPACING_MS", GITHUB_PACE.spacingMs, 0, 60_000),
      perMinute: whole("LEASEHOLD_WRITES_PER_MINUTE", GITHUB_PACE.perMinute, 0, 100_000),
      perHour: whole("LEASEHOLD_WRITES_PER_HOUR", GITHUB_PACE.perHour, 0, 1_000_000),
    }),
    adminToken,
    region,
    defaultLeaseSeconds,
    maxLeaseSeconds,
    sweepSeconds: whole("LEASEHOLD_SWEEP_SECONDS", 300, 1, 86400),
    reconcileSeconds: whole("LEASEHOLD_RECONCILE_SECONDS", 900, 60, 86400),
    requestsPerSecond: whole("LEASEHOLD_REQUESTS_PER_SECOND", 1000, 0, 1_000_000),
    oidc: {
      issuer:
        url("LEASEHOLD_OIDC_ISSUER", ["https:", "http:"]) ?? "https://token.actions.githubusercontent.com",
      audience: text("LEASEHOLD_OIDC_AUDIENCE") ?? "leasehold",
    },
    logLevel,
    prettyLogs: around.isTerminal,
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Pure: the variables in, the server's address and the token out. Throws `ConfigError`. */
export function parseCliConfig(env: Env, read: (path: string) => string): CliConfig {
  const text = (name: string): string | null => env[name]?.trim() || null;
  const url = text("LEASEHOLD_URL") ?? `http://127.0.0.1:${text("PORT") ?? 3000}`;
  if (!URL.canParse(url)) throw new ConfigError(["LEASEHOLD_URL is not a URL, e.g. http://127.0.0.1:3000"]);
  const given = text("LEASEHOLD_TOKEN") ?? text("LEASEHOLD_ADMIN_TOKEN");
  if (given !== null) return { url: url.replace(/\/+$/, ""), token: given };
  const path = `${text("DATA_DIR") ?? ".data"}/admin-token`;
  try {
    return { url: url.replace(/\/+$/, ""), token: read(path).trim() };
  } catch {
    throw new ConfigError([`LEASEHOLD_TOKEN is not set, and there is no admin token in ${path}`]);
  }
}

/** GitHub Enterprise Server by its host, as Probot names it, or any server by its REST base. */
function parseApiUrl(
  text: (name: string) => string | null,
  given: string | null,
  problems: string[],
): string {
  const host = text("GHE_HOST");
  const protocol = text("GHE_PROTOCOL") ?? "https";
  if (!["https", "http"].includes(protocol)) problems.push(`GHE_PROTOCOL is "${protocol}": https or http`);
  if (host === null) return given ?? "https://api.github.com";
  const url = `${protocol}://${host}/api/v3`;
  const isHost = URL.canParse(url) && new URL(url).host === host.toLowerCase();
  if (!isHost) problems.push(`GHE_HOST is "${host}": a host name is needed, such as github.example.com`);
  if (given !== null && given !== url) {
    problems.push(`GHE_HOST means ${url}, but GITHUB_API_URL is ${given}: set one of them`);
  }
  return url;
}

/** The App's variables belong together: some without the others is a mistake, not a choice. */
function parseApp(
  text: (name: string) => string | null,
  readFile: (path: string) => string,
  problems: string[],
): AppConfig | null {
  const appId = text("APP_ID");
  const inline = text("PRIVATE_KEY");
  const path = text("PRIVATE_KEY_PATH");
  const secret = text("WEBHOOK_SECRET");
  const previous = text("WEBHOOK_SECRET_PREVIOUS");
  if (appId === null && inline === null && path === null && secret === null) return null;
  const before = problems.length;
  const id = Number(appId);
  if (appId === null) problems.push("APP_ID is missing, though other variables of the GitHub App are set");
  else if (!Number.isInteger(id) || id < 1) problems.push(`APP_ID is "${appId}": a number is needed`);
  if (secret === null) problems.push("WEBHOOK_SECRET is missing: without it no delivery can be trusted");
  const key = privateKeyOf(inline, path, readFile, problems);
  if (problems.length > before || key === null || secret === null) return null;
  return { appId: id, privateKey: key, webhookSecrets: previous === null ? [secret] : [secret, previous] };
}

function privateKeyOf(
  inline: string | null,
  path: string | null,
  readFile: (path: string) => string,
  problems: string[],
): string | null {
  let key = inline;
  if (key === null && path !== null) {
    try {
      key = readFile(path);
    } catch {
      problems.push(`PRIVATE_KEY_PATH is "${path}": that file cannot be read`);
      return null;
    }
  }
  if (key === null) {
    problems.push(
      "PRIVATE_KEY or PRIVATE_KEY_PATH is missing: it is the .pem file that GitHub gave for the App",
    );
    return null;
  }
  const [wanted] = keysIn(key);
  if (wanted !== undefined) return wanted;
  problems.push("PRIVATE_KEY holds no PEM key (-----BEGIN … PRIVATE KEY-----)");
  return null;
}

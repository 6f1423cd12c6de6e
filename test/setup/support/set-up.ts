/** The set-up routes on a port of their own, a fake GitHub to convert codes, and a browser that keeps its cookie. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { setupRoutes } from "../../../src/edges/http/setup-routes.ts";
import { SetupSessions } from "../../../src/edges/http/setup-session.ts";
import { GitHubConnection } from "../../../src/github/connection.ts";
import { Setup } from "../../../src/services/setup.ts";
import { FakeGitHub } from "../../fake-github/fake-github.ts";
import { recordedLog } from "../../harness/recorded-log.ts";

export const ADMIN_TOKEN = "lh_the_admin_token_of_the_set_up_tests";

export async function startSetUp(options: { envFile?: string; apiUrl?: string } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-setup-"));
  const envFile = join(folder, options.envFile ?? ".env");
  const github = await FakeGitHub.start();
  const logged = recordedLog();
  const connection = new GitHubConnection({ baseUrl: options.apiUrl ?? github.url, log: logged.log });
  const setup = new Setup({ github: connection, log: logged.log, envFile });
  const sessions = new SetupSessions();
  const server = Fastify();
  await server.register(async (scope) =>
    setupRoutes(scope, { log: logged.log }, { setup, setupSessions: sessions, adminToken: ADMIN_TOKEN }),
  );
  const address = await server.listen({ host: "127.0.0.1", port: 0 });
  return {
    address,
    envFile,
    github,
    connection,
    sessions,
    logged,
    browser: () => new Browser(address),
    /** A browser that came with the start-up message's link. */
    admitted: async () => {
      const browser = new Browser(address);
      await browser.get(`/setup?code=${sessions.issueCode()}`);
      return browser;
    },
    stop: async () => {
      await server.close();
      await github.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
export type SetUp = Awaited<ReturnType<typeof startSetUp>>;

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Follows no redirects by itself: a test says when it does. */
export class Browser {
  readonly #address: string;
  cookie: string | null = null;

  constructor(address: string) {
    this.#address = address;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Seen> {
    return this.#send(path, { headers });
  }

  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Seen> {
    return this.#send(path, {
      method: "POST",
      headers: { origin: this.#address, ...headers },
      body: new URLSearchParams(fields),
    });
  }

  async #send(path: string, init: RequestInit): Promise<Seen> {
    const headers = new Headers(init.headers);
    if (!headers.has("accept")) headers.set("accept", "text/html,application/xhtml+xml");
    if (this.cookie !== null) headers.set("cookie", this.cookie);
    const response = await fetch(this.#address + path, { ...init, headers, redirect: "manual" });
    const set = response.headers.get("set-cookie");
    if (set !== null) this.cookie = set.split(";", 1)[0] ?? null;
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
}

const unescaped = (text: string): string =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/** The form of a page that leads to GitHub: where it goes, with which state and manifest. */
export function handOff(page: Seen) {
  const action = unescaped(/<form method="post" action="(http[^"]+)"/.exec(page.text)?.[1] ?? "");
  const manifest = unescaped(/name="manifest" value="([^"]+)"/.exec(page.text)?.[1] ?? "null");
  const url = new URL(action);
  return {
    url: url.origin + url.pathname,
    state: url.searchParams.get("state") ?? "",
    manifest: JSON.parse(manifest) as Record<string, unknown>,
  };
}

/** Goes through the form up to GitHub, and answers the address that GitHub sends the browser back to. */
export async function registerOnGitHub(setUp: SetUp, browser: Browser): Promise<string> {
  const page = await browser.post("/setup/start", {
    account: "personal",
    publicUrl: "https://leasehold.example.com",
  });
  const code = setUp.github.manifestCode();
  return `/setup/callback?code=${code}&state=${encodeURIComponent(handOff(page).state)}`;
}

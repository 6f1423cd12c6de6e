/** `leasehold token …`: API tokens are made, listed and revoked. */

import { parseArgs } from "node:util";
import type { Api } from "./api.ts";
import { type Command, UsageError } from "./command.ts";

interface Token {
  readonly id: string;
  readonly name: string;
  readonly token?: string;
  readonly capabilities: readonly string[];
  readonly repos: readonly string[] | null;
  readonly scope: {
    readonly rootIds: readonly string[] | null;
    readonly tagsInclude: readonly string[] | null;
  };
  readonly githubLogin: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
}

const list = (values: readonly string[] | undefined): string[] | undefined =>
  values?.flatMap((value) => value.split(",")).filter((value) => value !== "");

const create: Command = {
  usage:
    "token create <name> --can read,claim [--repo owner/name]… [--root repo/owner/name/mem/backlog/issue-1]… " +
    "[--tag team:red]… [--login name] [--days 90 | --expires 2027-01-01T00:00:00Z]",
  summary: "Make an API token; standard output is the token alone, this once",
  run: async (args, { api, out }) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        can: { type: "string", multiple: true },
        repo: { type: "string", multiple: true },
        root: { type: "string", multiple: true },
        tag: { type: "string", multiple: true },
        login: { type: "string" },
        days: { type: "string" },
        expires: { type: "string" },
      },
    });
    const [name, ...more] = positionals;
    if (name === undefined || more.length > 0) throw new UsageError("token create takes one name");
    const capabilities = list(values.can);
    if (!capabilities?.length)
      throw new UsageError("say what it may do: --can, with some of read,claim,write,advance,author,admin");
    const made = (await api.call("POST", "/api/v1/tokens", {
      name,
      capabilities,
      repos: list(values.repo),
      scope: { rootIds: list(values.root), tagsInclude: list(values.tag) },
      githubLogin: values.login,
      expiresAt: endOf(values),
    })) as Token;
    out(made.token ?? "");
    return 0;
  },
};

const DAY_MS = 86_400_000;

function endOf({
  days,
  expires,
}: {
  days?: string | undefined;
  expires?: string | undefined;
}): string | undefined {
  if (days === undefined) return expires;
  if (expires !== undefined) throw new UsageError("either --days or --expires");
  if (!/^[1-9]\d{0,4}$/.test(days))
    throw new UsageError(`--days is "${days}": a whole number of days is needed`);
  return new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}

async function* all(api: Api, revoked: boolean): AsyncGenerator<Token> {
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: "100", revoked: String(revoked) });
    if (cursor !== null) query.set("cursor", cursor);
    const page = (await api.call("GET", `/api/v1/tokens?${query}`)) as {
      tokens: Token[];
      nextCursor: string | null;
    };
    yield* page.tokens;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

function describe({ id, name, capabilities, repos, scope, ...token }: Token): string {
  const reach = [
    repos === null ? "every repository" : repos.join(", "),
    ...(scope.rootIds === null ? [] : [`below ${scope.rootIds.join(", ")}`]),
    ...(scope.tagsInclude === null ? [] : [`tagged ${scope.tagsInclude.join(" or ")}`]),
  ].join("; ");
  const life = [
    token.lastUsedAt === null ? "never used" : `used ${token.lastUsedAt}`,
    ...(token.expiresAt === null ? [] : [`expires ${token.expiresAt}`]),
    ...(token.revokedAt === null ? [] : [`revoked ${token.revokedAt}`]),
    ...(token.githubLogin === null ? [] : [`of @${token.githubLogin}`]),
  ].join(", ");
  return `${id}  ${name}  ${capabilities.join(",")}\n    ${reach}; ${life}`;
}

const listAll: Command = {
  usage: "token list [--revoked]",
  summary: "List the API tokens, the newest first, without their secrets",
  run: async (args, { api, out }) => {
    const { values } = parseArgs({
      args: [...args],
      options: { revoked: { type: "boolean", default: false } },
    });
    for await (const token of all(api, values.revoked)) out(describe(token));
    return 0;
  },
};

const revoke: Command = {
  usage: "token revoke <id>",
  summary: "Revoke an API token, at once and for good",
  run: async (args, { api, out }) => {
    const [id, ...more] = args;
    if (id === undefined || more.length > 0) throw new UsageError("token revoke takes one id, of token list");
    const { name } = (await api.call("DELETE", `/api/v1/tokens/${encodeURIComponent(id)}`)) as Token;
    out(`revoked ${id} (${name})`);
    return 0;
  },
};

export const TOKEN_COMMANDS: Readonly<Record<string, Command>> = {
  "token create": create,
  "token list": listAll,
  "token revoke": revoke,
};

/** Callers with API tokens of their own. */

import type { ApiClient } from "./api-client.ts";

export interface TokenAsked {
  readonly name?: string;
  readonly capabilities?: readonly string[];
  readonly repos?: readonly string[];
  readonly scope?: { readonly rootIds?: readonly string[]; readonly tagsInclude?: readonly string[] };
  readonly githubLogin?: string;
  readonly expiresAt?: string;
}

export interface MadeToken {
  readonly id: string;
  readonly token: string;
  readonly actor: string;
  /** Sends under the token. */
  readonly api: ApiClient;
}

/** Makes a token through the API, as an admin does; without `capabilities` it may do all but administer. */
export async function makeToken(admin: ApiClient, asked: TokenAsked = {}): Promise<MadeToken> {
  const body = { name: "a worker", capabilities: ["read", "claim", "write", "advance", "author"], ...asked };
  const answer = await admin.send("POST", "/api/v1/tokens", { body });
  if (answer.status !== 201) throw new Error(`no token: ${answer.status} ${JSON.stringify(answer.body)}`);
  const { id, token } = answer.body as { id: string; token: string };
  return { id, token, actor: `token/${id}`, api: admin.with({ token }) };
}

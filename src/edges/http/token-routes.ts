/** API tokens: made, listed and revoked. */

import {
  CreatedToken,
  CreateToken,
  TokenBody,
  TokenParams,
  TokensAnswer,
  TokensQuery,
} from "../../contract/tokens.ts";
import type { Deps } from "../../services/deps.ts";
import { createToken, revoke, tokens } from "../../services/tokens.ts";
import { keyed } from "./once-of.ts";
import { KEYED_CODES, refusing } from "./refusals.ts";
import { KeyHeaders, type Routes } from "./route-schemas.ts";

const PATH = "/api/v1/tokens";
const tags = ["Tokens"];

export function tokenRoutes(app: Routes, deps: Deps): void {
  app.post(
    PATH,
    {
      config: { capability: "admin" },
      schema: {
        operationId: "createToken",
        summary: "Make an API token; its secret is shown this once",
        description:
          "Stored as a hash only: keep the secret. Capabilities say what it may do; `repos` and `scope` what it may see and touch.",
        tags,
        headers: KeyHeaders,
        body: CreateToken,
        response: { 201: CreatedToken, ...refusing("validation_failed", "idempotency_mismatch") },
      },
    },
    async (request, reply) => {
      const made = await keyed(
        deps,
        request,
        reply,
        (inside) => createToken(inside, request.caller, request.body),
        // Secrets are never kept: asked again under the same key, the answer lacks it.
        ({ token: _secret, ...answer }) => ({ status: 201, answer }),
      );
      return reply.code(201).send(made);
    },
  );
  app.get(
    PATH,
    {
      config: { capability: "admin" },
      schema: {
        operationId: "listTokens",
        summary: "API tokens, the newest first, without their secrets",
        description: "With when each was used last, to the minute.",
        tags,
        querystring: TokensQuery,
        response: { 200: TokensAnswer, ...refusing("validation_failed") },
      },
    },
    async (request) => tokens(deps, request.query),
  );
  app.delete(
    `${PATH}/:id`,
    {
      config: { capability: "admin" },
      schema: {
        operationId: "revokeToken",
        summary: "Revoke a token: at once and for good",
        description:
          "Its event streams end, and what waits in line under it is called off. Revoking again answers the same.",
        tags,
        params: TokenParams,
        headers: KeyHeaders,
        response: { 200: TokenBody, ...refusing(...KEYED_CODES) },
      },
    },
    async (request, reply) => {
      const answer = await keyed(deps, request, reply, (inside) =>
        revoke(inside, request.caller, request.params.id),
      );
      deps.callers.forget();
      void deps.watch.look();
      return answer;
    },
  );
}

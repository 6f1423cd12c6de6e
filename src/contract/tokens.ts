/** API tokens over HTTP: the names of api.md. */

import { z } from "zod";
import { Capability } from "./capability.ts";
import { RepoName } from "./repo-name.ts";
import { pageLimit, text } from "./text.ts";

const time = z.iso.datetime({ precision: 3 });

/** An empty list could be read as nothing or as everything. */
const atLeastOne = <T extends z.ZodType>(of: T, most: number, all: string) =>
  z
    .array(of)
    .min(1, { error: `name at least one, or leave it out for ${all}` })
    .max(most, { error: `at most ${most}` });

const RootId = text(400).min(1).meta({ example: "repo/acme/widgets/mem/backlog/issue-12" });
const ScopeTag = text(200).min(1).meta({ example: "team:red" });
const LOGIN_RULE = "a login on GitHub, without @";

export const CreateToken = z
  .strictObject({
    name: text(100).min(1, { error: "not empty" }).meta({ description: "Who uses it, for people" }),
    capabilities: z.array(Capability).min(1, { error: "name at least one" }).max(20),
    repos: atLeastOne(RepoName, 1000, "every repository").nullable().default(null),
    scope: z
      .strictObject({
        rootIds: atLeastOne(RootId, 1000, "every item").nullable().default(null),
        tagsInclude: atLeastOne(ScopeTag, 100, "every tag").nullable().default(null),
      })
      .nullable()
      .default(null)
      .meta({ description: "Both must hold where both are given" }),
    githubLogin: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?$/, { error: LOGIN_RULE })
      .nullable()
      .default(null)
      .meta({ description: "Whose comments show that the bearer of this token still works" }),
    expiresAt: z.iso.datetime({ offset: true, error: "a time in ISO 8601" }).nullable().default(null),
  })
  .meta({ id: "CreateToken" });
export type CreateToken = z.output<typeof CreateToken>;

export const TokenBody = z
  .object({
    id: z.string().meta({ description: "The actor of what it writes is token/<id>" }),
    name: z.string(),
    capabilities: z.array(z.string()),
    repos: z.array(z.string()).nullable(),
    scope: z.object({
      rootIds: z.array(z.string()).nullable(),
      tagsInclude: z.array(z.string()).nullable(),
    }),
    githubLogin: z.string().nullable(),
    createdBy: z.string(),
    createdAt: time,
    expiresAt: time.nullable(),
    revokedAt: time.nullable(),
    lastUsedAt: time.nullable().meta({ description: "To the minute" }),
  })
  .meta({ id: "Token" });
export type TokenBody = z.infer<typeof TokenBody>;

export const CreatedToken = TokenBody.extend({
  token: z.string().optional().meta({
    description: "The secret, this once: it is stored nowhere, and an answer given again lacks it",
    example: "lh_…",
  }),
}).meta({ id: "CreatedToken" });
export type CreatedToken = z.infer<typeof CreatedToken>;

export const TokensQuery = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: pageLimit(50),
  revoked: z
    .enum(["true", "false"], { error: "true or false" })
    .default("false")
    .meta({ description: "true: also those that were revoked" }),
});

export const TokensAnswer = z
  .object({ tokens: z.array(TokenBody), nextCursor: z.string().nullable() })
  .meta({ id: "Tokens" });
export type TokensAnswer = z.infer<typeof TokensAnswer>;

export const TokenParams = z.object({ id: z.guid({ error: "the id of a token, as the list answers it" }) });

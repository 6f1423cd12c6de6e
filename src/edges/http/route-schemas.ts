/** What the routes share: parameters, and the headers of writes. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { RecordId, Topic } from "../../contract/memory.ts";

/** A Fastify scope whose routes are typed by their zod schemas. */
export type Routes = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

const nameError = { error: "1 to 100 of the characters A-Z a-z 0-9 . _ -" };
export const RepoParams = z.object({
  owner: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/, nameError),
  repo: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/, nameError),
});

export const ItemParams = RepoParams.extend({
  number: z
    .string()
    .regex(/^[1-9][0-9]{0,9}$/, { error: "the number of an issue" })
    .transform(Number)
    .refine((number) => number <= 2_147_483_647, { error: "the number of an issue" }),
});

export const TopicParams = RepoParams.extend({ topic: Topic });
export const RecordParams = TopicParams.extend({ id: RecordId });

/** Every write takes a key under which it happens once. */
export const KeyHeaders = z.object({
  "idempotency-key": z
    .guid({ error: "Idempotency-Key is a UUID, a new one for each request" })
    .optional()
    .meta({ description: "For 24 hours the first success is answered again, and nothing is done twice" }),
});

/** The token travels in a header on every write but the claim calls themselves. */
export const FenceHeaders = KeyHeaders.extend({
  "fencing-token": z
    .string()
    .regex(/^[1-9][0-9]{0,15}$/, { error: "Fencing-Token is a whole number, as the grant answered it" })
    .transform(Number)
    .refine(Number.isSafeInteger, { error: "Fencing-Token is a whole number, as the grant answered it" })
    .optional()
    .meta({ description: "The token of the claim under which this is written" }),
});

export const repositoryName = ({ owner, repo }: { owner: string; repo: string }) => ({ owner, name: repo });

/** The OpenAPI document: what the routes declare, with the refusals of each, and an example of every body. */

import fastifySwagger, { type FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import type { Capability } from "../../contract/capability.ts";
import { EXAMPLES } from "../../contract/examples/all.ts";
import { problemExample } from "../../contract/examples/problems.ts";
import type { ProblemCode } from "../../contract/problem.ts";
import { allRefusals, isRefusal } from "./refusals.ts";
import type { Routes } from "./route-schemas.ts";

type Transform = NonNullable<FastifyDynamicSwaggerOptions["transform"]>;
type TransformObject = NonNullable<FastifyDynamicSwaggerOptions["transformObject"]>;

const DESCRIPTION = `Makes a repository's issues safe for many workers to drain at once.

A worker claims an item, gets a lease and a **fencing token**, and sends the token with every write. Losing a race is an
answer, not an error; what is refused is answered as \`application/problem+json\` with a \`code\`, and says what to do next.
Writes take an \`Idempotency-Key\`, under which they happen once.`;

/** Registers the document; it is at \`app.swagger()\` when all routes are. */
export async function describeApi(app: Routes, version: string): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: "3.1.0",
      info: { title: "Leasehold", version, description: DESCRIPTION },
      tags: [
        { name: "Backlog", description: "Items: what is ready, what hangs on what, and proposing more" },
        { name: "Claims", description: "Leases on items, with fencing tokens" },
        { name: "Finishing", description: "Completing, parking, and moving items by triggers" },
        { name: "Memory", description: "What workers know and leave for each other" },
        { name: "Claims on memory", description: "Leases on memory records, by the same five calls" },
        { name: "Resources", description: "What items hold outside the code, one at a time" },
        { name: "Events", description: "What happens, as it happens" },
        { name: "Tokens", description: "Who may call, and what they may see and do" },
        {
          name: "Operations",
          description: "Health, the repositories that are known, and what GitHub was not told yet",
        },
      ],
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
      security: [{ token: [] }],
    },
    transform,
    transformObject,
  });
}

/** Where the codes of a refusal wait in the document until they become examples. */
const CODES = "x-codes";

/** Adds the refusals that every route of its kind has, and remembers the codes of each status. */
const transform: Transform = (document) => {
  const { schema, route } = document;
  if (!schema || schema.hide) return jsonSchemaTransform(document as never) as ReturnType<Transform>;
  const refusals = allRefusals({
    response: schema.response,
    isApi: route.config?.capability !== undefined,
    hasBody: schema.body !== undefined,
  });
  const needed = needOf(route.config?.capability, schema.description);
  const answers = Object.entries((schema.response ?? {}) as object).filter(
    ([, answer]) => !isRefusal(answer),
  );
  const response = { ...Object.fromEntries(answers), ...refusals };
  const made = jsonSchemaTransform({ ...document, schema: { ...schema, ...needed, response } } as never) as {
    schema: { response: Record<string, { content?: Record<string, object> }> };
    url: string;
  };
  for (const [status, { codes }] of Object.entries(refusals)) {
    const content = made.schema.response[status]?.content;
    for (const [type, media] of Object.entries(content ?? {})) {
      if (content) content[type] = { ...media, [CODES]: codes };
    }
  }
  return made as unknown as ReturnType<Transform>;
};

/** Says of each call what a token must be able to do. */
function needOf(capability: Capability | undefined, description = ""): Record<string, string> {
  if (capability === undefined) return {};
  const needs = `A token needs the capability \`${capability}\`.`;
  return { description: description ? `${description} ${needs}` : needs, "x-capability": capability };
}

interface Media {
  schema?: Schema;
  examples?: Record<string, { summary?: string; value: unknown }>;
  [CODES]?: readonly ProblemCode[];
}
interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
}
interface Operation {
  parameters?: { readonly in: string }[];
  requestBody?: { content?: Record<string, Media> };
  responses?: Record<string, { content?: Record<string, Media> }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
}

const PLACES = ["path", "query", "header"];

/** Gives every body its examples, and leaves out the schemas that nothing refers to. */
const transformObject: TransformObject = (input) => {
  const document = jsonSchemaTransformObject(input as never) as unknown as Document;
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
    // As they are read; and generators that must tell two of one name apart leave the first its name.
    operation.parameters?.sort((a, b) => PLACES.indexOf(a.in) - PLACES.indexOf(b.in));
    const bodies = [operation.requestBody, ...Object.values(operation.responses ?? {})];
    for (const media of bodies.flatMap((body) => Object.values(body?.content ?? {}))) addExamples(media);
  }
  const used = reachable(document);
  const schemas = Object.entries(document.components.schemas).filter(([name]) => used.has(name));
  document.components.schemas = Object.fromEntries(schemas);
  return document as never;
};

function addExamples(media: Media): void {
  const codes = media[CODES];
  delete media[CODES];
  const found = codes
    ? codes.map((code) => [code, { value: problemExample(code) }] as const)
    : namesOf(media.schema).flatMap((name) =>
        (EXAMPLES[name] ?? []).map(({ title, value }) => [title, { value }] as const),
      );
  if (found.length > 0) media.examples = Object.fromEntries(found);
}

/** The schemas that a body may be, by the names that the code gives them. */
function namesOf(schema: Schema | undefined): string[] {
  if (schema?.anyOf) return schema.anyOf.flatMap(namesOf);
  const name = schema?.$ref?.split("/").at(-1);
  if (name === undefined) return [];
  // What goes in is another component than what comes out.
  return [name in EXAMPLES ? name : name.replace(/Input$/, "")];
}

function reachable(document: Document): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      const name = key === "$ref" ? String(part).split("/").at(-1) : undefined;
      if (name === undefined) visit(part);
      else if (!found.has(name)) {
        found.add(name);
        visit(document.components.schemas[name]);
      }
    }
  };
  visit(document.paths);
  return found;
}

/** docs/configuration.md, made from the schema: its tables of keys cannot fall behind. */

import { z } from "zod";
import { Configuration } from "../src/contract/configuration.ts";

export const PAGE = "docs/configuration.md";

/** Stands in the page, and a test parses it. */
export const EXAMPLE = `# .github/leasehold.yml
enroll: labeled

labels:
  backlog: backlog
  needs-specification: needs-specification
  stale: stale

# Accounts that GitHub calls users, and that are machines.
agents:
  - acme-worker

defaults:
  priority: P2
  phase: implementation
  baseBranch: main
  homeRegion: local
  type: feat

poisonThreshold: 3
quarantineSeconds: 900
requireAnchors: false
refuseClaimsWhenMirrorOlderThanSeconds: 3600

resources:
  staging-db:
    mode: exclusive
    ttlSeconds: 1800
    description: The one staging database; migrations run there.
  api-quota:
    mode: advisory

traits:
  needs-staging:
    resources:
      staging-db:
        mode: exclusive
        ttlSeconds: 900

oidc:
  repo:acme/widgets:ref:refs/heads/main: [read, claim]
`;

interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
}

/** What stands for the names that the file itself chooses below a key. */
const CHOSEN: Readonly<Record<string, string>> = { resources: "<key>", traits: "<name>", oidc: "<sub>" };

/** A row for the key, if it is one to explain, and for each key below it. */
function rowsOf(path: string, schema: JsonSchema): string[] {
  const rows =
    schema.description === undefined
      ? []
      : [`| \`${path}\` | ${typeOf(schema)} | ${defaultOf(schema)} | ${schema.description} |`];
  for (const [key, below] of Object.entries(schema.properties ?? {}))
    rows.push(...rowsOf(`${path}.${key}`, below));
  const chosen = CHOSEN[path.split(".").at(-1) ?? ""];
  if (chosen !== undefined && typeof schema.additionalProperties === "object")
    rows.push(...rowsOf(`${path}.${chosen}`, schema.additionalProperties));
  return rows;
}

function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
  switch (schema.type) {
    case "integer":
      return `${schema.minimum} to ${schema.maximum}`;
    case "string":
      return `text, to ${schema.maxLength} characters`;
    case "boolean":
      return "`true`, `false`";
    case "null":
      return "`null`";
    case "array": {
      const items = schema.items ? typeOf(schema.items) : "";
      return `list, to ${schema.maxItems}, of ${items}`;
    }
    case "object":
      return "keys";
    default:
      throw new Error(`no words for the type ${schema.type}`);
  }
}

const defaultOf = ({ default: value }: JsonSchema): string =>
  value === undefined || JSON.stringify(value) === "{}"
    ? ""
    : `\`${JSON.stringify(value).replaceAll('"', "")}\``;

/** The whole page. */
export function configurationPage(): string {
  const schema = z.toJSONSchema(Configuration, { io: "input" }) as JsonSchema;
  const rows = Object.entries(schema.properties ?? {}).flatMap(([key, below]) => rowsOf(key, below));
  return `${BEFORE}
| Key | Value | Default | Meaning |
|---|---|---|---|
${rows.join("\n")}

${AFTER}`;
}

const BEFORE = `<!-- Made by \`npm run docs:configuration\`: change scripts/configuration-page.ts or the schema, not this file. -->

# Configuration

\`.github/leasehold.yml\` on the repository's default branch. Every key has a default; without the file all defaults
hold. It is YAML of at most 32,768 bytes.

## Keys
`;

const AFTER = `A key with nothing behind it has its default. A key that is not listed here is refused: a misspelt guard would be
none.

## An example

\`\`\`yaml
${EXAMPLE}\`\`\`

## When it is read

- When the App is installed or added to the repository, and whenever the repository is read from the start.
- On every push to the default branch that changes the file, or may have: a forced push, one that makes the branch,
  one of 2,048 commits or more, of which GitHub leaves some out.
- When another branch becomes the default.

It is read as it is on the default branch at that moment. A symbolic link is followed by GitHub, but a change behind it
is not noticed.

A file that is deleted leaves the defaults, by the rules below. A file that is not valid changes nothing: the settings
stay as they were, and \`GET /health\` says under \`config\` what is wrong, with line and column, until it is mended.

## What needs a human

A change that loosens a guard takes effect only when a human pushed or merged it: an account of type \`User\` with
triage rights or more, which \`agents\`, as it was before, does not list. The rest of the file holds at once. What is
held back keeps its old value, and \`GET /health\` lists it under \`config\`.

| Key | Loosened by |
|---|---|
| \`enroll\` | \`labeled\` becoming \`all\`: issues that nobody enrolled would be offered |
| \`labels\` | any other name (upper and lower case are the same) |
| \`agents\` | an entry taken away, or added: whoever is listed also parks and closes nothing any more |
| \`poisonThreshold\` | raising it |
| \`quarantineSeconds\` | shortening it |
| \`requireAnchors\` | \`true\` becoming \`false\` |
| \`refuseClaimsWhenMirrorOlderThanSeconds\` | raising it, or \`null\` |
| \`resources\` | an exclusive key made advisory, or its time shortened; a key that is not listed is exclusive for 3,600 s |
| \`traits\` | a resource taken away from a trait, made advisory, or its time shortened or no longer its own |
| \`oidc\` | a subject or a capability added |

\`defaults\` guard nothing: they can be set on each item as well.

- **To let it take effect**, such a human pushes or merges any change of the file, for the whole file as it then is.
  Merging an agent's pull request is enough. A merge queue's or a bot's merge is nobody's, and so is a push with a
  deploy key of somebody else.
- **Nobody known** pushed what is found when the repository is read again, when the default branch changes, or when a
  later push went over it: that is held back, too.
- **The first file** is taken as it is found: whoever installed the App accepted it. If it is not valid the defaults
  hold, and what mends it is a change like any other. A file that is first pushed later is one, too.
- Keep one human out of \`agents\`: nobody who is listed can take an entry away again.

## What a change does

- **Labels.** Leasehold makes the new ones. Items stay what they are: those that are enrolled, wait for a human, or are
  parked get the new label. The old ones stay on GitHub, without a meaning. Nobody is admitted or unparked by it: an
  item that shows the new \`needs-specification\` label is not admitted any more, and an issue that shows an old one
  is not when it becomes an item. What people did to the new label before it was ours decides nothing. Then the
  repository is read again, for issues that have the new \`backlog\` label already.
- **\`enroll\`.** \`all\` makes an item of every open issue; those not opened by a human with triage rights wait for
  admission. Back to \`labeled\`, those without the label are items no more; nothing of them is forgotten.
- **\`agents\`.** Counts for what is done from then on. Who was admitted or unparked by somebody who is an agent now
  stays so; add \`needs-specification\` where that was wrong.
- **\`defaults\`.** Fill what is missing when an issue becomes an item. Items are not changed; only the priority of one
  without a priority label follows, at its next event.
- **\`poisonThreshold\`, \`quarantineSeconds\`.** Count from the next judgement on. With a lower threshold the next
  sweep parks what is at or over it; a higher one unparks nothing.
`;

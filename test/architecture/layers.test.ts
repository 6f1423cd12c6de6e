/**
 * Imports go downward only: wiring -> edges -> services -> store and github -> contract -> domain.
 * The tables are the rules; whatever breaks one is named with the file, the import and the rule.
 */

import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { importsOf, withoutComments } from "./imports.ts";
import { filesBelow, ROOT } from "./source-files.ts";

interface Layer {
  readonly name: string;
  readonly files: RegExp;
  /** What of `src` it may import. */
  readonly imports: readonly RegExp[];
  /** The only packages it may import; left out: any that `PACKAGES` does not keep from it. */
  readonly packages?: readonly string[];
  /** It may import what Node itself brings along. */
  readonly node: boolean;
}

const DOMAIN = /^src\/domain\//;
const CONTRACT = /^src\/contract\//;
const STORE = /^src\/store\//;
const GITHUB = /^src\/github\//;
const SERVICES = /^src\/services\//;
const EDGES = /^src\/edges\//;
const POSTGRES = /^src\/postgres\//;

/** The first layer whose `files` fit is the file's. */
const LAYERS: readonly Layer[] = [
  // Pure rules: data in, decisions out.
  { name: "domain", files: DOMAIN, imports: [DOMAIN], packages: ["picomatch"], node: false },
  // What goes over the wire, and nothing that happens.
  { name: "contract", files: CONTRACT, imports: [CONTRACT, DOMAIN], packages: ["zod"], node: false },
  // The two outsides. They know nothing of each other; services bring them together.
  { name: "store", files: STORE, imports: [STORE, CONTRACT, DOMAIN], node: true },
  { name: "github", files: GITHUB, imports: [GITHUB, CONTRACT, DOMAIN], node: true },
  { name: "services", files: SERVICES, imports: [SERVICES, STORE, GITHUB, CONTRACT, DOMAIN], node: true },
  // Jobs may look into the store: the names of jobs, and whether a queue holds anything.
  {
    name: "edges/jobs",
    files: /^src\/edges\/jobs\//,
    imports: [EDGES, SERVICES, STORE, CONTRACT, DOMAIN],
    node: true,
  },
  { name: "edges", files: EDGES, imports: [EDGES, SERVICES, CONTRACT, DOMAIN], node: true },
  // The embedded PostgreSQL is a tool of its own: it knows nothing of Leasehold.
  { name: "postgres", files: POSTGRES, imports: [POSTGRES], node: true },
  // main.ts, app.ts, config.ts, log.ts and what they start with.
  { name: "wiring", files: /^src\/[^/]+$/, imports: [/^src\//], node: true },
];

/** Imports against the table above, and why each is there. */
const UPWARD: Readonly<Record<string, string>> = {};

interface PackageRule {
  readonly packages: RegExp;
  /** Who may import them. */
  readonly only: readonly RegExp[];
  readonly except: Readonly<Record<string, string>>;
}

/** Types count as well: who names a package's types is bound to the package. */
const PACKAGES: readonly PackageRule[] = [
  {
    packages: /^(?:kysely|pg)$/,
    only: [STORE],
    except: {
      "src/postgres/database.ts": "makes the database in the cluster it started: there is no store yet",
    },
  },
  {
    packages: /^(?:probot|@octokit\/.+)$/,
    only: [GITHUB],
    except: {
      "src/edges/webhooks/handlers.ts": "registers the handlers, which takes Probot's type",
    },
  },
  { packages: /^(?:fastify|fastify-.+|@fastify\/.+|@modelcontextprotocol\/.+)$/, only: [EDGES], except: {} },
  {
    packages: /^graphile-worker$/,
    only: [/^src\/edges\/jobs\//],
    except: { "src/store/migrate.ts": "its tables are migrated together with ours" },
  },
];

interface TextRule {
  readonly rule: string;
  readonly files: RegExp;
  readonly forbids: RegExp;
  readonly except: Readonly<Record<string, string>>;
}

const TEXTS: readonly TextRule[] = [
  {
    rule: "only config.ts reads the environment",
    files: /^src\//,
    forbids:
      /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|\benv\b[^=;]*\}\s*=\s*process\b|["']node:process["']/,
    except: {
      "src/config.ts": "is the one that does",
      "src/postgres/run-user.ts": "hands PATH on to PostgreSQL's own programs",
      "src/postgres/process-facts.ts": "hands the environment on to ps",
    },
  },
  {
    rule: "the domain takes time, chance and the process as facts",
    files: DOMAIN,
    forbids:
      /\bDate\s*\.\s*now\b|\bnew\s+Date\b(?!\s*\(\s*[^\s)])|(?<!\bnew\s+|[.\w])Date\s*\(|\bMath\s*\.\s*random\b|\b(?:process|performance|crypto|globalThis)\s*(?:\?\.|[.[])|=\s*process\b/,
    except: {},
  },
];

const DEPENDENCIES: ReadonlySet<string> = new Set(
  Object.keys(
    (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { dependencies: Record<string, string> })
      .dependencies,
  ),
);

const packageOf = (specifier: string): string => {
  const [scope = "", name = ""] = specifier.split("/");
  return scope.startsWith("@") ? `${scope}/${name}` : scope;
};

const anyOf = (patterns: readonly RegExp[], text: string): boolean =>
  patterns.some((pattern) => pattern.test(text));

/** Which rule the import breaks, or null. */
function brokenByImport(path: string, layer: Layer, specifier: string | null): string | null {
  if (specifier === null) return "an import names what it imports, so that it can be checked";
  if (specifier.startsWith(".")) {
    const target = posix.join(posix.dirname(path), specifier);
    if (!target.startsWith("src/")) return "src imports nothing outside of src";
    const isAllowed = anyOf(layer.imports, target) || `${path} -> ${target}` in UPWARD;
    return isAllowed ? null : `${layer.name} does not import ${target}`;
  }
  if (specifier.startsWith("/") || specifier.startsWith("#")) return "imports are relative or of a package";
  if (isBuiltin(specifier)) return layer.node ? null : `${layer.name} does not import what Node brings along`;

  const name = packageOf(specifier);
  if (!DEPENDENCIES.has(name)) return `${name} is no dependency in package.json`;
  if (layer.packages && !layer.packages.includes(name)) return `${layer.name} does not import ${name}`;
  const rule = PACKAGES.find(({ packages }) => packages.test(name));
  const isAllowed = !rule || path in rule.except || anyOf(rule.only, path);
  return isAllowed ? null : `${name} is imported elsewhere only`;
}

/** What the file breaks, a line each: the file, the import and the rule. */
function violationsOf(path: string, source: string): string[] {
  const layer = LAYERS.find(({ files }) => files.test(path));
  if (!layer) return [`${path} is in no layer: give its folder a row in LAYERS`];
  const imports = importsOf(source).flatMap((specifier) => {
    const rule = brokenByImport(path, layer, specifier);
    return rule === null ? [] : [`${path} imports ${specifier ?? "something computed"}: ${rule}`];
  });
  const code = withoutComments(source);
  const texts = TEXTS.filter((text) => text.files.test(path) && !(path in text.except)).flatMap((text) => {
    const match = text.forbids.exec(code);
    return match ? [`${path} says ${match[0]}: ${text.rule}`] : [];
  });
  return [...imports, ...texts];
}

const FILES = filesBelow("src");

describe("src", () => {
  it("imports downward only", () => {
    expect(FILES.length).toBeGreaterThan(100);
    expect(FILES.flatMap(({ path, source }) => violationsOf(path, source))).toEqual([]);
  });

  it.each(LAYERS.map((layer) => [layer.name, layer] as const))("has the layer %s", (_, layer) => {
    const own = FILES.filter(({ path }) => LAYERS.find(({ files }) => files.test(path)) === layer);
    expect(own).not.toEqual([]);
  });

  it("still needs every exception", () => {
    const source = (path: string) => FILES.find((file) => file.path === path)?.source ?? "";
    const unneeded = [
      ...Object.keys(UPWARD).filter((edge) => {
        const [path = "", target = ""] = edge.split(" -> ");
        return !importsOf(source(path)).some(
          (each) => each !== null && posix.join(posix.dirname(path), each) === target,
        );
      }),
      ...PACKAGES.flatMap(({ packages, except }) =>
        Object.keys(except).filter(
          (path) => !importsOf(source(path)).some((each) => each !== null && packages.test(packageOf(each))),
        ),
      ),
      ...TEXTS.flatMap(({ forbids, except }) =>
        Object.keys(except).filter((path) => !forbids.test(withoutComments(source(path)))),
      ),
    ];
    expect(unneeded).toEqual([]);
  });
});

describe("a planted violation is found", () => {
  it.each([
    ["src/domain/x.ts", 'import { a } from "../store/a.ts";', "domain does not import src/store/a.ts"],
    [
      "src/domain/x.ts",
      'import type { A } from "../contract/a.ts";',
      "domain does not import src/contract/a.ts",
    ],
    ["src/domain/x.ts", 'import { z } from "zod";', "domain does not import zod"],
    ["src/domain/x.ts", 'import { join } from "node:path";', "domain does not import what Node brings along"],
    ["src/domain/x.ts", 'import fs from "fs";', "domain does not import what Node brings along"],
    ["src/domain/x.ts", 'export { a } from "../services/a.ts";', "domain does not import src/services/a.ts"],
    ["src/domain/x.ts", 'export * from "../services/a.ts";', "domain does not import src/services/a.ts"],
    ["src/domain/x.ts", 'import "../log.ts";', "domain does not import src/log.ts"],
    [
      "src/domain/x.ts",
      "import {\n  a, // what's needed\n  b,\n} from '../store/a.ts';",
      "domain does not import src/store/a.ts",
    ],
    [
      "src/domain/x.ts",
      'const a = 1; import { b } from "../store/b.ts";',
      "domain does not import src/store/b.ts",
    ],
    ["src/domain/x.ts", 'import a, { type B } from"../store/b.ts"', "domain does not import src/store/b.ts"],
    ["src/domain/x.ts", 'const a = await import("../store/a.ts");', "domain does not import src/store/a.ts"],
    ["src/domain/x.ts", "const a = await import(`../store/a.ts`);", "domain does not import src/store/a.ts"],
    ["src/domain/x.ts", 'let a: import("../store/a.ts").A;', "domain does not import src/store/a.ts"],
    ["src/domain/x.ts", 'const a = require("pg");', "domain does not import pg"],
    ["src/domain/x.ts", "await import(name);", "an import names what it imports"],
    ["src/domain/x.ts", `await import(\`./\${name}.ts\`);`, "an import names what it imports"],
    ["src/domain/x.ts", 'await import("./" + name);', "an import names what it imports"],
    ["src/domain/x.ts", "const now = Date.now();", "takes time, chance and the process as facts"],
    ["src/domain/x.ts", "const now = new Date();", "takes time, chance and the process as facts"],
    ["src/domain/x.ts", "const now = new Date( );", "takes time, chance and the process as facts"],
    ["src/domain/x.ts", "const now = new Date;", "takes time, chance and the process as facts"],
    ["src/domain/x.ts", "const now = Date();", "takes time, chance and the process as facts"],
    ["src/domain/x.ts", "const die = Math.random() * 6;", "takes time, chance and the process as facts"],
    ["src/domain/x.ts", "process.exit(1);", "takes time, chance and the process as facts"],
    ["src/domain/x.ts", "const { pid } = process;", "takes time, chance and the process as facts"],
    [
      "src/contract/x.ts",
      'import { a } from "../services/a.ts";',
      "contract does not import src/services/a.ts",
    ],
    ["src/contract/x.ts", 'import { sql } from "kysely";', "contract does not import kysely"],
    [
      "src/contract/x.ts",
      'import { join } from "node:path";',
      "contract does not import what Node brings along",
    ],
    ["src/store/x.ts", 'import { a } from "../github/a.ts";', "store does not import src/github/a.ts"],
    ["src/store/x.ts", 'import { a } from "../services/a.ts";', "store does not import src/services/a.ts"],
    ["src/store/x.ts", 'import { Probot } from "probot";', "probot is imported elsewhere only"],
    ["src/github/x.ts", 'import { a } from "../store/a.ts";', "github does not import src/store/a.ts"],
    ["src/github/x.ts", 'import type { Kysely } from "kysely";', "kysely is imported elsewhere only"],
    [
      "src/services/x.ts",
      'import { a } from "../edges/http/a.ts";',
      "services does not import src/edges/http/a.ts",
    ],
    ["src/services/x.ts", 'import { a } from "../config.ts";', "services does not import src/config.ts"],
    ["src/services/x.ts", 'import type { Kysely } from "kysely";', "kysely is imported elsewhere only"],
    ["src/services/x.ts", 'import { Pool } from "pg";', "pg is imported elsewhere only"],
    [
      "src/services/x.ts",
      'import { x } from "@octokit/request-error";',
      "@octokit/request-error is imported elsewhere only",
    ],
    [
      "src/services/x.ts",
      'import type { FastifyRequest } from "fastify";',
      "fastify is imported elsewhere only",
    ],
    ["src/edges/http/x.ts", 'import { a } from "../../store/a.ts";', "edges does not import src/store/a.ts"],
    ["src/edges/mcp/x.ts", 'import { a } from "../../github/a.ts";', "edges does not import src/github/a.ts"],
    ["src/edges/http/x.ts", 'import { a } from "../../app.ts";', "edges does not import src/app.ts"],
    ["src/edges/http/x.ts", 'import type { Probot } from "probot";', "probot is imported elsewhere only"],
    [
      "src/edges/http/x.ts",
      'import { run } from "graphile-worker";',
      "graphile-worker is imported elsewhere only",
    ],
    [
      "src/edges/jobs/x.ts",
      'import { a } from "../../github/a.ts";',
      "edges/jobs does not import src/github/a.ts",
    ],
    ["src/edges/jobs/x.ts", 'import { sql } from "kysely";', "kysely is imported elsewhere only"],
    ["src/postgres/x.ts", 'import { a } from "../store/a.ts";', "postgres does not import src/store/a.ts"],
    ["src/app.ts", 'import { sql } from "kysely";', "kysely is imported elsewhere only"],
    ["src/main.ts", 'import { a } from "../test/harness/a.ts";', "src imports nothing outside of src"],
    ["src/services/x.ts", 'import { a } from "../../test/a.ts";', "src imports nothing outside of src"],
    ["src/services/x.ts", 'import { a } from "/etc/a.ts";', "imports are relative or of a package"],
    ["src/services/x.ts", 'import fc from "fast-check";', "fast-check is no dependency"],
    ["src/services/x.ts", "const port = process.env.PORT;", "only config.ts reads the environment"],
    ["src/main.ts", "const { env } = process;", "only config.ts reads the environment"],
    ["src/main.ts", 'const port = process["env"].PORT;', "only config.ts reads the environment"],
    ["src/helpers/x.ts", "", "is in no layer"],
  ])("%s: %j", (path, source, rule) =>
    expect(violationsOf(path, source)).toEqual([expect.stringContaining(rule)]),
  );

  it("each of several, each once", () => {
    const source =
      'import { a } from "../store/a.ts";\nimport { sql } from "kysely";\nexport { a } from "../store/a.ts";';
    expect(violationsOf("src/domain/x.ts", source)).toHaveLength(2);
  });
});

describe("what is allowed is not taken for a violation", () => {
  it.each([
    ["src/domain/x.ts", 'import { a } from "./a.ts";'],
    ["src/domain/x.ts", "const at = new Date(text); const copy = new Date(Date.parse(text));"],
    [
      "src/domain/x.ts",
      "// Date.now() and process.env are for others, says import a from 'b'\n/* new Date() */",
    ],
    ["src/domain/x.ts", "/**\n * import { a } from '../store/a.ts';\n */"],
    ["src/domain/x.ts", "const withDate = (at: Date) => toDate(at).process;"],
    ["src/contract/x.ts", 'import { z } from "zod";\nimport { a } from "../domain/a.ts";'],
    ["src/store/x.ts", 'import { sql } from "kysely";\nimport { Migrator } from "kysely/migration";'],
    ["src/store/x.ts", 'sql`select l.at as "from", l.target as "to" from "claim" where x = \'y\'`;'],
    ["src/github/x.ts", 'import { request } from "@octokit/request";'],
    ["src/services/x.ts", 'import { a } from "../store/a.ts";\nimport { b } from "../github/b.ts";'],
    [
      "src/edges/jobs/x.ts",
      'import { a } from "../../store/jobs.ts";\nimport { run } from "graphile-worker";',
    ],
    ["src/edges/http/x.ts", 'import fastify from "fastify";\nimport swagger from "@fastify/swagger";'],
    ["src/main.ts", 'import { a } from "./postgres/embedded.ts";\nprocess.on("SIGTERM", stop);'],
  ])("%s: %j", (path, source) => expect(violationsOf(path, source)).toEqual([]));
});

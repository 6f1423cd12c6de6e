/** Migrations: forward only, in order, and every table leads with the repository, so that it can be sharded by it. */

import { describe, expect, it } from "vitest";
import { filesBelow } from "./source-files.ts";

/** Tables whose primary key does not begin with `repository_id`, and why. */
const NOT_BY_REPOSITORY: Readonly<Record<string, string>> = {
  delivery_audit: "one row: the App has one hook, over all repositories",
  api_token: "a caller's, over all repositories",
  event_log: "one row for the database: the log is one, over all repositories",
  event_new: "waits for milliseconds for its place in the one log, in the order over all repositories",
  github_write: "counts against the limits of a GitHub account, over all its repositories",
  fence_home: "one row for the database: the token sequence is one, over all repositories",
  installation: "one for a GitHub account, over all its repositories",
  kept_answer: "an idempotency key is its caller's, over all repositories",
  replica: "one for a running process, over all repositories",
  repository: "is the repository",
};

const NAME = /^migrations\/(\d{4})_[a-z0-9]+(?:_[a-z0-9]+)*\.sql$/;

/** The text from after an opening parenthesis to its closing one. */
function upToClosing(text: string): string {
  let depth = 1;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "(") depth += 1;
    if (text[index] === ")") depth -= 1;
    if (depth === 0) return text.slice(0, index);
  }
  throw new Error("a parenthesis that nothing closes");
}

/** Each table that is created, with the first column of its primary key; null: it has none. */
function tablesOf(sql: string): [table: string, firstKeyColumn: string | null][] {
  const code = sql.replaceAll(/--[^\n]*/g, "").toLowerCase();
  const tables = code.matchAll(/\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(\w+)\s*\(/g);
  return [...tables].map((match) => {
    const columns = upToClosing(code.slice(match.index + match[0].length));
    const key = /\bprimary\s+key\s*\(\s*(\w+)/.exec(columns) ?? /(\w+)[^,(]*\bprimary\s+key\b/.exec(columns);
    return [match[1] ?? "", key?.[1] ?? null];
  });
}

const MIGRATIONS = filesBelow("migrations");
const TABLES = MIGRATIONS.flatMap(({ source }) => tablesOf(source));

describe("migrations", () => {
  it("are named by number and by what they do", () => {
    expect(MIGRATIONS.map(({ path }) => path).filter((path) => !NAME.test(path))).toEqual([]);
  });

  it("are numbered from one, without a gap and without a double", () => {
    const numbers = MIGRATIONS.map(({ path }) => Number(NAME.exec(path)?.[1]));
    expect(numbers).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });

  it("make tables whose primary keys begin with repository_id", () => {
    expect(TABLES.length).toBeGreaterThan(10);
    const others = TABLES.filter(
      ([table, first]) => first !== "repository_id" && !(table in NOT_BY_REPOSITORY),
    );
    expect(others).toEqual([]);
  });

  it("still need every exception", () => {
    const needed = TABLES.filter(([, first]) => first !== "repository_id").map(([table]) => table);
    expect(Object.keys(NOT_BY_REPOSITORY).filter((table) => !needed.includes(table))).toEqual([]);
  });
});

describe("tablesOf", () => {
  it.each<[string, [string, string | null][]]>([
    [
      "create table a (repository_id bigint, id bigint, primary key (repository_id, id));",
      [["a", "repository_id"]],
    ],
    ["create table a (id bigint primary key, repository_id bigint);", [["a", "id"]]],
    [
      "create table a (repository_id bigint, id bigint generated always as identity primary key);",
      [["a", "id"]],
    ],
    ["CREATE TABLE IF NOT EXISTS a (\n  x int,\n  PRIMARY KEY (x, repository_id)\n);", [["a", "x"]]],
    [
      "create table a (x numeric(3, 1) check (x > (0)), primary key(x)); create table b (y int);",
      [
        ["a", "x"],
        ["b", null],
      ],
    ],
    ["-- create table a (id int primary key);", []],
    ["create index a on b (c);", []],
  ])("%s", (sql, tables) => expect(tablesOf(sql)).toEqual(tables));

  it.each([
    ["migrations/0001_spine.sql", true],
    ["migrations/0012_tokens_and_scopes.sql", true],
    ["migrations/1_spine.sql", false],
    ["migrations/0001.sql", false],
    ["migrations/0001_Spine.sql", false],
    ["migrations/0001-spine.sql", false],
    ["migrations/0001_spine.down.sql", false],
    ["migrations/old/0001_spine.sql", false],
    ["migrations/readme.md", false],
  ])("%s is a migration's name: %s", (path, is) => expect(NAME.test(path)).toBe(is));
});

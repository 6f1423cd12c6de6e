/** What a person reads when the server is up: where it is, how to get in, and what to do next. */

import { styleText } from "node:util";
import type { AdminToken } from "./admin-token.ts";
import type { Config } from "./config.ts";

export interface StartFacts {
  readonly address: string;
  /** Null when an App is configured. */
  readonly setupLink: string | null;
  readonly admin: AdminToken;
  readonly config: Pick<Config, "app" | "databaseUrl" | "dataDir">;
  readonly color: boolean;
}

export function startMessage({ address, setupLink, admin, config, color }: StartFacts): string {
  const strong = (text: string) => (color ? styleText("bold", text) : text);
  const faint = (text: string) => (color ? styleText("dim", text) : text);
  const lines = [
    "",
    `  ${strong("Leasehold is up")} at ${address}`,
    "",
    `  API          ${address}/docs`,
    `  Database     ${config.databaseUrl === null ? `embedded PostgreSQL, data in ${config.dataDir}/postgres` : "DATABASE_URL"}`,
    `  Admin token  ${admin.source}`,
    ...(admin.isNew ? [`               ${admin.token}  ${faint("(shown this once)")}`] : []),
    `  GitHub App   ${config.app ? `configured (App ${config.app.appId})` : "not configured"}`,
    "",
    ...nextStep(setupLink).map((line) => `  ${line}`.trimEnd()),
    "",
  ];
  return `${lines.join("\n")}\n`;
}

function nextStep(setupLink: string | null): string[] {
  if (setupLink === null) {
    return [`Next: install the App on a repository, and put the label "backlog" on an issue.`];
  }
  return [
    "Next: register a GitHub App; this link opens the page once, within an hour:",
    "",
    `  ${setupLink}`,
    "",
    "Memory and claims on memory work meanwhile.",
  ];
}

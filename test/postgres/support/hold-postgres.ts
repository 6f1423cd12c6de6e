/*
 * Runs the launcher in a process of its own, for tests to kill. Prints a line for each thing that happens,
 * and holds PostgreSQL until it is killed.
 */
import { EmbeddedPostgresError, startEmbeddedPostgres } from "../../../src/postgres/embedded.ts";

const [dataDir = ""] = process.argv.slice(2);
const say = (event: object) => process.stdout.write(`${JSON.stringify(event)}\n`);

process.on("SIGINT", () => say({ event: "sigint" }));
try {
  const postgres = await startEmbeddedPostgres({
    dataDir,
    settings: { fsync: "off" },
    log: (message) => say({ event: "log", message }),
  });
  say({ event: "ready", url: postgres.url });
} catch (error) {
  say({ event: "refused", code: error instanceof EmbeddedPostgresError ? error.code : String(error) });
}

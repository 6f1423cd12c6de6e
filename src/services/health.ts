/** Is all well, and if not, what is wrong. */

import { CONFIGURATION_PATH } from "../contract/configuration.ts";
import type { HealthAnswer } from "../contract/operations.ts";
import { isRestricted, type View } from "../domain/scope.ts";
import type { Check, KeyRefusal } from "../github/connection.ts";
import { pingDatabase } from "../store/database.ts";
import { failedDeliveries, inboxDepth, type QueueDepth } from "../store/inbox.ts";
import { migrationState } from "../store/migrate.ts";
import { outboxDepth } from "../store/outbox-queue.ts";
import { listRepositories } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";

/** A queue whose head is older than this is stuck. */
const STUCK_SECONDS = 300;
const SHOWN_FAILURES = 20;
const SHOWN_REPOSITORIES = 1000;

/** What anybody may know; it asks the database only, so that a probe costs nothing and tells of this process. */
export async function publicHealth(deps: Deps): Promise<HealthAnswer> {
  const { version } = deps;
  if (!(await pingDatabase(deps.database))) return { status: "degraded", version };
  const [migrations, inbox, outbox] = await Promise.all([
    migrationState(deps.db),
    inboxDepth(deps.db),
    outboxDepth(deps.db),
  ]);
  const isWell =
    migrations.pending === 0 && !isStuck(inbox) && !isStuck(outbox) && deps.github.keyRefusal === null;
  return { status: isWell ? "ok" : "degraded", version };
}

const isStuck = (depth: QueueDepth): boolean => (depth.oldestSeconds ?? 0) > STUCK_SECONDS;

/** GitHub may hang; whoever asks about health does not. */
const CHECK_MS = 2000;

async function checkGitHub({ github }: Deps): Promise<Check> {
  const { promise: late, resolve } = Promise.withResolvers<Check>();
  const detail = `no answer within ${CHECK_MS} ms`;
  const timer = setTimeout(() => resolve({ status: "unreachable", detail }), CHECK_MS);
  const check = await Promise.race([github.check(), late]);
  clearTimeout(timer);
  return check;
}

const keyProblem = ({ since, message }: KeyRefusal): string =>
  `GitHub refuses the App's private key since ${since.toISOString()} (${message}): make a new one in the App's settings ` +
  "on GitHub and put it where the old one is kept (PRIVATE_KEY_PATH, or PRIVATE_KEY in .env); it is taken up by itself " +
  "within half a minute, and deliveries are kept until then";

/**
 * The whole picture, for callers with a token; of repositories, those that the caller may see. Which deliveries failed,
 * and why, is for who may see all.
 */
export async function health(deps: Deps, view: View): Promise<HealthAnswer> {
  const { version } = deps;
  if (!(await pingDatabase(deps.database))) {
    const problems = ["PostgreSQL does not answer: see the server's log, and DATABASE_URL if it is set"];
    return { status: "degraded", version, database: "unreachable", problems };
  }
  const [migrations, inbox, failures, outbox, github, repos] = await Promise.all([
    migrationState(deps.db),
    inboxDepth(deps.db),
    isRestricted(view) ? [] : failedDeliveries(deps.db, SHOWN_FAILURES),
    outboxDepth(deps.db),
    checkGitHub(deps),
    listRepositories(deps.db, null, SHOWN_REPOSITORIES, view),
  ]);
  const problems: string[] = [];
  if (migrations.pending > 0)
    problems.push(`${migrations.pending} migrations are not applied: restart the server`);
  if (inbox.failed > 0)
    problems.push(
      `${inbox.failed} deliveries failed: leasehold inbox list shows why, leasehold inbox retry tries again`,
    );
  if ((inbox.oldestSeconds ?? 0) > STUCK_SECONDS)
    problems.push(`a delivery waits for ${inbox.oldestSeconds} s`);
  if (outbox.failed > 0)
    problems.push(
      `${outbox.failed} writes to GitHub were refused for good: leasehold outbox list shows why, leasehold outbox retry tries again`,
    );
  if ((outbox.oldestSeconds ?? 0) > STUCK_SECONDS)
    problems.push(`a write to GitHub waits for ${outbox.oldestSeconds} s`);
  const { keyRefusal } = deps.github;
  if (keyRefusal !== null) problems.push(keyProblem(keyRefusal));
  else if (github.status === "unreachable") problems.push(`GitHub does not answer the App: ${github.detail}`);
  for (const { owner, name, backfillError } of repos) {
    if (backfillError) problems.push(`the backfill of ${owner}/${name} does not get on: ${backfillError}`);
  }
  return {
    status: problems.length === 0 ? "ok" : "degraded",
    version,
    database: "ok",
    migrations,
    inbox: {
      ...inbox,
      failures: failures.map(({ deliveryId, event, error, failedAt }) => ({
        deliveryId,
        event,
        error,
        failedAt: failedAt.toISOString(),
      })),
    },
    outbox,
    github: github.status,
    repos: repos.map(({ owner, name, mirrorAgeSeconds, configProblems, configHeld }) => ({
      repo: `${owner}/${name}`,
      mirrorAgeSeconds,
      config: [
        ...configProblems.map(
          (problem) => `${CONFIGURATION_PATH} is not valid and changes nothing: ${problem}`,
        ),
        ...configHeld.map(
          (held) =>
            `${CONFIGURATION_PATH}: ${held}, until a human with triage rights pushes or merges a change of the file`,
        ),
      ],
    })),
    problems,
  };
}

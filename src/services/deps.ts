/** What the services need, handed down from `app.ts`: nothing is reached for globally. */

import type { Logger } from "pino";
import type { LeaseBounds } from "../domain/lease.ts";
import type { GitHubConnection } from "../github/connection.ts";
import type { WorkflowTokens } from "../github/workflow-tokens.ts";
import type { Database, Db } from "../store/database.ts";
import type { ClaimLine } from "./claim-line.ts";
import type { EventFeed } from "./event-feed.ts";
import type { KnownCallers } from "./known-callers.ts";
import type { KnownNames } from "./known-names.ts";
import type { Metrics } from "./metrics.ts";
import type { TokenWatch } from "./token-watch.ts";

export interface Deps {
  readonly database: Database;
  readonly db: Db;
  readonly github: GitHubConnection;
  readonly log: Logger;
  /** This deployment's region. */
  readonly region: string;
  readonly lease: LeaseBounds;
  /** Names this process among the replicas. */
  readonly replica: string;
  readonly version: string;
  readonly wake: Wake;
  readonly line: ClaimLine;
  readonly events: EventFeed;
  readonly metrics: Metrics;
  readonly names: KnownNames;
  readonly callers: KnownCallers;
  readonly workflows: WorkflowTokens;
  readonly watch: TokenWatch;
}

/** Hints that work is waiting; work is also found without them, only later. Called after commit. */
export interface Wake {
  inbox(): void;
  outbox(): void;
  /** Items' defects are to be looked at. */
  checks(): void;
  pulls(): void;
  anchors(): void;
  backfill(repositoryId: number): void;
}

/**
 * A request to open issues, from its first to its last step: written down, taken up again where it stopped, and ended
 * in the transaction that writes its records. Ownership stands in the `worker` of its row.
 */

import { createHash, randomUUID } from "node:crypto";
import { Problem } from "../contract/problem.ts";
import {
  type Authoring,
  endAuthoring,
  findAuthoringByBranch,
  findAuthoringByKey,
  insertAuthoring,
  lockAuthoring,
  releaseAuthoring,
  type Slot,
  secondsPaused,
  slotsOf,
  takeAuthoring,
} from "../store/authoring.ts";
import { databaseNow } from "../store/clock.ts";
import { type Db, inTransaction, type Trx } from "../store/database.ts";
import { findIssue } from "../store/mirror.ts";
import type { Repository } from "../store/repositories.ts";
import type { Caller } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { holdSettings } from "./hold-settings.ts";
import { Once } from "./once.ts";
import { archived, busy, type Scene, unavailable } from "./open-issue.ts";
import { ChangedMeanwhile } from "./settle-delivery.ts";
import { clientOf } from "./supervise-requests.ts";

/** What is asked for. */
export interface Asked {
  readonly kind: "item" | "grouping";
  readonly repository: Repository;
  readonly caller: Caller;
  readonly request: object;
  /** The epic's branch, of a grouping: it is one grouping's only. */
  readonly branch: string | null;
  /** The request's names for its issues. */
  readonly refs: readonly string[];
  readonly once: Once | null;
}

const fingerprintOf = ({ kind, request }: Asked): string =>
  createHash("sha256")
    .update(JSON.stringify([kind, request]))
    .digest("base64url");

/** Without an idempotency key the same request by the same caller stands for one, as long as it is unfinished. */
const keyOf = (asked: Asked) => ({
  repositoryId: asked.repository.id,
  actor: asked.caller.actor,
  requestKey: asked.once?.key ?? `body:${fingerprintOf(asked)}`,
});

/** Answers are kept under a UUID: the caller's, or one made of what stands for it. */
export function answerKeyOf(requestKey: string): string {
  if (!requestKey.startsWith("body:")) return requestKey;
  const digest = createHash("sha256").update(requestKey).digest("hex");
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    digest.slice(12, 16),
    digest.slice(16, 20),
    digest.slice(20, 32),
  ].join("-");
}

/** Whether this very request was accepted before and is unfinished. Then its checks were made. */
export async function isUnfinished(deps: Deps, asked: Asked): Promise<boolean> {
  const found = await findUnfinished(deps.db, asked);
  return found !== null && found.fingerprint === fingerprintOf(asked);
}

async function findUnfinished(db: Db, asked: Asked): Promise<Authoring | null> {
  const byKey = await findAuthoringByKey(db, keyOf(asked));
  if (byKey !== null || asked.branch === null) return byKey;
  return findAuthoringByBranch(db, asked.repository.id, asked.branch);
}

/** Throws the answer if the request was sent without a key, failed, and was finished since (`continue-groupings.ts`). */
export async function assertNotFinished(deps: Deps, asked: Asked): Promise<void> {
  if (asked.once !== null) return;
  const { actor, requestKey } = keyOf(asked);
  const key = { actor, key: answerKeyOf(requestKey), fingerprint: fingerprintOf(asked) };
  await new Once(deps, key, (_, answer) => JSON.stringify(answer)).assertNew();
}

/** Throws unless GitHub can be asked to open something in the repository now. */
export async function assertWritable(deps: Deps, repository: Repository): Promise<number> {
  const { installationId } = repository;
  if (deps.github.app === null || installationId === null || !repository.installed) {
    throw new Problem(
      "github_unavailable",
      "this repository is not connected to a GitHub App, so that no issue can be opened: install the App on it",
    );
  }
  if (repository.archived) throw archived(repository);
  const seconds = await secondsPaused(deps.db, installationId);
  if (seconds !== null) throw unavailable("GitHub asks to wait; send the same request again then", seconds);
  return installationId;
}

type Steps<T> = (scene: Scene, slots: ReadonlyMap<string, Slot>) => Promise<T>;

/** Works on the request until `steps` end; then it is free for whoever sends it again, and for the job that goes on. */
export async function author<T>(deps: Deps, asked: Asked, steps: Steps<T>): Promise<T> {
  const { repository } = asked;
  const installationId = await assertWritable(deps, repository);
  const worker = workerName(deps);
  const id = await begin(deps, asked, worker);
  return workOn(deps, { repository, installationId, id, worker }, steps);
}

/** Names one piece of work of this process. */
export const workerName = (deps: Deps): string => `${deps.replica}/${randomUUID()}`;

/** Works on a request that is in our hands. */
export async function workOn<T>(
  deps: Deps,
  { repository, installationId, id, worker }: Taken,
  steps: Steps<T>,
): Promise<T> {
  const work = { repositoryId: repository.id, id, worker };
  try {
    const client = await clientOf(deps, installationId);
    const slots = await slotsOf(deps.db, repository.id, id);
    return await steps(
      { repository, installationId, client, work },
      new Map(slots.map((slot) => [slot.ref, slot])),
    );
  } finally {
    // Not vital: it lapses by itself. What went wrong before is what the caller must hear of.
    await releaseAuthoring(deps.db, work).catch((error: unknown) =>
      deps.log.warn({ err: error }, "an unfinished request stays taken until it lapses"),
    );
  }
}

interface Taken {
  readonly repository: Repository;
  readonly installationId: number;
  readonly id: string;
  readonly worker: string;
}

/** Finds the unfinished request or writes down a new one, and takes it into our hands. Answers its id. */
async function begin(deps: Deps, asked: Asked, worker: string): Promise<string> {
  const repositoryId = asked.repository.id;
  const fingerprint = fingerprintOf(asked);
  return inTransaction(deps.db, async (trx) => {
    await lockAuthoring(trx, repositoryId);
    const found = await findUnfinished(trx, asked);
    if (found !== null && found.fingerprint === fingerprint) {
      if (!(await takeAuthoring(trx, { repositoryId, id: found.id, worker }))) throw busy();
      return found.id;
    }
    if (found !== null) await giveUp(trx, asked, found);
    // Finished meanwhile, by whoever had it.
    await asked.once?.assertNew();
    const id = randomUUID();
    const slots = asked.refs.map((ref) => ({ ref, mark: randomUUID() }));
    const { kind, branch, request } = asked;
    const { caller: view, once } = asked;
    const answerFingerprint = once?.fingerprint ?? fingerprint;
    const written = { ...keyOf(asked), id, kind, fingerprint, branch, request, view, answerFingerprint };
    await insertAuthoring(trx, written, slots);
    await takeAuthoring(trx, { repositoryId, id, worker });
    return id;
  });
}

/** After so long nobody comes back to a request of which GitHub confirmed nothing. */
const GIVEN_UP_AFTER_MS = 3_600_000;

/** Another request is unfinished under this key or branch. It gives way if it opened nothing, or its epic was closed. */
async function giveUp(trx: Trx, asked: Asked, found: Authoring): Promise<void> {
  const repositoryId = asked.repository.id;
  const slots = await slotsOf(trx, repositoryId, found.id);
  const now = (await databaseNow(trx)).getTime();
  const isRecent = ({ triedAt }: Slot) => triedAt !== null && now - triedAt.getTime() < GIVEN_UP_AFTER_MS;
  const isBegun = slots.some((slot) => slot.number !== null || isRecent(slot));
  const epic = slots.find(({ ref }) => ref === "")?.number ?? null;
  const mirrored = epic === null ? null : await findIssue(trx, repositoryId, epic);
  const isClosed = mirrored !== null && (mirrored.gone !== null || !mirrored.issue.open);
  if (isBegun && !isClosed) {
    if (found.branch === null || found.branch !== asked.branch) {
      throw new Problem(
        "idempotency_mismatch",
        "this Idempotency-Key was sent with another request, which is unfinished; use a new UUID for each request",
      );
    }
    const begun = epic === null ? "" : ` as #${epic}`;
    throw new Problem(
      "conflict",
      `a grouping with the branch ${found.branch} was begun${begun} and is unfinished: send that same request again to finish it, or close its epic to give it up`,
    );
  }
  if (!(await takeAuthoring(trx, { repositoryId, id: found.id, worker: "given up" }))) throw busy();
  await endAuthoring(trx, repositoryId, found.id);
}

/** The last step: writes the records and ends the request, in one transaction, in which a keyed answer is kept. */
export async function finish<T>(
  deps: Deps,
  { once }: Pick<Asked, "once">,
  scene: Scene,
  write: (inside: Deps, trx: Trx) => Promise<T>,
): Promise<T> {
  const run = (inside: Deps): Promise<T> =>
    inTransaction(inside.db, async (trx) => {
      await holdSettings(trx, scene.repository);
      if (!(await takeAuthoring(trx, scene.work))) throw busy();
      const answer = await write({ ...inside, db: trx }, trx);
      await endAuthoring(trx, scene.work.repositoryId, scene.work.id);
      return answer;
    });
  try {
    const answer =
      once === null
        ? await run(deps)
        : await once.run(async (inside) => {
            const result = await run(inside);
            return { result, kept: { status: 201, answer: result, grant: null } };
          });
    deps.wake.outbox();
    deps.wake.anchors();
    return answer;
  } catch (error) {
    if (!(error instanceof ChangedMeanwhile)) throw error;
    throw new Problem("conflict", "the configuration changed meanwhile; send the same request again", {
      retryAfterMs: 1000,
    });
  }
}

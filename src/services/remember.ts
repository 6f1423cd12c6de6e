/** Writes memory: remember (create or merge) and update (patch), both under the fence (protocol 2). */

import type { RecordAnswer, RememberRequest, UpdateRequest } from "../contract/memory.ts";
import { Problem } from "../contract/problem.ts";
import { BACKLOG, numberOfRef, type RepositoryName } from "../domain/record-key.ts";
import { malformedResource, RESOURCE_KEY_RULE } from "../domain/resources.ts";
import { isReservedTag } from "../domain/tags.ts";
import { anchorAnew } from "../store/anchors.ts";
import { inTransaction, type Trx } from "../store/database.ts";
import {
  addLinks,
  deleteRecord,
  findRecord,
  type MemoryRecord,
  type RecordLink,
  saveRecord,
} from "../store/records.ts";
import { writeRecord } from "../store/write-record.ts";
import type { Caller } from "./caller.ts";
import { type ClaimTarget, refOf } from "./claim.ts";
import type { Deps } from "./deps.ts";
import { assertEdges, removeEdges } from "./edges.ts";
import { fencedWrite, passFence, refuseByFence } from "./fenced-write.ts";
import { recordAnswer } from "./recall.ts";
import { readLinks } from "./record-links.ts";
import { repositoryForWriting } from "./repository-by-name.ts";
import { assertLanded, assertTargetsSeen } from "./sight.ts";

/** A record by its name. Its repository may not be known yet: the first write makes it. */
export interface RecordAddress {
  readonly repository: RepositoryName;
  readonly topic: string;
  readonly id: string;
}

interface RecordChange {
  readonly scalars: Pick<RememberRequest, "title" | "body" | "author" | "provenance" | "kind" | "expiresAt">;
  readonly addTags: readonly string[];
  readonly removeTags: readonly string[];
  readonly addLinks: readonly RecordLink[];
  readonly removeLinks: readonly RecordLink[];
}

/** Creates the record or merges into it: scalars given replace, tags and links add. */
export async function remember(
  deps: Deps,
  caller: Caller,
  address: RecordAddress,
  token: number | null,
  request: RememberRequest,
): Promise<{ record: RecordAnswer; created: boolean }> {
  const { tags = [], links = {}, ...scalars } = request;
  const known = await deps.names.find(deps.db, address.repository);
  if (known && isPlain(caller, address.topic, request, tags)) {
    const target = { ...address, repository: known };
    return writePlainly(deps, caller, target, token, {
      scalars,
      addTags: tags,
      removeTags: [],
      create: true,
    });
  }
  const written = await inTransaction(deps.db, async (trx) => {
    const repository = await repositoryForWriting(trx, deps, address.repository);
    const target: ClaimTarget = { ...address, repository };
    await passFence(trx, deps, caller, target, token);
    const change: RecordChange = {
      scalars,
      addTags: tags,
      removeTags: [],
      addLinks: await readLinks(trx, repository, links, "links"),
      removeLinks: [],
    };
    const before = await findRecord(trx, refOf(target));
    return { record: await write(trx, caller, target, before, change), created: before === null };
  });
  if (links.anchoredTo) deps.wake.anchors();
  return written;
}

/** Patches a record that must exist. */
export async function update(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  token: number | null,
  request: UpdateRequest,
): Promise<RecordAnswer> {
  const { tags, links: _, ...scalars } = request;
  const [addTags, removeTags] = [tags?.add ?? [], tags?.remove ?? []];
  const answer = isPlain(caller, target.topic, request, [...addTags, ...removeTags])
    ? (await writePlainly(deps, caller, target, token, { scalars, addTags, removeTags, create: false }))
        .record
    : await fencedWrite(deps, caller, target, token, (trx) => patchRecord(trx, caller, target, request));
  if (movesAnchors(request)) deps.wake.anchors();
  return answer;
}

/**
 * Whether a write is one call to the database: it has no links, which are judged here, and nothing that is refused for
 * what it says; the fence comes before such a refusal. What a scope bounds must be seen to land within it.
 */
const isPlain = (
  { scope }: Caller,
  topic: string,
  { links, expiresAt }: Pick<UpdateRequest, "links" | "expiresAt">,
  tags: readonly string[],
): boolean =>
  scope === null &&
  links === undefined &&
  !(topic === BACKLOG && (expiresAt || malformedResource(tags) !== null)) &&
  !tags.some(isReservedTag);

async function writePlainly(
  deps: Deps,
  caller: Caller,
  target: ClaimTarget,
  token: number | null,
  change: {
    readonly scalars: RecordChange["scalars"];
    readonly addTags: readonly string[];
    readonly removeTags: readonly string[];
    readonly create: boolean;
  },
): Promise<{ record: RecordAnswer; created: boolean }> {
  const create = change.create && target.topic !== BACKLOG;
  const written = await writeRecord(deps.db, {
    ref: refOf(target),
    token,
    actor: caller.actor,
    region: deps.region,
    given: change.scalars,
    addTags: change.addTags,
    removeTags: change.removeTags,
    create,
  });
  if (written.refused === undefined) {
    return { record: await recordAnswer(deps.db, target, written.record, caller), created: written.created };
  }
  if (written.refused === "expired") throw expired();
  if (written.refused === "report_ttl") throw reportWithTtl();
  if (written.refused !== "missing") refuseByFence(deps, written.refused);
  assertCreatable(target);
  throw noRecord();
}

const noRecord = (): Problem => new Problem("not_found", "there is no such record; PUT it to create it");

const reportWithTtl = (): Problem =>
  new Problem("ttl_forbidden", "a Report is the record of what happened, and never expires");

/** What is anchored is to be read: it was anchored just now, or the base branch may be another. */
export const movesAnchors = ({ tags, links }: Pick<UpdateRequest, "tags" | "links">): boolean =>
  links?.add?.anchoredTo !== undefined || tags !== undefined;

/** The patch itself, for who has passed the fence in this transaction. */
export async function patchRecord(
  trx: Trx,
  caller: Caller,
  target: ClaimTarget,
  { tags, links, ...scalars }: UpdateRequest,
): Promise<RecordAnswer> {
  const { repository } = target;
  const change: RecordChange = {
    scalars,
    addTags: tags?.add ?? [],
    removeTags: tags?.remove ?? [],
    addLinks: await readLinks(trx, repository, links?.add ?? {}, "links.add"),
    removeLinks: await readLinks(trx, repository, links?.remove ?? {}, "links.remove"),
  };
  const before = await findRecord(trx, refOf(target));
  if (before === null && target.topic !== BACKLOG) {
    throw noRecord();
  }
  return write(trx, caller, target, before, change);
}

async function write(
  trx: Trx,
  caller: Caller,
  target: ClaimTarget,
  before: MemoryRecord | null,
  change: RecordChange,
): Promise<RecordAnswer> {
  assertSettable(target, change);
  if (before === null) assertCreatable(target);
  await assertTargetsSeen(trx, caller, [...change.addLinks, ...change.removeLinks]);
  await apply(trx, caller, target, before, change);
  await assertLanded(trx, caller, refOf(target));
  const record = await findRecord(trx, refOf(target));
  // Thrown in here, so that what was there before stays.
  if (record === null) throw expired();
  return recordAnswer(trx, target, record, caller);
}

function expired(): Problem {
  const message = "lies in the past: nothing would be kept";
  return new Problem("validation_failed", `expiresAt ${message}`, {
    errors: [{ field: "expiresAt", message }],
  });
}

/** Some facts have one way in: a general write is refused, naming the right call. */
function assertSettable(target: ClaimTarget, change: RecordChange): void {
  assertUnreserved([...change.addTags, ...change.removeTags]);
  if (target.topic === BACKLOG) assertResourceKeys(change.addTags);
  if (!change.scalars.expiresAt) return;
  if (target.topic === BACKLOG) {
    throw new Problem(
      "ttl_forbidden",
      "backlog items never expire: silent expiry would starve what waits for them",
    );
  }
}

/** Throws `reserved`, naming the right call. */
export function assertUnreserved(tags: readonly string[]): void {
  const reserved = tags.find(isReservedTag);
  if (reserved === undefined) return;
  throw new Problem("reserved", `the tag ${reserved} is not set here: ${rightCall(reserved)}`);
}

/** A key that no registry can name and nobody else can spell would keep nobody apart. */
function assertResourceKeys(tags: readonly string[]): void {
  const tag = malformedResource(tags);
  if (tag === null) return;
  const message = `"${tag}": after resource: comes ${RESOURCE_KEY_RULE}`;
  throw new Problem("validation_failed", message, { errors: [{ field: "tags", message }] });
}

function rightCall(tag: string): string {
  if (tag.startsWith("priority:")) return "put the priority label on the issue";
  if (tag.startsWith("state:"))
    return "merge its pull request, close the issue as a human, or let it be parked";
  if (tag.startsWith("pr:")) return "merging the pull request records it";
  return "put the backlog label on the issue";
}

function assertCreatable(target: ClaimTarget): void {
  if (target.topic !== BACKLOG) return;
  const what = numberOfRef(target) === null ? "an item's id is issue-<number>; " : "";
  throw new Problem(
    "reserved",
    `${what}an item exists only together with its issue: open the issue on GitHub and put the backlog label on it`,
  );
}

async function apply(
  trx: Trx,
  { actor }: Caller,
  target: ClaimTarget,
  before: MemoryRecord | null,
  change: RecordChange,
): Promise<void> {
  const ref = refOf(target);
  const { scalars } = change;
  const given = <T>(value: T | undefined, otherwise: T): T => (value === undefined ? otherwise : value);
  const expiresAt = given(scalars.expiresAt, before?.expiresAt?.toISOString() ?? null);
  const kind = scalars.kind ?? before?.kind ?? "Note";
  if (kind === "Report" && expiresAt !== null) {
    throw reportWithTtl();
  }
  await assertEdges(trx, target, change.addLinks);
  // What had expired under this key must not shine through: its links go, its creation time starts anew.
  if (before === null) await deleteRecord(trx, ref, actor);
  const kept = (before?.tags ?? []).filter((tag) => !change.removeTags.includes(tag));
  await saveRecord(trx, ref, {
    kind,
    title: given(scalars.title, before?.title ?? null),
    body: given(scalars.body, before?.body ?? null),
    author: given(scalars.author, before?.author ?? null),
    provenance: given(scalars.provenance, before?.provenance ?? null),
    tags: [...new Set([...kept, ...change.addTags])],
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    writtenBy: actor,
  });
  await removeEdges(trx, ref, change.removeLinks);
  await addLinks(trx, ref, change.addLinks);
  await anchorAnew(trx, ref, change.addLinks);
}

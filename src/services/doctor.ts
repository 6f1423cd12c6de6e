/**
 * The doctor: compares what the store has of a repository with GitHub, field by field, and has it read again where asked.
 * It costs as much as a reading of everything: a request for a hundred rows, and one or two for each issue with links.
 */

import type { DoctorAnswer, Drift } from "../contract/doctor.ts";
import { Problem } from "../contract/problem.ts";
import { type FieldDrift, fieldDrift, issueFields, pullFields } from "../domain/drift.ts";
import { parseMarker } from "../domain/marker.ts";
import { listBranches } from "../github/branches.ts";
import type { Client } from "../github/connection.ts";
import { failureOf, isGitHubFailure } from "../github/failure.ts";
import { readFate } from "../github/issue-fate.ts";
import { listPullsByChange } from "../github/pull-reads.ts";
import { listComments, listIssues, listLabels, readRepositoryById } from "../github/reads.ts";
import { commentSnapshot, issueOfComment, issueSnapshot } from "../github/snapshots.ts";
import { branchHeads } from "../store/branches.ts";
import { commentsLike } from "../store/comments.ts";
import { pendingDeliveriesOf } from "../store/inbox.ts";
import { findIssue, labelsOf, presentIssues } from "../store/mirror.ts";
import { findPull } from "../store/pulls.ts";
import { findRepositoryById, type Repository } from "../store/repositories.ts";
import type { Deps } from "./deps.ts";
import { snapshotOfPull } from "./merged-pull.ts";
import { reconcileRepository } from "./reconcile.ts";
import { linkDrift } from "./sync-issue-links.ts";

const MOST_SHOWN = 1_000;

/**
 * Compares, and with `repair` reads everything again and compares once more.
 *
 * @throws Problem `conflict` where GitHub cannot be asked for the repository, `github_unavailable` when it does not answer.
 */
export async function examine(deps: Deps, repository: Repository, repair: boolean): Promise<DoctorAnswer> {
  const name = `${repository.owner}/${repository.name}`;
  if (!repository.installed || repository.installationId === null || deps.github.app === null)
    throw new Problem(
      "conflict",
      `the GitHub App is not on ${name}: there is nothing to compare the store with`,
    );
  const before = await compare(deps, repository);
  if (!repair || before.total === 0) return { ...before, repaired: repair ? 0 : null };
  await reconcileRepository(deps, repository.id, "all");
  // It may have another name now, or be archived.
  const after = await compare(deps, (await findRepositoryById(deps.db, repository.id)) ?? repository);
  return { ...after, repaired: Math.max(0, before.total - after.total) };
}

async function compare(deps: Deps, repository: Repository): Promise<Omit<DoctorAnswer, "repaired">> {
  const client = await deps.github.client(repository.installationId ?? 0);
  const visit = new Visit(deps, client, repository);
  try {
    await visit.repository();
    await visit.issues();
    await visit.comments();
    await visit.pulls();
    await visit.branches();
  } catch (error) {
    if (!isGitHubFailure(error)) throw error;
    const { message, retryAfterSeconds } = failureOf(error);
    const retry = retryAfterSeconds === null ? {} : { retryAfterMs: retryAfterSeconds * 1000 };
    throw new Problem("github_unavailable", `GitHub could not be asked: ${message}. Try again later`, retry);
  }
  return {
    repo: `${repository.owner}/${repository.name}`,
    drift: visit.drift.slice(0, MOST_SHOWN),
    total: visit.drift.length,
    compared: visit.compared,
    pendingDeliveries: await pendingDeliveriesOf(deps.db, repository.id),
  };
}

/** One comparison under way. */
class Visit {
  readonly drift: Drift[] = [];
  readonly compared = { issues: 0, comments: 0, pullRequests: 0, branches: 0 };
  readonly #deps: Deps;
  readonly #client: Client;
  readonly #at: Repository;

  constructor(deps: Deps, client: Client, at: Repository) {
    this.#deps = deps;
    this.#client = client;
    this.#at = at;
  }

  async repository(): Promise<void> {
    const found = await readRepositoryById(this.#client, this.#at.id);
    const { owner, name, defaultBranch, archived } = this.#at;
    const store = { name: `${owner}/${name}`, defaultBranch, archived };
    if (found === null) return this.#missing("repository", store.name, store.name);
    const { full_name, default_branch, archived: isArchived } = found.facts;
    this.#note("repository", store.name, store, {
      name: full_name,
      defaultBranch: default_branch ?? defaultBranch,
      archived: isArchived ?? archived,
    });
    const listed = await listLabels(this.#client, this.#at);
    const known = await labelsOf(this.#deps.db, this.#at.id);
    for (const { id, name: label } of known) {
      const there = listed.find((one) => one.id === id);
      if (there) this.#note("label", label, { name: label }, { name: there.name });
      else this.#missing("label", label, label);
    }
    for (const { id, name: label } of listed) {
      if (!known.some((one) => one.id === id)) this.#unknown("label", label, label);
    }
  }

  /** Closed issues that the mirror never heard of are none of its business. */
  async issues(): Promise<void> {
    const { db } = this.#deps;
    const seen = new Set<number>();
    for (let page = 1, full = true; full; page++) {
      const found = await listIssues(this.#client, this.#at, { since: null, page, by: "age" });
      full = found.full;
      for (const raw of found.rows.filter(({ pull_request }) => !pull_request)) {
        this.compared.issues += 1;
        seen.add(raw.number);
        const stored = await findIssue(db, this.#at.id, raw.number);
        const github = issueFields(issueSnapshot(raw));
        if (stored?.gone) this.#note("issue", `#${raw.number}`, { gone: stored.gone }, { gone: null });
        else if (stored) this.#note("issue", `#${raw.number}`, issueFields(stored.issue), github);
        else if (raw.state === "open") this.#unknown("issue", `#${raw.number}`, raw.title);
        if (stored && !stored.gone) await this.#links(raw);
      }
    }
    for (const number of await presentIssues(db, this.#at.id)) {
      if (seen.has(number)) continue;
      const fate = await readFate(this.#client, this.#at, number);
      if (fate.kind !== "there") this.#note("issue", `#${number}`, { gone: null }, { gone: fate.kind });
    }
  }

  async #links(raw: Parameters<typeof linkDrift>[3]): Promise<void> {
    for (const { relation, target, store, github } of await linkDrift(
      this.#deps,
      this.#client,
      this.#at,
      raw,
    )) {
      this.drift.push({ kind: "link", what: `#${raw.number} ${relation}`, field: target, store, github });
    }
  }

  /** Of comments only the markers decide anything. */
  async comments(): Promise<void> {
    const listed = new Map<number, { body: string; issue: number }>();
    for (let page = 1, full = true; full; page++) {
      const found = await listComments(this.#client, this.#at, { since: null, page, by: "age" });
      full = found.full;
      for (const raw of found.rows) {
        const number = issueOfComment(raw);
        if (number === null || parseMarker(raw.body ?? "") === null) continue;
        listed.set(raw.id, { body: commentSnapshot(raw, number).body, issue: number });
      }
    }
    const known = new Map(
      (await commentsLike(this.#deps.db, this.#at.id, "<!-- backlog-worker:%"))
        .filter(({ body }) => parseMarker(body) !== null)
        .map(({ id, body, issue }) => [id, { body, issue }]),
    );
    this.compared.comments = listed.size;
    for (const [id, { body, issue }] of known) {
      const github = listed.get(id);
      const what = `${id} on #${issue}`;
      if (github === undefined) this.#missing("comment", what, body);
      else this.#note("comment", what, { body, issue }, github);
    }
    for (const [id, { body, issue }] of listed) {
      if (known.has(id)) continue;
      const mirrored = await findIssue(this.#deps.db, this.#at.id, issue);
      // A comment that the mirror has as deleted, or of an issue that it never heard of, is compared with nothing.
      if (mirrored && !mirrored.gone) this.#unknown("comment", `${id} on #${issue}`, body);
    }
  }

  async pulls(): Promise<void> {
    for (let page = 1, full = true; full; page++) {
      const found = await listPullsByChange(this.#client, this.#at, page);
      full = found.full;
      for (const raw of found.rows) {
        this.compared.pullRequests += 1;
        const stored = await findPull(this.#deps.db, this.#at.id, raw.number);
        const github = snapshotOfPull(this.#at, raw);
        if (stored) this.#note("pull_request", `#${raw.number}`, pullFields(stored), pullFields(github));
        else if (raw.state === "open") this.#unknown("pull_request", `#${raw.number}`, raw.title);
      }
    }
  }

  /** Those that the mirror has: of others no push was heard. */
  async branches(): Promise<void> {
    const listed = await listBranches(this.#client, this.#at);
    for (const [name, sha] of await branchHeads(this.#deps.db, this.#at.id)) {
      this.compared.branches += 1;
      this.#note("branch", name, { head: sha }, { head: listed.get(name) ?? null });
    }
  }

  #note(kind: Drift["kind"], what: string, store: object, github: object): void {
    for (const { field, store: ours, github: theirs } of fieldDrift({ ...store }, { ...github })) {
      this.drift.push({ kind, what, field, store: json(ours), github: json(theirs) });
    }
  }

  #missing(kind: Drift["kind"], what: string, store: string): void {
    this.drift.push({ kind, what, field: "exists", store, github: null });
  }

  #unknown(kind: Drift["kind"], what: string, github: string): void {
    this.drift.push({ kind, what, field: "exists", store: null, github });
  }
}

/** `fieldDrift` answers JSON already, and the fields that are compared here are plain values and lists of them. */
const json = (value: FieldDrift["store"]): Drift["store"] => value as Drift["store"];

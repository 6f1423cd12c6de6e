/** What Leasehold reads from GitHub. Each function is one endpoint; `docs/github.md` lists them with their cost. */

import { z } from "zod";
import { GitHubComment, GitHubIssue, GitHubLabel, GitHubRepository } from "../contract/github-payloads.ts";
import { cleanJson } from "../domain/clean-text.ts";
import { PERMISSIONS, type Permission } from "../domain/human.ts";
import type { Client } from "./connection.ts";
import { isAbsent } from "./failure.ts";

/** A repository's current address. */
export interface RepoAddress {
  readonly owner: string;
  readonly name: string;
}

export const repoOf = ({ owner, name }: RepoAddress) => ({ owner, repo: name });
export const PAGE = 100;

export const parse = <T>(schema: z.ZodType<T>, data: unknown): T => schema.parse(cleanJson(data));

export async function readRepository(client: Client, repo: RepoAddress): Promise<GitHubRepository> {
  const { data } = await client.request("GET /repos/{owner}/{repo}", repoOf(repo));
  return parse(GitHubRepository, data);
}

/**
 * The repository whatever it is called now, and GitHub's time; null: it is not there, or not for the App. By its name it
 * might be another.
 */
export async function readRepositoryById(
  client: Client,
  id: number,
): Promise<{ facts: GitHubRepository; at: Date } | null> {
  try {
    const { data, headers } = await client.request("GET /repositories/{id}", { id });
    return { facts: parse(GitHubRepository, data), at: dateOf(headers) };
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

/** GitHub's time of an answer, in whole seconds; ours where it tells none. */
export function dateOf({ date }: { readonly date?: string | undefined }): Date {
  const at = new Date(date ?? "");
  return Number.isNaN(at.getTime()) ? new Date() : at;
}

const PermissionAnswer = z.object({
  permission: z.string(),
  role_name: z.string().nullish(),
  user: z
    .object({
      permissions: z
        .object({
          triage: z.boolean().nullish(),
          push: z.boolean().nullish(),
          maintain: z.boolean().nullish(),
          admin: z.boolean().nullish(),
          pull: z.boolean().nullish(),
        })
        .nullish(),
    })
    .nullish(),
});

/** What somebody may do on the repository; `none` for strangers and for logins that do not exist. */
export async function readPermission(client: Client, repo: RepoAddress, login: string): Promise<Permission> {
  try {
    const { data } = await client.request("GET /repos/{owner}/{repo}/collaborators/{username}/permission", {
      ...repoOf(repo),
      username: login,
    });
    const answer = parse(PermissionAnswer, data);
    const role = answer.role_name ?? answer.permission;
    if ((PERMISSIONS as readonly string[]).includes(role)) return role as Permission;
    // A custom role: its rights say what its name does not.
    const rights = answer.user?.permissions;
    if (rights?.admin) return "admin";
    if (rights?.maintain) return "maintain";
    if (rights?.push) return "write";
    if (rights?.triage) return "triage";
    return rights?.pull ? "read" : "none";
  } catch (error) {
    if (isAbsent(error)) return "none";
    throw error;
  }
}

const IssueEvent = z.object({
  event: z.string(),
  actor: z
    .object({ id: z.int().nullish(), login: z.string().nullish(), type: z.string().nullish() })
    .nullish(),
  created_at: z.string(),
  commit_id: z.string().nullish(),
  state_reason: z.string().nullish(),
  label: z.object({ name: z.string().nullish() }).nullish(),
  performed_via_github_app: z.object({ id: z.int().nullish() }).nullish(),
});

export interface IssueEventRead {
  /** `labeled`, `unlabeled`, `closed`, `reopened`, … */
  readonly event: string;
  readonly label: string | null;
  readonly at: Date;
  readonly sender: {
    readonly id: number | null;
    readonly login: string | null;
    readonly type: string | null;
  };
  readonly viaApp: boolean;
  /** The commit that did it: GitHub closes issues that commits on the default branch name. */
  readonly commitId: string | null;
  /** Why it was closed, where GitHub says so. */
  readonly stateReason: string | null;
}

/** What happened to an issue, oldest first. */
export async function readIssueEvents(
  client: Client,
  repo: RepoAddress,
  number: number,
): Promise<IssueEventRead[]> {
  const pages = client.paginate.iterator("GET /repos/{owner}/{repo}/issues/{issue_number}/events", {
    ...repoOf(repo),
    issue_number: number,
    per_page: PAGE,
  });
  const events: IssueEventRead[] = [];
  for await (const { data } of pages) {
    for (const raw of data as unknown[]) {
      const event = parse(IssueEvent, raw);
      events.push({
        event: event.event,
        label: event.label?.name ?? null,
        at: new Date(event.created_at),
        sender: {
          id: event.actor?.id ?? null,
          login: event.actor?.login ?? null,
          type: event.actor?.type ?? null,
        },
        viaApp: (event.performed_via_github_app ?? null) !== null,
        commitId: event.commit_id ?? null,
        stateReason: event.state_reason ?? null,
      });
    }
  }
  return events;
}

/** One page of a listing; the caller keeps the cursor. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly full: boolean;
}

export const pageOf = <T>(schema: z.ZodType<T>, data: unknown): Page<T> => {
  const rows = parse(z.array(schema), data);
  return { rows, full: rows.length === PAGE };
};

/** Where in a listing: `by` change the longest untouched come first, by age the oldest. */
export interface Listing {
  /** Only what changed then or later. */
  readonly since: string | null;
  readonly page: number;
  readonly by: "change" | "age";
  /** Closed ones too. */
  readonly all?: boolean;
}

const listingOf = ({ since, page, by }: Listing) => ({
  sort: by === "age" ? ("created" as const) : ("updated" as const),
  direction: "asc" as const,
  per_page: PAGE,
  page,
  ...(since ? { since } : {}),
});

/** Issues and pull requests: open ones; by age closed ones too, so that none that closes moves the others. */
export async function listIssues(client: Client, repo: RepoAddress, at: Listing): Promise<Page<GitHubIssue>> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/issues", {
    ...repoOf(repo),
    ...listingOf(at),
    state: at.by === "age" || at.all ? "all" : "open",
  });
  return pageOf(GitHubIssue, data);
}

/** One comment of an issue or a pull request. */
export async function readComment(client: Client, repo: RepoAddress, id: number): Promise<GitHubComment> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/issues/comments/{comment_id}", {
    ...repoOf(repo),
    comment_id: id,
  });
  return parse(GitHubComment, data);
}

/** The comments of all issues and pull requests. */
export async function listComments(
  client: Client,
  repo: RepoAddress,
  at: Listing,
): Promise<Page<GitHubComment>> {
  const { data } = await client.request("GET /repos/{owner}/{repo}/issues/comments", {
    ...repoOf(repo),
    ...listingOf(at),
  });
  return pageOf(GitHubComment, data);
}

/** The repository's label definitions. */
export async function listLabels(client: Client, repo: RepoAddress): Promise<GitHubLabel[]> {
  const labels = await client.paginate("GET /repos/{owner}/{repo}/labels", {
    ...repoOf(repo),
    per_page: PAGE,
  });
  return parse(z.array(GitHubLabel), labels);
}

/** Whether a comment with this first line, by this App, stands on the issue; only those written since a time. */
export async function hasOwnComment(
  client: Client,
  repo: RepoAddress,
  number: number,
  wanted: { firstLine: string; appId: number; since: Date },
): Promise<boolean> {
  const pages = client.paginate.iterator("GET /repos/{owner}/{repo}/issues/{issue_number}/comments", {
    ...repoOf(repo),
    issue_number: number,
    per_page: PAGE,
    since: wanted.since.toISOString(),
  });
  for await (const { data } of pages) {
    for (const raw of data as unknown[]) {
      const comment = parse(GitHubComment, raw);
      const own = comment.performed_via_github_app?.id === wanted.appId;
      if (own && (comment.body ?? "").split(/\r?\n/, 1)[0] === wanted.firstLine) return true;
    }
  }
  return false;
}

import type { JsonObject } from "../json.ts";
import { type Commit, fullName, type Label, type Repository } from "../state/model.ts";
import type { World } from "../state/world.ts";
import { userJson } from "./accounts.ts";
import { isoTime, nodeId } from "./times-and-ids.ts";

export function repositoryUrl(world: World, repository: Repository): string {
  return `${world.apiUrl}/repos/${fullName(repository)}`;
}

export function repositoryHtmlUrl(repository: Repository): string {
  return `https://github.com/${fullName(repository)}`;
}

export function repositoryJson(world: World, repository: Repository): JsonObject {
  const html = repositoryHtmlUrl(repository);
  const openIssues = countOpenIssues(repository);
  return {
    id: repository.id,
    node_id: nodeId("R", repository.id),
    name: repository.name,
    full_name: fullName(repository),
    private: repository.private,
    owner: userJson(world, repository.owner),
    html_url: html,
    description: null,
    fork: repository.forkOf !== null,
    ...apiUrls(repositoryUrl(world, repository)),
    created_at: isoTime(repository.createdAt),
    updated_at: isoTime(repository.updatedAt),
    pushed_at: isoTime(repository.pushedAt),
    git_url: `git://github.com/${fullName(repository)}.git`,
    ssh_url: `git@github.com:${fullName(repository)}.git`,
    clone_url: `${html}.git`,
    svn_url: html,
    homepage: null,
    size: 1,
    stargazers_count: 0,
    watchers_count: 0,
    language: null,
    has_issues: true,
    has_projects: true,
    has_downloads: true,
    has_wiki: true,
    has_pages: false,
    has_discussions: false,
    forks_count: 0,
    mirror_url: null,
    archived: repository.archived,
    disabled: false,
    open_issues_count: openIssues,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: repository.private ? "private" : "public",
    forks: 0,
    open_issues: openIssues,
    watchers: 0,
    default_branch: repository.defaultBranch,
  };
}

/** In `push`, two of the times are seconds since 1970. */
export function pushedRepositoryJson(world: World, repository: Repository): JsonObject {
  return {
    ...repositoryJson(world, repository),
    created_at: repository.createdAt.getTime() / 1000,
    pushed_at: repository.pushedAt.getTime() / 1000,
    stargazers: 0,
    master_branch: repository.defaultBranch,
  };
}

/** How `installation` events name repositories. */
export function repositoryReferenceJson(repository: Repository): JsonObject {
  return {
    id: repository.id,
    node_id: nodeId("R", repository.id),
    name: repository.name,
    full_name: fullName(repository),
    private: repository.private,
  };
}

export function labelJson(world: World, repository: Repository, label: Label): JsonObject {
  return {
    id: label.id,
    node_id: nodeId("LA", label.id),
    url: `${repositoryUrl(world, repository)}/labels/${encodeURIComponent(label.name)}`,
    name: label.name,
    color: label.color,
    default: false,
    description: label.description,
  };
}

/** How an issue's event list names a label: as it was then, and without its id. */
export function labelReferenceJson(label: Label): JsonObject {
  return { name: label.name, color: label.color };
}

export function branchJson(
  world: World,
  repository: Repository,
  name: string,
  commit: Commit,
  commitJson: JsonObject,
): JsonObject {
  const url = `${repositoryUrl(world, repository)}/branches/${name}`;
  return {
    name,
    commit: { ...commitJson, sha: commit.sha },
    _links: { self: url, html: `${repositoryHtmlUrl(repository)}/tree/${name}` },
    protected: false,
    protection: {
      enabled: false,
      required_status_checks: { enforcement_level: "off", contexts: [], checks: [] },
    },
    protection_url: `${url}/protection`,
  };
}

function countOpenIssues(repository: Repository): number {
  let open = 0;
  for (const issue of repository.issues.values()) if (issue.state === "open") open += 1;
  return open;
}

function apiUrls(url: string): JsonObject {
  return {
    url,
    forks_url: `${url}/forks`,
    keys_url: `${url}/keys{/key_id}`,
    collaborators_url: `${url}/collaborators{/collaborator}`,
    teams_url: `${url}/teams`,
    hooks_url: `${url}/hooks`,
    issue_events_url: `${url}/issues/events{/number}`,
    events_url: `${url}/events`,
    assignees_url: `${url}/assignees{/user}`,
    branches_url: `${url}/branches{/branch}`,
    tags_url: `${url}/tags`,
    blobs_url: `${url}/git/blobs{/sha}`,
    git_tags_url: `${url}/git/tags{/sha}`,
    git_refs_url: `${url}/git/refs{/sha}`,
    trees_url: `${url}/git/trees{/sha}`,
    statuses_url: `${url}/statuses/{sha}`,
    languages_url: `${url}/languages`,
    stargazers_url: `${url}/stargazers`,
    contributors_url: `${url}/contributors`,
    subscribers_url: `${url}/subscribers`,
    subscription_url: `${url}/subscription`,
    commits_url: `${url}/commits{/sha}`,
    git_commits_url: `${url}/git/commits{/sha}`,
    comments_url: `${url}/comments{/number}`,
    issue_comment_url: `${url}/issues/comments{/number}`,
    contents_url: `${url}/contents/{+path}`,
    compare_url: `${url}/compare/{base}...{head}`,
    merges_url: `${url}/merges`,
    archive_url: `${url}/{archive_format}{/ref}`,
    downloads_url: `${url}/downloads`,
    issues_url: `${url}/issues{/number}`,
    pulls_url: `${url}/pulls{/number}`,
    milestones_url: `${url}/milestones{/number}`,
    notifications_url: `${url}/notifications{?since,all,participating}`,
    labels_url: `${url}/labels{/name}`,
    releases_url: `${url}/releases{/id}`,
    deployments_url: `${url}/deployments`,
  };
}

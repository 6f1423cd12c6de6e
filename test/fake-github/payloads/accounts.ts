import type { JsonObject } from "../json.ts";
import type { Account, GitHubApp, Installation, Permissions } from "../state/model.ts";
import type { World } from "../state/world.ts";
import { isoTime, isoTimeOrNull, nodeId } from "./times-and-ids.ts";

const nodePrefix = { User: "U", Bot: "BOT", Organization: "O", Mannequin: "M" } as const;

export function userJson(world: World, account: Account): JsonObject {
  const url = `${world.apiUrl}/users/${encodeURIComponent(account.login)}`;
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId(nodePrefix[account.type], account.id),
    avatar_url: `https://avatars.githubusercontent.com/u/${account.id}?v=4`,
    gravatar_id: "",
    url,
    html_url: htmlUrl(account),
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: account.type,
    user_view_type: "public",
    site_admin: false,
  };
}

/** The author of something: nobody, once the account is deleted. */
export function authorJson(world: World, account: Account | null): JsonObject | null {
  return account && !account.deleted ? userJson(world, account) : null;
}

export function organizationJson(world: World, account: Account): JsonObject {
  const url = `${world.apiUrl}/orgs/${account.login}`;
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId("O", account.id),
    url,
    repos_url: `${url}/repos`,
    events_url: `${url}/events`,
    hooks_url: `${url}/hooks`,
    issues_url: `${url}/issues`,
    members_url: `${url}/members{/member}`,
    public_members_url: `${url}/public_members{/member}`,
    avatar_url: `https://avatars.githubusercontent.com/u/${account.id}?v=4`,
    description: "",
  };
}

export function appJson(world: World, app: GitHubApp): JsonObject {
  return {
    id: app.id,
    slug: app.slug,
    client_id: app.clientId,
    node_id: nodeId("A", app.id),
    owner: userJson(world, app.owner),
    name: app.slug,
    description: "",
    external_url: `https://${app.slug}.example`,
    html_url: `https://github.com/apps/${app.slug}`,
    created_at: isoTime(app.createdAt),
    updated_at: isoTime(app.createdAt),
    permissions: app.permissions,
    events: app.events,
  };
}

export function viaAppJson(world: World, app: GitHubApp | null): JsonObject | null {
  return app ? appJson(world, app) : null;
}

export function installationJson(world: World, installation: Installation): JsonObject {
  const { account, suspended } = installation;
  return {
    id: installation.id,
    account: userJson(world, account),
    repository_selection: "selected",
    access_tokens_url: `${world.apiUrl}/app/installations/${installation.id}/access_tokens`,
    repositories_url: `${world.apiUrl}/installation/repositories`,
    html_url: `https://github.com/settings/installations/${installation.id}`,
    app_id: world.app.id,
    client_id: world.app.clientId,
    app_slug: world.app.slug,
    target_id: account.id,
    target_type: account.type,
    permissions: permissionsJson(installation.permissions),
    events: world.app.events,
    created_at: isoTime(installation.createdAt),
    updated_at: isoTime(installation.updatedAt),
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: suspended ? userJson(world, suspended.by) : null,
    suspended_at: isoTimeOrNull(suspended?.at ?? null),
  };
}

export function permissionsJson(permissions: Permissions): JsonObject {
  return { ...permissions };
}

function htmlUrl(account: Account): string {
  return account.type === "Bot"
    ? `https://github.com/apps/${account.login.replace(/\[bot\]$/, "")}`
    : `https://github.com/${account.login}`;
}

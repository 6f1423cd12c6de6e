/** What GitHub is asked to register: `app.yml`, and the addresses of this deployment. Pure but for reading the file. */

import { readFile } from "node:fs/promises";
import { BlockList, isIP } from "node:net";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

const AppDefinition = z.strictObject({
  name: z.string().min(1).max(34),
  description: z.string(),
  public: z.boolean(),
  default_permissions: z.record(z.string(), z.enum(["read", "write"])),
  default_events: z.array(z.string()),
});
export type AppDefinition = z.infer<typeof AppDefinition>;

const APP_YML = join(import.meta.dirname, "../../app.yml");

export async function loadAppDefinition(path: string = APP_YML): Promise<AppDefinition> {
  return AppDefinition.parse(parse(await readFile(path, "utf8")));
}

/** Where the parts of a manifest point to. */
export interface ManifestAddresses {
  /** Unique on all of GitHub; whoever registers the App can change it there. */
  readonly name: string;
  /** Where GitHub reaches this deployment, without a slash at its end. */
  readonly publicUrl: string;
  /** Where the browser reaches it: its session is known only there, and GitHub allows any address. */
  readonly browserUrl: string;
  /** The GitHub that it goes to is an Enterprise Server. */
  readonly enterpriseServer: boolean;
}

/** Enterprise Server (up to 3.19 at least) knows no such events, and refuses a manifest that names them. */
const NOT_ON_ENTERPRISE_SERVER: readonly string[] = ["sub_issues", "issue_dependencies"];

/** The manifest, in the form that GitHub documents. */
export function buildManifest(definition: AppDefinition, addresses: ManifestAddresses) {
  const { name, publicUrl, browserUrl, enterpriseServer } = addresses;
  return {
    ...definition,
    default_events: definition.default_events.filter(
      (event) => !enterpriseServer || !NOT_ON_ENTERPRISE_SERVER.includes(event),
    ),
    name,
    url: publicUrl,
    hook_attributes: { url: `${publicUrl}/api/github/webhooks`, active: true },
    redirect_url: `${browserUrl}/setup/callback`,
    setup_url: `${publicUrl}/setup/installed`,
  };
}

/** Whether a GitHub that people see there is an Enterprise Server; Enterprise Cloud is not. */
export function isEnterpriseServer(webBase: string): boolean {
  const { hostname } = new URL(webBase);
  return hostname !== "github.com" && !hostname.endsWith(".ghe.com");
}

/** GitHub's longest name for an App. */
const MAX_NAME = 34;

/** A name that is probably still free: names are unique on all of GitHub. */
export const suggestedName = (base: string, suffix: string): string =>
  `${base} ${suffix}`.slice(0, MAX_NAME).trim();

/** Where a newcomer is sent to register, for a person (null) or for an organisation. */
export function registrationUrl(webBase: string, organization: string | null, state: string): string {
  const owner = organization === null ? "" : `/organizations/${encodeURIComponent(organization)}`;
  return `${webBase}${owner}/settings/apps/new?state=${encodeURIComponent(state)}`;
}

/** The public address as it is used, or what is wrong with what was given. */
export function checkPublicUrl(given: string): { url: string } | { problem: string } {
  const text = given.trim();
  if (text === "") return { problem: "Enter the address where GitHub can reach this server." };
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text)) {
    return {
      problem:
        "This is not a web address. Begin with https:// (or http://), as in https://leasehold.example.com",
    };
  }
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    return {
      problem: "Leave out the user name and password: everybody could read them in the App's settings.",
    };
  }
  if (url.search !== "" || url.hash !== "") {
    return { problem: "Leave out what follows ? or #: GitHub will call addresses below this one." };
  }
  return { url: (url.origin + url.pathname).replace(/\/+$/, "") };
}

const LOCAL_NETWORKS = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const) {
  LOCAL_NETWORKS.addSubnet(network, prefix, "ipv4");
}
LOCAL_NETWORKS.addAddress("::", "ipv6");
LOCAL_NETWORKS.addAddress("::1", "ipv6");
LOCAL_NETWORKS.addSubnet("fc00::", 7, "ipv6");
LOCAL_NETWORKS.addSubnet("fe80::", 10, "ipv6");

/** Whether an address means something only on this machine or network, as far as its host tells. */
export function isLocalAddress(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const version = isIP(host);
  if (version !== 0) return LOCAL_NETWORKS.check(host, version === 6 ? "ipv6" : "ipv4");
  return !host.includes(".") || /\.(localhost|local|internal|lan|home\.arpa|test)$/.test(host);
}

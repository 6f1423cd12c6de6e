/** The App's installations and what each of them reaches, as GitHub lists them. */

import { z } from "zod";
import type { Client } from "./connection.ts";
import { parse } from "./reads.ts";

const InstallationRow = z.object({
  id: z.int(),
  account: z.object({ id: z.int().nullish(), login: z.string().nullish() }).nullish(),
  suspended_at: z.string().nullish(),
});
export type ListedInstallation = z.infer<typeof InstallationRow>;

const LINK_EVENTS = ["sub_issues", "issue_dependencies"];

/** Whether the App is told of links between issues. Asked as the App itself. */
export async function tellsOfLinks(client: Client): Promise<boolean> {
  const { data } = await client.request("GET /app");
  const { events } = parse(z.object({ events: z.array(z.string()).nullish() }), data);
  return events == null || LINK_EVENTS.every((event) => events.includes(event));
}

const RepositoryRow = z.object({ id: z.int(), full_name: z.string() });
export type ReachedRepository = z.infer<typeof RepositoryRow>;

/** Asked as the App itself. */
export async function listInstallations(client: Client): Promise<ListedInstallation[]> {
  const rows = await client.paginate("GET /app/installations", { per_page: 100 });
  return parse(z.array(InstallationRow), rows);
}

/** Asked as the installation. */
export async function listReachedRepositories(client: Client): Promise<ReachedRepository[]> {
  const rows = await client.paginate("GET /installation/repositories", { per_page: 100 });
  return parse(z.array(RepositoryRow), rows);
}

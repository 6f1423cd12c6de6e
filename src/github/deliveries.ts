/** The deliveries of the App's webhook as GitHub lists them, and asking for one again. Asked as the App itself. */

import { z } from "zod";
import type { Client } from "./connection.ts";
import { dateOf, PAGE, parse } from "./reads.ts";

const DeliveryRow = z.object({
  id: z.int(),
  guid: z.string(),
  delivered_at: z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
  status_code: z.int(),
  event: z.string(),
  installation_id: z.int().nullish(),
  repository_id: z.int().nullish(),
});

/** One try of GitHub's to deliver; a redelivery is another of the same guid. */
export interface ListedDelivery {
  readonly id: number;
  readonly guid: string;
  readonly at: Date;
  /** It was answered with 2xx or 3xx. */
  readonly ok: boolean;
  readonly event: string;
  readonly installationId: number | null;
  readonly repositoryId: number | null;
}

export interface DeliveryPage {
  /** Newest first. */
  readonly rows: readonly ListedDelivery[];
  /** Where the next page begins; null: this is the last. */
  readonly next: string | null;
  /** GitHub's time. */
  readonly at: Date;
}

/** `failed`: only those that were not answered well. A server that does not know the filter lists all. */
export async function listDeliveries(
  client: Client,
  { cursor, failed }: { cursor: string | null; failed: boolean },
): Promise<DeliveryPage> {
  const { data, headers } = await client.request("GET /app/hook/deliveries", {
    per_page: PAGE,
    ...(cursor === null ? {} : { cursor }),
    ...(failed ? { status: "failure" as const } : {}),
  });
  const rows = parse(z.array(DeliveryRow), data).map((row) => ({
    id: row.id,
    guid: row.guid,
    at: row.delivered_at,
    ok: row.status_code >= 200 && row.status_code < 400,
    event: row.event,
    installationId: row.installation_id ?? null,
    repositoryId: row.repository_id ?? null,
  }));
  const link = /<([^>]+)>;\s*rel="next"/.exec(headers.link ?? "")?.[1];
  return {
    rows,
    next: link === undefined ? null : new URL(link).searchParams.get("cursor"),
    at: dateOf(headers),
  };
}

/** Asks GitHub to deliver it again, under the same guid. It does so for three days (Enterprise Server: seven). */
export async function askForRedelivery(client: Client, id: number): Promise<void> {
  await client.request("POST /app/hook/deliveries/{delivery_id}/attempts", { delivery_id: id });
}

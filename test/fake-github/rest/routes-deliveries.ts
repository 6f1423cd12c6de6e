import type { Delivery } from "../delivery.ts";
import { malformed, notFound } from "../http-error.ts";
import type { JsonObject } from "../json.ts";
import { isoTime } from "../payloads/times-and-ids.ts";
import type { Webhooks } from "../webhooks.ts";
import { type ApiRequest, choice, numberParam, ok, type Reply } from "./api-request.ts";
import { linkTo, perPage } from "./pagination.ts";
import { appRoute, type Route } from "./route.ts";

/** GitHub keeps deliveries, and sends them again, for three days. */
const KEPT_MS = 3 * 24 * 3_600_000;

export function deliveryRoutes(webhooks: Webhooks): Route[] {
  return [
    appRoute("GET", "/app/hook/deliveries", (request) => listDeliveries(request, webhooks)),
    appRoute("GET", "/app/hook/deliveries/:id", (request) => {
      const delivery = findDelivery(request, webhooks);
      return ok(deliveryJson(delivery));
    }),
    appRoute("POST", "/app/hook/deliveries/:id/attempts", (request) => {
      webhooks.requeue(findDelivery(request, webhooks));
      return { status: 202, body: {} };
    }),
  ];
}

/** Newest first. The cursor names the delivery at which the page starts. */
function listDeliveries(request: ApiRequest, webhooks: Webhooks): Reply {
  const status = choice(request, "status", ["all", "success", "failure"]);
  const all = kept(request, webhooks)
    .filter((delivery) => status === "all" || isSuccess(delivery) === (status === "success"))
    .reverse();
  const cursor = request.query.get("cursor");
  const start = cursor === null ? 0 : all.findIndex(({ id }) => `v1_${id}` === cursor);
  if (start < 0) throw malformed(422, `Invalid cursor: ${cursor}`);
  const size = perPage(request);
  const next = all[start + size];
  const headers = next ? { link: linkTo(request, { cursor: `v1_${next.id}` }, "next") } : undefined;
  const body = all.slice(start, start + size).map(deliveryRowJson);
  return headers ? { status: 200, body, headers } : { status: 200, body };
}

function findDelivery(request: ApiRequest, webhooks: Webhooks): Delivery {
  const id = numberParam(request, "id");
  const delivery = kept(request, webhooks).find((candidate) => candidate.id === id);
  if (!delivery) throw notFound();
  return delivery;
}

/** Those that were tried; one that waits is no delivery yet. */
function kept({ world }: ApiRequest, webhooks: Webhooks): Delivery[] {
  const oldest = world.now().getTime() - KEPT_MS;
  return webhooks.deliveries.filter(
    ({ status, at, handMade }) =>
      status !== "queued" && status !== "in flight" && at.getTime() >= oldest && !handMade,
  );
}

function isSuccess({ status }: Delivery): boolean {
  return typeof status === "number" && status >= 200 && status < 400;
}

function deliveryRowJson(delivery: Delivery): JsonObject {
  const { status } = delivery;
  return {
    id: delivery.id,
    guid: delivery.guid,
    delivered_at: isoTime(delivery.at),
    redelivery: delivery.redelivery,
    duration: delivery.durationSeconds,
    status: describe(status),
    status_code: typeof status === "number" ? status : 0,
    event: delivery.event,
    action: delivery.action,
    installation_id: delivery.installationId,
    repository_id: delivery.repositoryId,
    throttled_at: null,
  };
}

function deliveryJson(delivery: Delivery): JsonObject {
  return {
    ...deliveryRowJson(delivery),
    url: delivery.url ?? "",
    request: { headers: delivery.requestHeaders, payload: JSON.parse(delivery.payload) },
    response: { headers: delivery.answer?.headers ?? {}, payload: delivery.answer?.body ?? null },
  };
}

function describe(status: Delivery["status"]): string {
  if (typeof status === "number") return status < 400 ? "OK" : `Invalid HTTP Response: ${status}`;
  return status === "timed out" ? "timed out" : "failed to connect to host";
}

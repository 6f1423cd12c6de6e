import type { Answer } from "./post-webhook.ts";
import type { Notice } from "./state/world.ts";

/** An HTTP status once it was answered. Of the rest, `dropped` is a webhook lost on the way. */
export type DeliveryStatus = number | "queued" | "in flight" | "timed out" | "unreachable" | "dropped";

export type Delivery = Notice & {
  id: number;
  guid: string;
  hookId: number;
  status: DeliveryStatus;
  redelivery: boolean;
  /** Made by `github.deliver`, so its answer is the test's business. */
  handMade: boolean;
  url: string | null;
  requestHeaders: Record<string, string>;
  answer: Answer | null;
  at: Date;
  durationSeconds: number;
};

export type HandMadeDelivery = {
  event: string;
  /** An object is serialised; a string is sent byte for byte. */
  payload: unknown;
  guid?: string;
  /** Signs with this instead of the App's secret. */
  secret?: string;
  /** Sent as it stands; null sends no signature. */
  signature?: string | null;
  hookId?: number;
};

/** The deliveries in the order that names them by their place. */
export function permute(queue: Delivery[], order: readonly number[]): Delivery[] {
  const wanted = new Set(order);
  if (wanted.size !== order.length || order.length !== queue.length) {
    throw new Error(`${queue.length} deliveries are held: [${order.join(", ")}] is no permutation of them`);
  }
  return order.map((place) => {
    const delivery = queue[place];
    if (!delivery) throw new Error(`no delivery is held in place ${place}`);
    return delivery;
  });
}

export function actionOf(payload: string): string | null {
  try {
    const parsed: unknown = JSON.parse(payload);
    const action = parsed && typeof parsed === "object" && "action" in parsed ? parsed.action : null;
    return typeof action === "string" ? action : null;
  } catch {
    return null;
  }
}

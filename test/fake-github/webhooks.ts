import { randomUUID } from "node:crypto";
import type { AppUnderTest } from "./app-under-test.ts";
import { actionOf, type Delivery, type DeliveryStatus, type HandMadeDelivery, permute } from "./delivery.ts";
import { postWebhook, sign } from "./post-webhook.ts";
import { onHost } from "./rest/server.ts";
import type { Notice, World } from "./state/world.ts";

/**
 * GitHub's side of webhooks: each change becomes a delivery; deliveries go out in order, one at a time,
 * and one that fails is not tried again.
 */
export class Webhooks {
  readonly deliveries: Delivery[] = [];
  #app: AppUnderTest;
  #world: World;
  #timeoutMs: number;
  #target: string | null = null;
  #queue: Delivery[] = [];
  #held = false;
  #stopped = false;
  #inFlight = new Set<Delivery>();
  #isPumping = false;
  #idleWaiters = new Set<() => void>();

  constructor(world: World, timeoutMs: number, host: string) {
    this.#app = world.app;
    this.#world = world;
    this.#timeoutMs = timeoutMs;
    world.notify = (notice) => this.#enqueue({ ...notice, payload: onHost(host, notice.payload) });
  }

  deliverTo(url: string | null): void {
    this.#target = url;
    this.#pump();
  }

  hold(): void {
    this.#held = true;
  }

  /** `order` names the held deliveries, first to last, by their place in the queue. */
  release(order?: "reverse" | readonly number[]): void {
    if (order === "reverse") this.#queue.reverse();
    else if (order) this.#queue = permute(this.#queue, order);
    this.#held = false;
    this.#pump();
  }

  /** Loses the first `count` waiting deliveries, or all of them. */
  drop(count = this.#queue.length): Delivery[] {
    const lost = this.#queue.splice(0, count);
    for (const delivery of lost) delivery.status = "dropped";
    this.#wakeIfIdle();
    return lost;
  }

  /** Resolves when nothing is waiting or under way. */
  async delivered(deadlineMs = 10_000): Promise<void> {
    if (this.#isIdle()) return;
    let timer: NodeJS.Timeout | undefined;
    let wake: (() => void) | undefined;
    const deadline = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(this.#describeHang(deadlineMs))), deadlineMs);
    });
    const idle = new Promise<void>((resolve) => {
      wake = resolve;
      this.#idleWaiters.add(resolve);
    });
    try {
      await Promise.race([idle, deadline]);
    } finally {
      clearTimeout(timer);
      if (wake) this.#idleWaiters.delete(wake);
    }
  }

  /** Sends the delivery of that GUID again, under the same GUID, at once. */
  async redeliver(guid: string): Promise<Delivery> {
    const original = this.deliveries.find((delivery) => delivery.guid === guid);
    if (!original) throw new Error(`no delivery has the GUID ${guid}`);
    const again = this.#copy(original);
    await this.#send(again);
    return again;
  }

  /** What the REST API's "attempts" does: the delivery joins the queue again. */
  requeue(original: Delivery): void {
    this.#queue.push(this.#copy(original));
    this.#pump();
  }

  async deliver(made: HandMadeDelivery): Promise<{ status: DeliveryStatus; body: string }> {
    const payload = typeof made.payload === "string" ? made.payload : JSON.stringify(made.payload);
    const delivery = this.#add({
      event: made.event,
      action: actionOf(payload),
      payload,
      installationId: null,
      repositoryId: null,
    });
    delivery.handMade = true;
    delivery.guid = made.guid ?? delivery.guid;
    delivery.hookId = made.hookId ?? delivery.hookId;
    const signature =
      made.signature === undefined ? sign(payload, made.secret ?? this.#app.webhookSecret) : made.signature;
    await this.#send(delivery, signature);
    return { status: delivery.status, body: delivery.answer?.body ?? "" };
  }

  stop(): void {
    this.#stopped = true;
    this.#queue.length = 0;
    this.#wakeIfIdle();
  }

  #enqueue(notice: Notice): void {
    this.#queue.push(this.#add(notice));
    this.#pump();
  }

  #add(notice: Notice): Delivery {
    const delivery: Delivery = {
      ...notice,
      id: this.#world.nextId(),
      guid: randomUUID(),
      hookId: this.#app.hookId,
      status: "queued",
      redelivery: false,
      handMade: false,
      url: null,
      requestHeaders: {},
      answer: null,
      at: this.#world.now(),
      durationSeconds: 0,
    };
    this.deliveries.push(delivery);
    return delivery;
  }

  #copy(original: Delivery): Delivery {
    const again = this.#add(original);
    again.guid = original.guid;
    again.hookId = original.hookId;
    again.status = "queued";
    again.redelivery = true;
    return again;
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    void this.#drain().finally(() => {
      this.#isPumping = false;
      if (this.#mayPump()) this.#pump();
      else this.#wakeIfIdle();
    });
  }

  async #drain(): Promise<void> {
    // The change that enqueued this may go on to `hold` or `drop`, or to change more.
    await Promise.resolve();
    while (this.#mayPump()) {
      const delivery = this.#queue.shift();
      if (delivery) await this.#send(delivery);
    }
  }

  #mayPump(): boolean {
    return !this.#stopped && !this.#held && this.#target !== null && this.#queue.length > 0;
  }

  async #send(delivery: Delivery, signature?: string | null): Promise<void> {
    const url = this.#target;
    if (url === null) throw new Error("deliverTo() was not called: there is nowhere to deliver to");
    delivery.url = url;
    delivery.status = "in flight";
    delivery.at = this.#world.now();
    delivery.requestHeaders = this.#headers(delivery, signature);
    this.#inFlight.add(delivery);
    const began = performance.now();
    const outcome = await postWebhook(url, delivery.requestHeaders, delivery.payload, this.#timeoutMs);
    delivery.durationSeconds = Math.round(performance.now() - began) / 1000;
    this.#inFlight.delete(delivery);
    delivery.status = outcome.kind === "answered" ? outcome.answer.status : outcome.kind;
    delivery.answer = outcome.kind === "answered" ? outcome.answer : null;
    this.#wakeIfIdle();
  }

  #headers(delivery: Delivery, signature?: string | null): Record<string, string> {
    const signed = signature === undefined ? sign(delivery.payload, this.#app.webhookSecret) : signature;
    return {
      Accept: "*/*",
      "Content-Type": "application/json",
      "User-Agent": "GitHub-Hookshot/fake",
      "X-GitHub-Delivery": delivery.guid,
      "X-GitHub-Event": delivery.event,
      "X-GitHub-Hook-ID": String(delivery.hookId),
      "X-GitHub-Hook-Installation-Target-ID": String(this.#app.id),
      "X-GitHub-Hook-Installation-Target-Type": "integration",
      ...(signed === null ? {} : { "X-Hub-Signature-256": signed }),
    };
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && this.#inFlight.size === 0;
  }

  #wakeIfIdle(): void {
    if (!this.#isIdle()) return;
    for (const wake of this.#idleWaiters) wake();
    this.#idleWaiters.clear();
  }

  #describeHang(deadlineMs: number): string {
    const list = (deliveries: Iterable<Delivery>) =>
      [...deliveries].map(({ event, action, guid }) => `${event}.${action ?? ""} (${guid})`).join(", ") ||
      "none";
    const why = this.#held ? "held" : this.#target === null ? "without a target (deliverTo)" : "waiting";
    return `webhooks hang after ${deadlineMs} ms; in flight: ${list(this.#inFlight)}; ${why}: ${list(this.#queue)}`;
  }
}

import { type AppUnderTest, defaultPermissions, generateKeyPair } from "./app-under-test.ts";
import type { Delivery, DeliveryStatus, HandMadeDelivery } from "./delivery.ts";
import { GitHubSite } from "./github-site.ts";
import { Authentication } from "./rest/authentication.ts";
import { Dispatcher, type Unexpected } from "./rest/dispatcher.ts";
import { type Fault, Faults } from "./rest/faults.ts";
import { type RateLimit, RateLimits } from "./rest/rate-limits.ts";
import { routes } from "./rest/routes.ts";
import { ApiServer, type LoggedRequest } from "./rest/server.ts";
import type { Permissions } from "./state/model.ts";
import { World } from "./state/world.ts";
import { Webhooks } from "./webhooks.ts";

export type FakeGitHubOptions = {
  /** GitHub's clock. The real time unless told otherwise. */
  now?: () => Date;
  port?: number;
  /** What the App asks for when it is installed. */
  permissions?: Permissions;
  /** How long GitHub waits for the answer to a webhook. */
  webhookTimeoutMs?: number;
  /** Refuses further requests of an installation within an hour. Unlimited unless told otherwise. */
  requestsPerHour?: number;
  /** It is an Enterprise Server with its pages there, and its REST API below `/api/v3`. */
  enterpriseHost?: string;
};

/**
 * A GitHub to test against: it keeps repositories, issues and the rest in memory, serves them over HTTP to
 * the App under test, and tells it by signed webhooks what people did.
 *
 *     const github = await FakeGitHub.start();
 *     const repo = github.repository("acme/widgets", { collaborators: { alice: "admin" } });
 *     github.install(repo);
 *     github.deliverTo("http://127.0.0.1:3000/api/github/webhooks");
 *     const number = repo.as("alice").openIssue({ title: "It rattles", labels: ["backlog"] });
 *     await github.delivered();
 */
export class FakeGitHub extends GitHubSite {
  /** Where the REST API listens. */
  readonly url: string;
  readonly app: AppUnderTest;
  readonly deliveries: Delivery[];
  readonly requests: LoggedRequest[];
  /** Requests that no correct App sends: unknown endpoints, bad credentials, malformed bodies. */
  readonly unexpected: Unexpected[];
  #parts: Parts;

  private constructor(parts: Parts, url: string) {
    super(parts.world);
    this.#parts = parts;
    this.url = url;
    this.app = parts.world.app;
    this.deliveries = parts.webhooks.deliveries;
    this.requests = parts.server.requests;
    this.unexpected = parts.dispatcher.unexpected;
  }

  static async start(options: FakeGitHubOptions = {}): Promise<FakeGitHub> {
    const parts = assemble(options);
    const url = await parts.server.listen(options.port ?? 0);
    const apiUrl = options.enterpriseHost === undefined ? url : `${url}/api/v3`;
    parts.world.apiUrl = apiUrl;
    return new FakeGitHub(parts, apiUrl);
  }

  async stop(): Promise<void> {
    this.#parts.webhooks.stop();
    this.#parts.server.cutHanging();
    await this.#parts.server.stop();
  }

  // The App's own settings

  /** A code for `POST /app-manifests/:code/conversions`, good for one use. */
  manifestCode(): string {
    const code = `manifest-code-${this.world.nextId()}`;
    this.#parts.manifestCodes.add(code);
    return code;
  }

  /** Answers the new key. The old one is refused from now on, unless it is kept for an overlap. */
  rotatePrivateKey(options: { keepOld?: boolean } = {}): string {
    const { privateKey, publicKey } = generateKeyPair();
    const { app } = this;
    app.privateKey = privateKey;
    if (!options.keepOld) app.revokedKeys.push(...app.publicKeys.splice(0));
    app.publicKeys.push(publicKey);
    return privateKey;
  }

  // Webhooks

  /** Null keeps them queued. */
  deliverTo(url: string | null): void {
    this.#parts.webhooks.deliverTo(url);
  }

  hold(): void {
    this.#parts.webhooks.hold();
  }

  release(options: { order?: "reverse" | readonly number[] } = {}): void {
    this.#parts.webhooks.release(options.order);
  }

  /** Loses waiting webhooks: all of them, or the first `count`. */
  drop(count?: number): Delivery[] {
    return this.#parts.webhooks.drop(count);
  }

  silently<T>(change: () => T): T {
    return this.world.silently(change);
  }

  async delivered(deadlineMs?: number): Promise<void> {
    await this.#parts.webhooks.delivered(deadlineMs);
  }

  async redeliver(guid: string): Promise<Delivery> {
    return await this.#parts.webhooks.redeliver(guid);
  }

  async deliver(delivery: HandMadeDelivery): Promise<{ status: DeliveryStatus; body: string }> {
    return await this.#parts.webhooks.deliver(delivery);
  }

  // Faults and the log

  fault(fault: Fault): void {
    this.#parts.faults.add(fault);
  }

  clearFaults(): void {
    this.#parts.faults.clear();
    this.#parts.limits.clear();
    this.#parts.server.cutHanging();
  }

  /** Refuses every request of an installation until GitHub's clock has moved on by that much. */
  rateLimit(limit: RateLimit): void {
    this.#parts.limits.start(limit);
  }

  requestsTo(method: string, path: string | RegExp): LoggedRequest[] {
    return this.requests.filter(
      (request) =>
        request.method === method &&
        (typeof path === "string" ? request.path === path : request.path.search(path) >= 0),
    );
  }

  /** What the App sent that no correct App sends, and the webhooks that it refused. */
  complaints(options: { except?: (delivery: Delivery) => boolean } = {}): string[] {
    const complaints = this.unexpected.map(
      ({ method, path, status, why }) => `${method} ${path} -> ${status} ${why}`,
    );
    for (const delivery of this.deliveries) {
      const { event, action, guid, status, answer, handMade } = delivery;
      if (handMade || typeof status !== "number" || status < 400 || options.except?.(delivery)) continue;
      complaints.push(`webhook ${event}.${action ?? ""} (${guid}) <- ${status} ${answer?.body ?? ""}`);
    }
    return complaints;
  }

  /** Throws if there are complaints. */
  assertQuiet(options: { except?: (delivery: Delivery) => boolean } = {}): void {
    const complaints = this.complaints(options);
    if (complaints.length > 0) throw new Error(`GitHub has complaints:\n${complaints.join("\n")}`);
  }
}

type Parts = ReturnType<typeof assemble>;

function assemble(options: FakeGitHubOptions) {
  const world = new World(options.now ?? (() => new Date()), options.permissions ?? defaultPermissions);
  const address = {
    host: options.enterpriseHost ?? "github.com",
    isEnterprise: options.enterpriseHost !== undefined,
  };
  const webhooks = new Webhooks(world, options.webhookTimeoutMs ?? 10_000, address.host);
  const faults = new Faults();
  const limits = new RateLimits(world, options.requestsPerHour);
  const authentication = new Authentication(world);
  const manifestCodes = new Set<string>();
  const table = routes({ world, authentication, webhooks, manifestCodes });
  const dispatcher = new Dispatcher(world, table, authentication, limits);
  const server = new ApiServer(dispatcher, faults, () => world.now(), address);
  return { world, webhooks, faults, limits, manifestCodes, dispatcher, server };
}

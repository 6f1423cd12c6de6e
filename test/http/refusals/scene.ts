/** What the refusals are provoked on: a world with enough items and records for each to have its own. */

import { randomUUID } from "node:crypto";
import { createLocalRepository } from "../../../src/store/repositories.ts";
import type { FakeRepository } from "../../fake-github/fake-repository.ts";
import { type Answer, ApiClient, type Sent } from "../../harness/api-client.ts";
import { ADMIN_TOKEN, World } from "../../harness/world.ts";
import { awayServer, movedServer } from "./odd-servers.ts";

/** What a call is about: the parameters of its path. */
export type Target = Readonly<Record<string, string | number>>;

/** Which server is asked: the running one, one without its database, or one whose repository has just moved away. */
export type ServerName = "running" | "away" | "moved";

const ITEMS = 90;

export class Scene {
  readonly world: World;
  readonly repo: FakeRepository;
  readonly #items: number[];
  readonly #addresses: Readonly<Record<ServerName, string>>;
  readonly #close: () => Promise<void>;

  private constructor(parts: {
    world: World;
    repo: FakeRepository;
    items: number[];
    addresses: Readonly<Record<ServerName, string>>;
    close: () => Promise<void>;
  }) {
    this.world = parts.world;
    this.repo = parts.repo;
    this.#items = parts.items;
    this.#addresses = parts.addresses;
    this.#close = parts.close;
  }

  static async set(): Promise<Scene> {
    const world = await World.start();
    const repo = await world.repository();
    const alice = repo.as("alice");
    const items = Array.from({ length: ITEMS }, (_, n) =>
      alice.openIssue({ title: `Work ${n}`, labels: ["backlog"] }),
    );
    await world.settled();
    // Known here, and without the App.
    await world.db.transaction().execute((trx) => createLocalRepository(trx, "local", "bare"));
    const [away, moved] = [await awayServer(world), await movedServer(world)];
    return new Scene({
      world,
      repo,
      items,
      addresses: { running: world.app.address, away: away.address, moved: moved.address },
      close: async () => {
        await away.close();
        await moved.close();
        await world.end();
      },
    });
  }

  end(): Promise<void> {
    return this.#close();
  }

  get api(): ApiClient {
    return this.world.api;
  }

  /** An item that nobody has used yet. */
  item(): number {
    const number = this.#items.pop();
    if (number === undefined) throw new Error("the scene has too few items");
    return number;
  }

  /** A record that nobody has used yet. */
  async record(): Promise<{ topic: string; id: string }> {
    const id = randomUUID();
    await this.api.repo("PUT", `/memory/notes/${id}`, { body: { title: "x" } });
    return { topic: "notes", id };
  }

  /** An API token that may do this. */
  async token(body: object = {}): Promise<{ id: string; token: string }> {
    const asked = { name: "a test", capabilities: ["read", "claim", "write"], ...body };
    return (await this.api.send("POST", "/api/v1/tokens", { body: asked })).body;
  }

  send(server: ServerName, method: string, path: string, sent: Sent): Promise<Answer> {
    return new ApiClient(this.#addresses[server], ADMIN_TOKEN, "acme/widgets").send(method, path, sent);
  }
}

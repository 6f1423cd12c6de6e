/** Many clients that follow events over plain sockets, and note when each event comes to them. */

import { connect, type Socket } from "node:net";

export class Followers {
  readonly #sockets: Socket[] = [];
  readonly #sentAt = new Map<string, number>();
  /** Milliseconds from the request that made an event to its coming, once for each client that it came to. */
  latencies: number[] = [];

  /** Resolves when every client knows from where it follows. */
  static async open(address: string, token: string, count: number): Promise<Followers> {
    const followers = new Followers();
    const { hostname, port } = new URL(address);
    // A few at a time: the backlog of a listening socket is short.
    for (let opened = 0; opened < count; opened += 50) {
      await Promise.all(
        Array.from({ length: Math.min(50, count - opened) }, () =>
          followers.#follow(hostname, Number(port), token),
        ),
      );
    }
    return followers;
  }

  get count(): number {
    return this.#sockets.length;
  }

  begin(): void {
    this.latencies = [];
  }

  /** The claim of an item is about to be asked for. */
  sent(number: number): void {
    this.#sentAt.set(String(number), performance.now());
  }

  leave(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #follow(host: string, port: number, token: string): Promise<void> {
    const { promise: begun, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect(port, host);
    let rest = "";
    socket.setEncoding("latin1");
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`a stream was closed: ${rest.slice(0, 300)}`)));
    socket.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("id: ")) resolve();
        if (line.startsWith("data: {") && line.includes('"type":"item.claimed"')) this.#came(line);
      }
    });
    socket.write(`GET /api/v1/events HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    this.#sockets.push(socket);
    return begun;
  }

  #came(line: string): void {
    const number = /"number":(\d+)/.exec(line)?.[1] ?? "";
    const sentAt = this.#sentAt.get(number);
    if (sentAt !== undefined) this.latencies.push(performance.now() - sentAt);
  }
}

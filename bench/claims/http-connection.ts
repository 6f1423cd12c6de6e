/**
 * One kept-alive HTTP/1.1 connection, as bare as can be: the load generator shares the machine with what it measures.
 * It reads answers with a Content-Length, one at a time.
 */

import { connect, type Socket } from "node:net";

export interface HttpAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  readonly body: any;
}

/** An answer whose body is yet to be read. */
export interface TextAnswer {
  readonly status: number;
  readonly text: string;
}

const HEADER_END = Buffer.from("\r\n\r\n");

export class HttpConnection {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #token: string;
  #received: Buffer = Buffer.alloc(0);
  #waiting: { resolve(answer: TextAnswer): void; reject(error: Error): void } | null = null;

  private constructor(socket: Socket, host: string, token: string) {
    this.#socket = socket;
    this.#host = host;
    this.#token = token;
    socket.setNoDelay(true);
    socket.on("data", (data) => this.#take(data));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("the server closed the connection")));
  }

  static async open(address: string, token: string): Promise<HttpConnection> {
    const { hostname, port, host } = new URL(address);
    const socket = connect({ host: hostname, port: Number(port) });
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return new HttpConnection(socket, host, token);
  }

  /** Sends a request and answers what comes back; only one at a time. */
  async send(method: string, path: string, body: object | null, headers = ""): Promise<HttpAnswer> {
    const authorization = `authorization: Bearer ${this.#token}\r\n`;
    const bytes = body === null ? null : Buffer.from(JSON.stringify(body));
    const { status, text } = await this.sendBytes(method, path, bytes, authorization + headers);
    return { status, body: JSON.parse(text) };
  }

  /** Sends bytes as they are, and answers what comes back as text; only one at a time. */
  sendBytes(method: string, path: string, body: Buffer | null, headers: string): Promise<TextAnswer> {
    const about = body === null ? "" : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    this.#socket.cork();
    this.#socket.write(`${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n${headers}${about}\r\n`);
    if (body !== null) this.#socket.write(body);
    this.#socket.uncork();
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  close(): void {
    this.#waiting = null;
    this.#socket.destroy();
  }

  #take(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    const headerEnd = this.#received.indexOf(HEADER_END);
    if (headerEnd < 0) return;
    const header = this.#received.toString("latin1", 0, headerEnd);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(header)?.[1]);
    if (Number.isNaN(length)) {
      this.#waiting?.reject(new Error("an answer without Content-Length"));
      return;
    }
    const end = headerEnd + HEADER_END.length + length;
    if (this.#received.length < end) return;
    const text = this.#received.toString("utf8", headerEnd + HEADER_END.length, end);
    this.#received = this.#received.subarray(end);
    this.#waiting?.resolve({ status: Number(header.slice(9, 12)), text });
  }
}

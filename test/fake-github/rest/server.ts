import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "../json.ts";
import type { Dispatcher, Outcome } from "./dispatcher.ts";
import type { Fault, Faults } from "./faults.ts";

export type LoggedRequest = {
  method: string;
  /** Decoded: `/labels/a/b` for `/labels/a%2Fb`. */
  path: string;
  query: Record<string, string>;
  /** Null while it is under way, and when the connection was cut. */
  status: number | null;
  /** `app` with a JSON web token, the bot's login with an installation token, else null. */
  actor: string | null;
  body: Json | undefined;
  at: Date;
  /** When it came and when it was answered, in milliseconds of a clock that only goes forward. */
  beganMs: number;
  endedMs: number | null;
  fault: Fault["kind"] | null;
};

/** Whose pages and REST API these are. */
export type Address = {
  /** `github.com`, or the host of an Enterprise Server, whose API is below `/api/v3`. */
  host: string;
  isEnterprise: boolean;
};

/** The REST API over HTTP: reads, lets the faults strike, dispatches, answers, and keeps the log. */
export class ApiServer {
  readonly requests: LoggedRequest[] = [];
  #server: Server;
  #dispatcher: Dispatcher;
  #faults: Faults;
  #now: () => Date;
  #address: Address;
  #hanging = new Set<ServerResponse>();

  constructor(dispatcher: Dispatcher, faults: Faults, now: () => Date, address: Address) {
    this.#address = address;
    this.#dispatcher = dispatcher;
    this.#faults = faults;
    this.#now = now;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        send(response, this.#address.host, {
          status: 500,
          headers: {},
          body: { message: `the fake broke: ${String(error)}` },
        });
      });
    });
    // Longer than any test, so that no client picks up a connection just as it closes.
    this.#server.keepAliveTimeout = 600_000;
  }

  listen(port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        const address = this.#server.address() as AddressInfo;
        resolve(`http://127.0.0.1:${address.port}`);
      });
    });
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** Cuts the requests that were left hanging. */
  cutHanging(): void {
    for (const response of this.#hanging) response.destroy();
    this.#hanging.clear();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? "GET";
    const url = new URL(request.url ?? "/", "http://fake");
    const path = url.pathname.replace(/^\/api\/v3(?=\/)/, "");
    // What an Enterprise Server has outside of /api/v3 are pages for people.
    const isForPeople = this.#address.isEnterprise && path === url.pathname;
    const logged: LoggedRequest = {
      method,
      path: decodePath(path),
      query: Object.fromEntries(url.searchParams),
      status: null,
      actor: null,
      body: undefined,
      at: this.#now(),
      beganMs: performance.now(),
      endedMs: null,
      fault: null,
    };
    this.requests.push(logged);
    const text = await readText(request);
    const { authorization, accept = "" } = request.headers;
    const fault = this.#faults.take(method, logged.path);
    logged.fault = fault?.kind ?? null;
    logged.actor = this.#dispatcher.actorOf(authorization);
    logged.body = bodyForLog(text);
    const act = () =>
      this.#dispatcher.dispatch({
        method,
        path: isForPeople ? `${path}: not below /api/v3` : path,
        query: url.searchParams,
        text,
        accept,
        authorization,
      });
    const outcome = await this.#strike(fault, act, response);
    if (outcome === null) return;
    const answer = method === "GET" ? marked(outcome, request.headers["if-none-match"]) : outcome;
    logged.status = answer.status;
    logged.endedMs = performance.now();
    send(response, this.#address.host, {
      ...answer,
      headers: { date: this.#now().toUTCString(), ...answer.headers },
    });
  }

  /** Null when there is nothing to answer any more. */
  async #strike(fault: Fault | null, act: () => Outcome, response: ServerResponse): Promise<Outcome | null> {
    switch (fault?.kind) {
      case undefined:
        return act();
      case "status":
        return faultOutcome(fault);
      case "delay":
        await new Promise((resolve) => setTimeout(resolve, fault.delayMs ?? 100));
        return act();
      case "hang":
        this.#hanging.add(response);
        return null;
      case "drop":
        response.destroy();
        return null;
      case "effect-then-status":
        act();
        fault.strike?.();
        return faultOutcome(fault);
      case "effect-then-drop":
        act();
        fault.strike?.();
        response.destroy();
        return null;
    }
  }
}

/** Pages are the server's own. */
export const onHost = (host: string, text: string): string =>
  text.replaceAll("https://github.com/", `https://${host}/`);

/** Parsed if it can be, else as it came. */
function bodyForLog(text: string): Json | undefined {
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function faultOutcome(fault: Fault): Outcome {
  const status = fault.status ?? 502;
  return { status, headers: fault.headers ?? {}, body: fault.body ?? { message: "Server Error" } };
}

/** The same answer again is not told again, to whoever has its mark. */
function marked(outcome: Outcome, known: string | undefined): Outcome {
  if (outcome.status !== 200 || outcome.body === undefined) return outcome;
  const etag = `"${createHash("sha256").update(JSON.stringify(outcome.body)).digest("hex")}"`;
  const headers = { ...outcome.headers, etag };
  return known === etag ? { status: 304, headers, body: undefined } : { ...outcome, headers };
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, host: string, { status, headers, body }: Outcome): void {
  const isRaw = typeof body === "string" && headers["content-type"] !== undefined;
  const text = body === undefined ? "" : isRaw ? body : onHost(host, JSON.stringify(body));
  response.writeHead(status, {
    ...(body === undefined ? {} : { "content-type": "application/json; charset=utf-8" }),
    ...headers,
  });
  response.end(text);
}

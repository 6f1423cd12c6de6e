import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type ReceivedWebhook = {
  event: string;
  action: string | null;
  guid: string;
  isSigned: boolean;
  headers: Record<string, string>;
  raw: string;
  payload: Record<string, unknown>;
};

/** The smallest App: keeps what it receives and says 200, or whatever `answer` says. */
export class WebhookReceiver {
  readonly url: string;
  readonly received: ReceivedWebhook[] = [];
  /** Null lets the sender wait for ever. */
  answer: (webhook: ReceivedWebhook) => number | null = () => 200;
  #stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.#stop = stop;
  }

  static async start(secret: string): Promise<WebhookReceiver> {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(Buffer.from(chunk));
      const webhook = parse(Buffer.concat(chunks), Object.entries(request.headers), secret);
      receiver.received.push(webhook);
      const status = receiver.answer(webhook);
      if (status !== null) response.writeHead(status).end("received");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const stop = () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    const receiver = new WebhookReceiver(`http://127.0.0.1:${port}/hook`, stop);
    return receiver;
  }

  /** For example `issues.opened`, in the order of arrival. */
  names(): string[] {
    return this.received.map(({ event, action }) => (action === null ? event : `${event}.${action}`));
  }

  async stop(): Promise<void> {
    await this.#stop();
  }
}

function parse(
  raw: Buffer,
  headers: [string, string | string[] | undefined][],
  secret: string,
): ReceivedWebhook {
  const named = Object.fromEntries(headers.map(([name, value]) => [name, String(value)]));
  const payload: Record<string, unknown> = JSON.parse(raw.toString("utf8"));
  const signature = `sha256=${createHmac("sha256", secret).update(raw).digest("hex")}`;
  return {
    event: named["x-github-event"] ?? "",
    action: typeof payload.action === "string" ? payload.action : null,
    guid: named["x-github-delivery"] ?? "",
    isSigned: named["x-hub-signature-256"] === signature,
    headers: named,
    raw: raw.toString("utf8"),
    payload,
  };
}

import { createHmac } from "node:crypto";
import { request } from "node:http";

export type Answer = { status: number; headers: Record<string, string>; body: string };

export type PostOutcome =
  | { kind: "answered"; answer: Answer }
  | { kind: "timed out" }
  | { kind: "unreachable" };

export function sign(payload: string, secret: string): string {
  return `sha256=${createHmac("sha256", secret).update(payload).digest("hex")}`;
}

/** One POST on a connection of its own, so that a restart of the App under test breaks nothing. */
export function postWebhook(
  url: string,
  headers: Record<string, string>,
  payload: string,
  timeoutMs: number,
): Promise<PostOutcome> {
  return new Promise((resolve) => {
    const body = Buffer.from(payload);
    const post = request(url, {
      method: "POST",
      agent: false,
      headers: { ...headers, "Content-Length": body.length },
    });
    const timer = setTimeout(() => {
      resolve({ kind: "timed out" });
      post.destroy();
    }, timeoutMs);
    const settle = (outcome: PostOutcome) => {
      clearTimeout(timer);
      resolve(outcome);
    };
    post.on("error", () => settle({ kind: "unreachable" }));
    post.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", () => settle({ kind: "unreachable" }));
      response.on("end", () => {
        const answer = {
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
          ),
          body: Buffer.concat(chunks).toString("utf8"),
        };
        settle({ kind: "answered", answer });
      });
    });
    post.end(body);
  });
}

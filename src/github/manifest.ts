/** The last step of GitHub's manifest flow: a one-time code in exchange for everything the App must know. */

import { request } from "@octokit/request";
import { RequestError } from "@octokit/request-error";
import { z } from "zod";
import type { Client } from "./connection.ts";

/** An App as GitHub shows it to anybody who may see it. */
export interface RegisteredApp {
  readonly appId: number;
  readonly slug: string;
  readonly name: string;
  readonly htmlUrl: string;
}

/** An App that was registered just now, with the secrets that GitHub tells this once. */
export interface NewApp extends RegisteredApp {
  readonly privateKey: string;
  readonly webhookSecret: string;
}

export type Conversion =
  | { readonly kind: "converted"; readonly app: NewApp }
  /** GitHub does not know the code: used already, or older than an hour. */
  | { readonly kind: "expired" }
  /** GitHub did not answer, or not now. The code may still be good. */
  | { readonly kind: "unreachable"; readonly reason: string }
  /** GitHub answered what cannot be used. The code is used up. */
  | { readonly kind: "unusable"; readonly reason: string };

const TIMEOUT_MS = 20_000;

const AppAnswer = z.object({
  id: z.int().positive(),
  slug: z.string().regex(/^[A-Za-z0-9_.-]+$/),
  name: z.string(),
  html_url: z.url({ protocol: /^https?$/ }),
});
const NewAppAnswer = AppAnswer.extend({
  pem: z.string().regex(/-----BEGIN [A-Z ]*PRIVATE KEY-----/),
  webhook_secret: z.string().min(1),
});

const registeredApp = (answer: z.infer<typeof AppAnswer>): RegisteredApp => ({
  appId: answer.id,
  slug: answer.slug,
  name: answer.name,
  htmlUrl: answer.html_url,
});

/** Exchanges the code that GitHub sent the browser back with. It works once, and needs no authentication. */
export async function convertManifestCode(baseUrl: string, code: string): Promise<Conversion> {
  try {
    const { data } = await request("POST /app-manifests/{code}/conversions", {
      baseUrl,
      code,
      headers: { "user-agent": "leasehold" },
      request: { signal: AbortSignal.timeout(TIMEOUT_MS) },
    });
    const answer = NewAppAnswer.safeParse(data);
    if (!answer.success) {
      // Which fields, and never their values: they are secrets.
      const fields = answer.error.issues.map((issue) => issue.path.join(".") || "the whole answer");
      return { kind: "unusable", reason: `not of the documented form: ${fields.join(", ")}` };
    }
    const { pem, webhook_secret } = answer.data;
    const app = { ...registeredApp(answer.data), privateKey: pem, webhookSecret: webhook_secret };
    return { kind: "converted", app };
  } catch (error) {
    return failedConversion(error);
  }
}

/** Octokit's own message names the address, and the code in it may still be good: only the rest is passed on. */
function failedConversion(error: unknown): Conversion {
  if (!(error instanceof RequestError)) {
    return { kind: "unreachable", reason: error instanceof Error ? error.message : "no reason is known" };
  }
  const { status, response, message } = error;
  if (!response) return { kind: "unreachable", reason: message };
  if (status === 404 || status === 422) return { kind: "expired" };
  return { kind: "unreachable", reason: `it answered with status ${status}` };
}

/** The App that a client of the App itself belongs to. */
export async function readApp(client: Client): Promise<RegisteredApp> {
  const { data } = await client.request("GET /app");
  return registeredApp(AppAnswer.parse(data));
}

/** Where people see the GitHub whose REST base this is: `https://github.com`, or a server's own address. */
export function webBaseOf(apiUrl: string): string {
  const { origin, protocol, host } = new URL(apiUrl);
  if (host === "api.github.com") return "https://github.com";
  // Enterprise Cloud with data residency: api.octocorp.ghe.com.
  const resident = /^api\.([a-z0-9-]+\.ghe\.com)$/.exec(host)?.[1];
  return resident ? `${protocol}//${resident}` : origin;
}

/** GitHub's signature of a delivery: `X-Hub-Signature-256: sha256=<hex>`, over the bytes of the body. */

import { createHmac, timingSafeEqual } from "node:crypto";

/** Whether one of the secrets signed these very bytes. Told in a time that does not depend on where it differs. */
export function isSigned(body: Uint8Array, signature: string, secrets: readonly string[]): boolean {
  const given = /^sha256=([0-9a-f]{64})$/.exec(signature)?.[1];
  if (given === undefined) return false;
  return secrets.some((secret) =>
    timingSafeEqual(Buffer.from(given, "hex"), createHmac("sha256", secret).update(body).digest()),
  );
}

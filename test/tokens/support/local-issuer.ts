/** An OIDC issuer of our own, as GitHub Actions' is: it publishes its keys, and signs what it is asked to. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

interface Key {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export class LocalIssuer {
  readonly #server: Server;
  #keys: Key[] = [];
  #made = 0;
  /** How often the keys were asked for. */
  asked = 0;
  /** Answers 500 in place of the keys. */
  broken = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<LocalIssuer> {
    const server = createServer();
    const issuer = new LocalIssuer(server);
    server.on("request", (request, response) => {
      const isKeys = request.url === "/.well-known/jwks";
      if (isKeys) issuer.asked += 1;
      response.writeHead(issuer.broken ? 500 : isKeys ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify({ keys: issuer.#keys.map(({ jwk }) => jwk) }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await issuer.rotate();
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A new key takes the place of those before. */
  async rotate(): Promise<void> {
    this.#made += 1;
    const kid = `key-${this.#made}`;
    const { privateKey, publicKey } = await generateKeyPair("RS256");
    this.#keys = [
      { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" } },
    ];
  }

  /** A token as a workflow gets it; `over` changes what it says. */
  async token(
    claims: Record<string, unknown>,
    over: { issuer?: string; key?: CryptoKey } = {},
  ): Promise<string> {
    const [key] = this.#keys;
    if (!key) throw new Error("the issuer has no key");
    const { exp, aud = "leasehold", ...others } = claims;
    return new SignJWT(others)
      .setProtectedHeader({ alg: "RS256", kid: key.kid, typ: "JWT" })
      .setIssuer(over.issuer ?? this.url)
      .setAudience(aud as string)
      .setExpirationTime(exp as number)
      .sign(over.key ?? key.privateKey);
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

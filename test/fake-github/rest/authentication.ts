import { randomUUID, verify } from "node:crypto";
import { HttpError, malformed } from "../http-error.ts";
import type { Permissions } from "../state/model.ts";
import type { World } from "../state/world.ts";
import type { Credentials, Grant } from "./api-request.ts";

/** An installation token lives for an hour. */
const TOKEN_LIFETIME_MS = 3_600_000;

/** GitHub takes JSON web tokens that expire within ten minutes of its own clock. */
const MAX_JWT_LIFETIME_SECONDS = 600;

type Token = { installationId: number; grant: Grant; expiresAt: Date };

/** The tokens that were handed out, and what an `Authorization` header is worth. */
export class Authentication {
  #world: World;
  #tokens = new Map<string, Token>();

  constructor(world: World) {
    this.#world = world;
  }

  issueToken(
    installationId: number,
    repositoryIds: ReadonlySet<number> | null,
    permissions: Permissions,
  ): { token: string; expiresAt: Date } {
    const token = `ghs_${randomUUID().replaceAll("-", "")}fake`;
    const expiresAt = new Date(this.#world.now().getTime() + TOKEN_LIFETIME_MS);
    this.#tokens.set(token, { installationId, grant: { repositoryIds, permissions }, expiresAt });
    return { token, expiresAt };
  }

  identify(authorization: string | undefined): Credentials {
    if (authorization === undefined) return { kind: "none" };
    const credential = /^(?:bearer|token) (.+)$/i.exec(authorization)?.[1];
    if (credential === undefined) throw malformed(401, "Bad credentials");
    return credential.split(".").length === 3
      ? this.#identifyApp(credential)
      : this.#identifyToken(credential);
  }

  #identifyToken(text: string): Credentials {
    const token = this.#tokens.get(text);
    if (!token) throw malformed(401, "Bad credentials");
    const installation = this.#world.installations.get(token.installationId);
    // Neither is a mistake of the App: it could not know.
    if (!installation || token.expiresAt <= this.#world.now()) throw new HttpError(401, "Bad credentials");
    if (installation.suspended) throw new HttpError(403, "This installation has been suspended");
    const { app } = this.#world;
    return {
      kind: "installation",
      installation,
      actor: { account: app.bot, viaApp: app },
      grant: token.grant,
    };
  }

  #identifyApp(jwt: string): Credentials {
    const { app } = this.#world;
    const undecodable = "A JSON web token could not be decoded";
    const [header = "", claims = "", signature = ""] = jwt.split(".");
    if (decode(header).alg !== "RS256") throw malformed(401, undecodable);
    const isSignedBy = (key: string) =>
      verify("sha256", Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, "base64url"));
    if (!app.publicKeys.some(isSignedBy)) {
      throw app.revokedKeys.some(isSignedBy) ? new HttpError(401, undecodable) : malformed(401, undecodable);
    }
    const { iss, iat, exp } = decode(claims);
    if (String(iss) !== String(app.id) && iss !== app.clientId) {
      throw malformed(401, "'Issuer' claim ('iss') must be an Integer");
    }
    this.#checkTimes(iat, exp);
    return { kind: "app" };
  }

  /** Clocks differ, so a wrong time is no mistake of the App; Octokit looks for these very words. */
  #checkTimes(iat: unknown, exp: unknown): void {
    const now = this.#world.now().getTime() / 1000;
    if (typeof iat !== "number" || iat > now) {
      throw new HttpError(
        401,
        "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
      );
    }
    if (typeof exp !== "number" || exp <= now) {
      throw new HttpError(
        401,
        "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
      );
    }
    if (exp > now + MAX_JWT_LIFETIME_SECONDS) {
      throw new HttpError(401, "'Expiration time' claim ('exp') is too far in the future");
    }
  }
}

function decode(part: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return parsed && typeof parsed === "object" ? { ...parsed } : {};
  } catch {
    return {};
  }
}

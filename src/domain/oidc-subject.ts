/** Which workflows a repository trusts, by the subjects of their tokens (protocol 12, `oidc`). */

import type { OidcCapability } from "./settings.ts";

/** Whether a subject is of the pattern's form: `*` stands for any characters, also for none. */
export function matchesSubject(pattern: string, subject: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  if (others.length === 0) return pattern === subject;
  const last = others.pop() ?? "";
  if (!subject.startsWith(first) || subject.length < first.length + last.length) return false;
  let rest = subject.slice(first.length, subject.length - last.length);
  for (const part of others) {
    const at = rest.indexOf(part);
    if (at < 0) return false;
    rest = rest.slice(at + part.length);
  }
  return subject.endsWith(last);
}

/** All that the patterns give that the subject matches; nothing: it is not trusted. */
export function trustedCapabilities(
  trusted: Readonly<Record<string, readonly OidcCapability[]>>,
  subject: string,
): ReadonlySet<OidcCapability> {
  const given = Object.entries(trusted).filter(([pattern]) => matchesSubject(pattern, subject));
  return new Set(given.flatMap(([, capabilities]) => capabilities));
}

/** Reading one file of a repository, as it is at a branch or commit. */

import { z } from "zod";
import type { Client } from "./connection.ts";
import { failureOf, isAbsent } from "./failure.ts";
import type { RepoAddress } from "./reads.ts";

export type FileRead =
  | { readonly kind: "text"; readonly text: string; readonly sha: string }
  | { readonly kind: "absent" }
  /** There is no such branch or commit. */
  | { readonly kind: "no_ref" }
  /** It is there, and cannot be used. */
  | { readonly kind: "unusable"; readonly why: string; readonly sha: string };

const Content = z.object({
  type: z.string(),
  sha: z.string(),
  size: z.int(),
  encoding: z.string().nullish(),
  content: z.string().nullish(),
});

/** GitHub answers 404 for both, and tells them apart in words. */
const NO_REF = /no commit found for the ref/i;

/** Whether two reads found the same. */
export function isSameFile(a: FileRead, b: FileRead): boolean {
  return a.kind === b.kind && ("sha" in a ? a.sha : "") === ("sha" in b ? b.sha : "");
}

/** The sha is the blob's: the same text has the same, whatever commit it is read at. */
export async function readFile(
  client: Client,
  { owner, name }: RepoAddress,
  path: string,
  at: { ref: string; maxBytes: number },
): Promise<FileRead> {
  try {
    const { data } = await client.request("GET /repos/{owner}/{repo}/contents/{path}", {
      owner,
      repo: name,
      path,
      ref: at.ref,
    });
    if (Array.isArray(data)) return { kind: "unusable", why: "it is a folder", sha: "" };
    const { type, sha, size, encoding, content } = Content.parse(data);
    if (type !== "file") return { kind: "unusable", why: `it is a ${type}, and no file`, sha };
    // GitHub leaves out the text of what is larger than a megabyte.
    if (size > at.maxBytes || encoding !== "base64")
      return { kind: "unusable", why: `it is larger than ${at.maxBytes} bytes`, sha };
    const text = decodeUtf8(Buffer.from(content ?? "", "base64"));
    return text === null ? { kind: "unusable", why: "it is not UTF-8", sha } : { kind: "text", text, sha };
  } catch (error) {
    if (!isAbsent(error)) throw error;
    return { kind: NO_REF.test(failureOf(error).message) ? "no_ref" : "absent" };
  }
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

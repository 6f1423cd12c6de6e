/** What an API token may do (protocol 10). Every route names the one that it needs. */

import { z } from "zod";

export const CAPABILITIES = ["read", "claim", "write", "advance", "author", "admin"] as const;

export const Capability = z.enum(CAPABILITIES).meta({
  id: "Capability",
  description:
    "read: look; claim: take, renew and release; write: records, complete and park; advance: triggers; " +
    "author: propose items and groupings; admin: everything, and tokens, doctor and dead letters",
});
export type Capability = z.output<typeof Capability>;

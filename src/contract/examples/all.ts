/** The examples of every body, by the id of its schema. */

import { AUTHORING_EXAMPLES } from "./authoring.ts";
import { BACKLOG_EXAMPLES } from "./backlog.ts";
import { CLAIM_EXAMPLES } from "./claims.ts";
import { DOCTOR_EXAMPLES } from "./doctor.ts";
import type { Example } from "./example.ts";
import { FLEET_EXAMPLES } from "./fleet.ts";
import { MEMORY_EXAMPLES } from "./memory.ts";

export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  ...BACKLOG_EXAMPLES,
  ...AUTHORING_EXAMPLES,
  ...CLAIM_EXAMPLES,
  ...MEMORY_EXAMPLES,
  ...FLEET_EXAMPLES,
  ...DOCTOR_EXAMPLES,
};

/** What a token that GitHub Actions made says of its workflow; only what is read here. */

import { z } from "zod";

const Id = z
  .union([z.string(), z.number()])
  .transform(Number)
  .refine((id) => Number.isSafeInteger(id) && id > 0);

export const WorkflowClaims = z.object({
  sub: z.string().min(1).max(1000),
  exp: z.number(),
  /** GitHub's id of the repository whose workflow it is: its name may belong to another by now. */
  repository_id: Id,
  run_id: Id,
});
export type WorkflowClaims = z.output<typeof WorkflowClaims>;

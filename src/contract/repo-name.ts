/** A repository, as GitHub names it in full. */

import { z } from "zod";

export const RepoName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,100}\/[A-Za-z0-9._-]{1,100}$/, {
    error: "a repository is named owner/name, as in acme/widgets",
  })
  .meta({ description: "`owner/name`", example: "acme/widgets" });

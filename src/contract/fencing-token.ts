/** Fencing tokens travel as JSON numbers (api.md). */

import { z } from "zod";

export const FencingToken = z
  .int({ error: "a fencing token is a whole number, as the grant answered it" })
  .positive()
  .meta({
    id: "FencingToken",
    description: "The token of a grant; strictly increasing, never reused",
    example: 41,
  });

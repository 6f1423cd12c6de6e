import { HttpError } from "../http-error.ts";
import type { Repository } from "./model.ts";

export function assertWritable(repository: Repository): void {
  if (repository.archived) throw new HttpError(403, "Repository was archived so is read-only.");
}

import { HttpError } from "../http-error.ts";
import type { RepositoryRequest } from "./route.ts";

/** The sha that a branch, `heads/branch`, a sha, or (for a fork) `owner:branch` means. */
export function resolveRef({ world, repository }: RepositoryRequest, ref: string): string {
  const [owner, forkBranch] = ref.includes(":") ? ref.split(":", 2) : [];
  if (owner !== undefined && forkBranch !== undefined) {
    const fork = world.findRepository(owner, repository.name);
    const tip = fork?.branches.get(forkBranch);
    if (tip) return tip;
  }
  const branch = ref.replace(/^(?:refs\/)?heads\//, "");
  const sha = repository.branches.get(branch) ?? (world.commits.has(ref) ? ref : undefined);
  if (sha === undefined) throw new HttpError(404, `No commit found for the ref ${ref}`);
  return sha;
}

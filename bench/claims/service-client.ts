/** Asks the services directly, as a route does: the repository by its name, then the use case. */

import { itemRef } from "../../src/domain/record-key.ts";
import { ADMIN as CALLER } from "../../src/services/caller.ts";
import { type ClaimTarget, claim } from "../../src/services/claim.ts";
import type { Deps } from "../../src/services/deps.ts";
import { release } from "../../src/services/release.ts";
import { update } from "../../src/services/remember.ts";
import { renew } from "../../src/services/renew.ts";
import { repositoryByName } from "../../src/services/repository-by-name.ts";
import type { Client } from "./programs.ts";

export function serviceClient(deps: Deps): Client {
  const targetOf = async (number: number): Promise<ClaimTarget> => {
    const repository = await repositoryByName(deps, { owner: "acme", name: "widgets" });
    const { topic, id } = itemRef(repository.id, number);
    return { repository, topic, id };
  };
  return {
    claim: async (number, leaseSeconds) => {
      const answer = await claim(deps, CALLER, await targetOf(number), {
        owner: "worker/7f3a",
        leaseSeconds,
      });
      return answer.granted ? answer.fencingToken : null;
    },
    renew: async (number, fencingToken) => {
      const answer = await renew(deps, CALLER, await targetOf(number), { fencingToken, leaseSeconds: 900 });
      if (!answer.granted) throw new Error(`a renewal was refused: ${answer.reason}`);
    },
    write: async (number, token, body) =>
      void (await update(deps, CALLER, await targetOf(number), token, { body })),
    release: async (number, fencingToken) => {
      const answer = await release(deps, CALLER, await targetOf(number), { fencingToken });
      if (!answer.released) throw new Error(`a release was refused: ${answer.reason}`);
    },
  };
}

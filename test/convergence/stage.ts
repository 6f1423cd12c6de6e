/** Where games are played: a database, a GitHub and a clock, with the program that runs between them. */

import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { openDatabase } from "../../src/store/database.ts";
import { FakeGitHub } from "../fake-github/fake-github.ts";
import { createDatabase, dropDatabase, TEMPLATE, urlOf } from "../harness/databases.ts";
import { Clock } from "./clock.ts";
import type { Stage } from "./play.ts";

export async function setStage(): Promise<{ stage: Stage; end: () => Promise<void> }> {
  const server = inject("postgresUrl");
  const name = `v_${randomBytes(8).toString("hex")}`;
  await createDatabase(server, name, TEMPLATE);
  const url = urlOf(server, name);
  const { pool, close } = openDatabase(url, 2, () => {});
  const clock = await Clock.takeOver(pool);
  const github = await FakeGitHub.start({ now: () => clock.now() });
  // Deliveries are taken from the queue and carried by hand.
  github.hold();
  const stage: Stage = { url, github, clock, pool, program: null };
  return {
    stage,
    end: async () => {
      await stage.program?.end();
      await github.stop();
      await close();
      await dropDatabase(server, name);
    },
  };
}

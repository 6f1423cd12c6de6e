/** A waiter whose place in the line is gone (it timed out, or its process was thought dead) is granted nothing. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { beat, leaveLine } from "../../src/store/claim-line.ts";
import { endClaim, findClaim } from "../../src/store/claims.ts";
import { type ClaimCall, takeClaim } from "../../src/store/take-claim.ts";
import { type TestDatabase, testDatabase } from "../harness/test-database.ts";

let database: TestDatabase;
const ref = { repositoryId: 10, topic: "locks", id: "deploy" };
const call: ClaimCall = {
  ref,
  owner: "w/a",
  actor: "ann",
  region: "local",
  deploymentRegion: "local",
  leaseSeconds: 60,
  scope: "item",
  takeover: false,
  wait: false,
  ticket: null,
  replica: "r",
  markAfterSeconds: 0,
};

beforeAll(async () => {
  database = await testDatabase();
  await database.pool.query(
    "insert into repository (id, installation_id, owner, name) values (10, 1, 'o', 'r')",
  );
  await database.pool.query(
    "insert into record (repository_id, topic, id, kind) values (10, 'locks', 'deploy', 'Note')",
  );
  await beat(database.db, "r");
});
afterAll(() => database.drop());

describe("a place in the line", () => {
  it("is what is served: without it nothing is granted, and with it everything", async () => {
    const { db } = database;
    const first = await takeClaim(db, call);
    if (!first.granted) throw new Error(first.reason);
    const [left, stays] = [
      await takeClaim(db, { ...call, wait: true }),
      await takeClaim(db, { ...call, wait: true }),
    ];
    if (left.granted || stays.granted || !left.ticket || !stays.ticket)
      throw new Error("nobody was put into the line");
    await leaveLine(db, ref, left.ticket);
    await db.transaction().execute((trx) => endClaim(trx, ref, first.fence, "released"));

    expect(await takeClaim(db, { ...call, ticket: left.ticket })).toMatchObject({
      granted: false,
      reason: "timeout",
    });
    expect((await findClaim(db, ref))?.claim).toMatchObject({ live: false, fence: first.fence });
    expect(await takeClaim(db, { ...call, ticket: stays.ticket })).toMatchObject({ granted: true });
  });
});

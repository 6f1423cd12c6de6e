/** A grant that does not reach its caller is taken back: no attempt, no marker, and no lease that must run out. */

import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BACKLOG, itemId } from "../../src/domain/record-key.ts";
import { ADMIN } from "../../src/services/caller.ts";
import { type ClaimTarget, claim, type Delivery, refOf } from "../../src/services/claim.ts";
import { claimNext } from "../../src/services/claim-next.ts";
import { takeBack } from "../../src/services/take-back.ts";
import { inTransaction } from "../../src/store/database.ts";
import { lockRecord } from "../../src/store/records.ts";
import { findRepositoryByName } from "../../src/store/repositories.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { waitFor } from "../harness/wait-for.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";
import { claimMarkers } from "./support/stories.ts";

let world: World;
let repo: FakeRepository;

beforeAll(async () => {
  world = await World.start();
  repo = await world.repository();
});
afterAll(() => world.end());

/** The only item that is ready. */
async function onlyItem(): Promise<{ number: number; target: ClaimTarget }> {
  for (const { number } of (await world.api.ready("?limit=100")).ready)
    await world.api.claim(number, "w/occupied", { leaseSeconds: 1800 });
  const number = repo.as("alice").openIssue({ title: "the only one", labels: ["backlog"] });
  await world.settled();
  const repository = await findRepositoryByName(world.db, "acme", "widgets");
  if (!repository) throw new Error("the repository is not known");
  return { number, target: { repository, topic: BACKLOG, id: itemId(number) } };
}

const historyOf = async (number: number) => (await world.api.repo("GET", `/items/${number}/claims`)).claims;

/** Sends a claim, hangs up while the record's lock keeps the grant from being made, and lets it be made then. */
async function hangUpDuring(path: string, { number, target }: { number: number; target: ClaimTarget }) {
  const before = (await historyOf(number)).length;
  const hangUp = new AbortController();
  await inTransaction(world.db, async (trx) => {
    await lockRecord(trx, refOf(target));
    const asked = fetch(`${world.app.address}/api/v1/repos/acme/widgets${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ owner: "w/gone", leaseSeconds: 1800 }),
      signal: hangUp.signal,
    }).catch(() => null);
    await waitFor("the claim to wait for the lock", async () => {
      const { rows } = await sql<{ n: number }>`
        select count(*) as n from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`.execute(trx);
      return rows[0]?.n === 1 ? null : "nobody waits";
    });
    hangUp.abort();
    await asked;
    // The end of that connection comes before whatever is sent after it.
    for (let look = 0; look < 3; look += 1) await world.api.send("GET", "/health");
  });
  await waitFor("the grant to be taken back", async () => {
    const history = await historyOf(number);
    if (history.length !== before + 1) return "no grant was made";
    return history[0].ended === null ? "it is not taken back" : null;
  });
}

describe("a caller who hangs up while its claim is granted", () => {
  it.each([
    ["claim-next", () => "/claim-next"],
    ["claim", (number: number) => `/items/${number}/claim`],
  ])("%s: leaves the item free, with no attempt and no marker", async (_name, pathOf) => {
    const item = await onlyItem();
    await hangUpDuring(pathOf(item.number), item);
    expect((await historyOf(item.number))[0]).toMatchObject({ owner: "w/gone", ended: "undelivered" });
    expect(await world.api.status(item.number)).toMatchObject({ claimed: false, isHeld: false });
    await world.settled();
    expect(claimMarkers(repo, item.number)).toEqual([]);
    const next = await world.api.claim(item.number, "w/next");
    expect(next).toMatchObject({ granted: true, attempt: 1 });
    await world.settled();
    expect(claimMarkers(repo, item.number)).toHaveLength(1);
  });

  it("claims nothing for it any more once it is seen to be gone", async () => {
    const { number, target } = await onlyItem();
    const gone: Delivery = { left: AbortSignal.abort(), onOutcome: () => {} };
    const answer = await claimNext(world.app.deps, ADMIN, target.repository, { owner: "w/gone" }, gone);
    expect(answer).toMatchObject({ granted: false, reason: "none_ready" });
    expect(await historyOf(number)).toEqual([]);
  });
});

describe("a grant that is delivered", () => {
  it("has its marker at once, though it was not known before whether it would arrive", async () => {
    const { number } = await onlyItem();
    const answer = await world.api.repo("POST", "/claim-next", { body: { owner: "w/there" } });
    expect(answer).toMatchObject({ granted: true, number });
    await waitFor("its marker", () => (claimMarkers(repo, number).length === 1 ? null : "not there"), 10_000);
  });
});

describe("a grant that is taken back after all when its marker may be out", () => {
  it("ends, and counts: what stands on GitHub and the attempts agree", async () => {
    const { number, target } = await onlyItem();
    const answer = await claim(world.app.deps, ADMIN, target, { owner: "w/late" });
    if (!answer.granted) throw new Error("it was not granted");
    await world.settled();
    expect(claimMarkers(repo, number)).toHaveLength(1);
    expect(await takeBack(world.db, refOf(target), answer.fencingToken)).toBe(true);
    expect(await world.api.status(number)).toMatchObject({ claimed: false });
    const { attempts, defects } = await world.api.item(number);
    expect(attempts).toMatchObject({ grants: 1, markers: 1, reading: "consistent" });
    expect(defects).toEqual([]);
    expect(await world.api.claim(number, "w/next")).toMatchObject({ granted: true, attempt: 2 });
  });

  it("is not taken back twice, nor when another was granted since", async () => {
    const { target } = await onlyItem();
    const first = await claim(world.app.deps, ADMIN, target, { owner: "w/a" });
    if (!first.granted) throw new Error("it was not granted");
    expect(await takeBack(world.db, refOf(target), first.fencingToken)).toBe(true);
    expect(await takeBack(world.db, refOf(target), first.fencingToken)).toBe(false);
    const second = await claim(world.app.deps, ADMIN, target, { owner: "w/b" });
    expect(second.granted).toBe(true);
    expect(await takeBack(world.db, refOf(target), first.fencingToken)).toBe(false);
  });
});

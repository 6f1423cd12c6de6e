/** A client that is cut off anywhere in a burst, and goes on at any replica, gets everything exactly once. */

import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readEvents } from "../../src/store/event-log.ts";
import { EventReader } from "../harness/event-reader.ts";
import { waitFor } from "../harness/wait-for.ts";
import { ADMIN_TOKEN, World } from "../harness/world.ts";

let world: World;
let other: Awaited<ReturnType<World["secondReplica"]>>;
let round = 0;

beforeAll(async () => {
  world = await World.start({ unconfigured: true });
  other = await world.secondReplica();
  await world.api.repo("PUT", "/memory/notes/first", {
    body: { title: "The first write makes the repository" },
  });
});
afterAll(async () => {
  await other.stop();
  await world.end();
});

const NOTES = 40;

/** Writes notes through both replicas, several at once. */
async function burst(topic: string): Promise<void> {
  let next = 0;
  const writer = async (api: World["api"]): Promise<void> => {
    while (next < NOTES) {
      const id = `n${next++}`;
      await api.repo("PUT", `/memory/${topic}/${id}`, { body: { title: id } });
    }
  };
  await Promise.all([writer(world.api), writer(other.api), writer(world.api), writer(other.api)]);
}

/** One connection of a client: it goes away after so many events, whatever else was on its way to it. */
async function readSome(address: string, lastEventId: string, most: number) {
  const reader = await EventReader.open(address, { token: ADMIN_TOKEN, lastEventId });
  try {
    await waitFor("some events", () => (reader.events.length >= most ? null : "not yet"), 20_000);
    return reader.events.slice(0, most);
  } finally {
    reader.leave();
  }
}

it("whatever the cuts", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ most: fc.integer({ min: 0, max: 15 }), atOther: fc.boolean() }), {
        minLength: 2,
        maxLength: 8,
      }),
      async (cuts) => {
        round += 1;
        const topic = `round-${round}`;
        const before = await EventReader.open(world.app.address, { token: ADMIN_TOKEN });
        const start = before.lastEventId ?? "";
        before.leave();
        const writing = burst(topic);
        const got: { id: string | null; recordId: string }[] = [];
        let place = start;
        for (let turn = 0; got.length < NOTES; turn += 1) {
          const { most, atOther } = cuts[turn % cuts.length] ?? { most: 1, atOther: false };
          // The last rounds read whatever there is.
          const wanted = turn < cuts.length ? most : NOTES - got.length;
          const address = atOther ? other.address : world.app.address;
          const heard = await readSome(address, place, Math.min(wanted, NOTES - got.length));
          for (const { id, data } of heard) got.push({ id, recordId: data.recordId });
          place = heard.at(-1)?.id ?? place;
        }
        await writing;
        const log = await readEvents(world.db, {
          after: Number(start),
          through: Number.MAX_SAFE_INTEGER,
          limit: 1_000,
          repositoryIds: null,
          types: null,
        });
        expect(got).toEqual(log.map(({ id, data }) => ({ id: String(id), recordId: data.recordId })));
        expect(new Set(got.map(({ recordId }) => recordId)).size).toBe(NOTES);
      },
    ),
    { numRuns: 5 },
  );
}, 180_000);

it("two who follow different replicas get the same, in the same order", async () => {
  const readers = [
    await EventReader.open(world.app.address, { token: ADMIN_TOKEN }),
    await EventReader.open(other.address, { token: ADMIN_TOKEN }),
  ];
  await burst("both");
  for (const reader of readers) {
    await waitFor(
      "all events",
      () => (reader.events.length >= NOTES ? null : `${reader.events.length} came`),
      20_000,
    );
    reader.leave();
  }
  const [one, two] = readers.map((reader) => reader.events.map(({ id }) => Number(id)));
  expect(one).toEqual(two);
  expect(one).toEqual([...(one ?? [])].sort((a, b) => a - b));
}, 60_000);

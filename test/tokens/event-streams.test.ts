/** A token that ends cuts the streams that it opened, and tells why; its bounds hold for what it is told. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EventReader } from "../harness/event-reader.ts";
import { makeToken } from "../harness/tokens.ts";
import { World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start();
  await world.repository();
});
afterAll(() => world.end());

const open = (token: string, query = "") => EventReader.open(world.app.address, { token, query });
const note = (id: string, repo = "acme/widgets") =>
  world.api.with({ repo }).repo("PUT", `/memory/notes/${id}`, { body: { title: id } });

describe("a stream", () => {
  it("ends with auth.expired when its token is revoked; others go on", async () => {
    const [ends, stays] = [await makeToken(world.api), await makeToken(world.api)];
    const [first, second] = [await open(ends.token), await open(stays.token)];
    await world.api.send("DELETE", `/api/v1/tokens/${ends.id}`);
    await first.ended();
    expect(first.types).toEqual(["auth.expired"]);
    await note("after");
    await second.heard("memory.written");
    second.leave();
  });

  it("ends when its token expires, by the database's clock", async () => {
    const { rows } = await world.app.deps.database.pool.query(
      "select db_now() + interval '100 seconds' as at",
    );
    const { token } = await makeToken(world.api, { expiresAt: rows[0].at.toISOString() });
    const reader = await open(token);
    await world.pass(101);
    await reader.ended();
    expect(reader.types).toEqual(["auth.expired"]);
    await expect(open(token)).rejects.toThrow(/^401/);
  });

  it("is told only of the repositories of its token", async () => {
    await world.repository("acme/gadgets");
    const { token } = await makeToken(world.api, { repos: ["acme/gadgets"] });
    const reader = await open(token);
    await note("not-for-it");
    await note("for-it", "acme/gadgets");
    expect(await reader.heard("memory.written")).toMatchObject({ repo: "acme/gadgets", recordId: "for-it" });
    expect(reader.types).toEqual(["memory.written"]);
    reader.leave();
    await expect(open(token, "repo=acme/widgets")).rejects.toThrow(/403.*scope_forbidden/);
  });
});

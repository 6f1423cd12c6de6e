/** Frames, and a client that does not read: nothing more is kept for it than its connection's buffer. */

import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { LogEvent } from "../../src/domain/events.ts";
import { EventSender } from "../../src/edges/http/event-sender.ts";
import { encodeFrame } from "../../src/edges/http/sse-frame.ts";
import type { Heard } from "../../src/services/follow-events.ts";
import { waitFor } from "../harness/wait-for.ts";

describe("a frame", () => {
  it.each([
    [{ id: 7, event: "item.claimed", data: '{"a":1}' }, 'id: 7\nevent: item.claimed\ndata: {"a":1}\n\n'],
    [{ data: "one\ntwo\r\nthree\rfour" }, "data: one\ndata: two\ndata: three\ndata: four\n\n"],
    [{ data: "" }, "data: \n\n"],
    [{ id: 7 }, "id: 7\n\n"],
    [{ id: null, event: "auth.expired", data: "{}" }, "event: auth.expired\ndata: {}\n\n"],
    [{ event: "a\nid: 9", data: "x" }, "event: a id: 9\ndata: x\n\n"],
    [{ comment: "still\r\nhere", id: 3 }, ": still here\nid: 3\n\n"],
    [{ retryMs: 3000 }, "retry: 3000\n\n"],
  ])("%j", (frame, text) => expect(encodeFrame(frame)).toBe(text));
});

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** A server that tells one client what is heard, and a client that does not read until it is asked to. */
async function stream(
  heard: () => AsyncIterable<Heard>,
  patience: { keepAliveMs: number; stalledMs: number },
) {
  const { promise: began, resolve } = Promise.withResolvers<ServerResponse>();
  const { promise: sent, resolve: over } = Promise.withResolvers<boolean>();
  const server = createServer((_request, response) => {
    resolve(response);
    const sender = new EventSender(response, patience);
    sender.begin();
    void sender.send(heard(), new AbortController().signal).then((isRead) => {
      over(isRead);
      if (!isRead) sender.tooSlow();
      sender.end();
    });
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => {});
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  return { response: await began, sent, socket };
}

const event = (id: number): LogEvent => ({
  id,
  type: "item.updated",
  repositoryId: 10,
  repo: "acme/widgets",
  number: 7,
  at: new Date(0),
  data: { changed: ["title"], filling: "x".repeat(200) },
  other: null,
});

describe("a client that does not read", () => {
  it("is asked for nothing more, and is cut off", async () => {
    let asked = 0;
    const endless = async function* (): AsyncGenerator<Heard> {
      for (;;) {
        asked += 1;
        const events = Array.from({ length: 500 }, (_, index) => event(asked * 500 + index));
        yield { events, position: asked * 500 + 499 };
      }
    };
    const { response, sent } = await stream(endless, { keepAliveMs: 20, stalledMs: 500 });
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, response.writableLength);
    }, 5);
    expect(await sent).toBe(false);
    clearInterval(watch);
    expect(most).toBeLessThan(256 * 1024);
    // What the kernel takes is some megabytes; what was asked for did not go on beyond that.
    expect(asked).toBeLessThan(200);
    await waitFor("the connection to be cut", () => (response.destroyed ? null : "it is open"), 5_000);
  });

  it("that reads after all within its time misses nothing", async () => {
    const MANY = 40;
    const finite = async function* (): AsyncGenerator<Heard> {
      for (let batch = 0; batch < MANY; batch += 1) {
        const events = Array.from({ length: 500 }, (_, index) => event(batch * 500 + index));
        yield { events, position: batch * 500 + 499 };
      }
    };
    const { sent, socket } = await stream(finite, { keepAliveMs: 60_000, stalledMs: 10_000 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    socket.resume();
    expect(await sent).toBe(true);
    await waitFor(
      "the end",
      () => (socket.readableEnded || text.includes("\r\n0\r\n") ? null : "not yet"),
      5_000,
    );
    const ids = [...text.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
    expect(ids).toEqual(Array.from({ length: MANY * 500 }, (_, index) => index));
  });
});

it("a quiet stream says now and then that it is there, and how far it is", async () => {
  const quiet = async function* (): AsyncGenerator<Heard> {
    yield { events: [], position: 41 };
    await new Promise((resolve) => setTimeout(resolve, 200));
  };
  const { socket } = await stream(quiet, { keepAliveMs: 50, stalledMs: 1_000 });
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  socket.resume();
  await waitFor("comments", () => (text.split(": still here\nid: 41\n\n").length > 2 ? null : text), 5_000);
  expect(text).toContain("retry: 3000\n\n");
});

/** Many questions at once: who shares a transaction, who is asked alone, and who hears of a failure. */

import { describe, expect, it } from "vitest";
import { Batches } from "../../src/store/batch.ts";

interface Sent {
  readonly questions: readonly number[];
  answer(answers: readonly (string | null)[]): void;
  fail(error: unknown): void;
}

function asked(alone: (question: number) => Promise<string> = async (question) => `alone ${question}`) {
  const sent: Sent[] = [];
  const batches = new Batches<number, string>(
    (questions) => new Promise((answer, fail) => sent.push({ questions, answer, fail })),
    alone,
  );
  return { sent, ask: (question: number) => batches.ask(question) };
}

/** Lets everything run that waits for nothing. */
const pause = async () => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};
const failure = (code: string) => Object.assign(new Error(`failed with ${code}`), { code });
const as = (prefix: string, { questions }: Sent) => questions.map((question) => `${prefix} ${question}`);

describe("batches", () => {
  it("asks together what comes together, and then what came meanwhile", async () => {
    const { sent, ask } = asked();
    const first = [1, 2].map(ask);
    await pause();
    const later = [3, 4, 5].map(ask);
    await pause();
    expect(sent.map(({ questions }) => questions)).toEqual([[1, 2]]);
    sent[0]?.answer(as("one", sent[0]));
    expect(await Promise.all(first)).toEqual(["one 1", "one 2"]);
    await pause();
    expect(sent[1]?.questions).toEqual([3, 4, 5]);
    sent[1]?.answer(as("two", sent[1]));
    expect(await Promise.all(later)).toEqual(["two 3", "two 4", "two 5"]);
    void ask(6);
    await pause();
    expect(sent[2]?.questions).toEqual([6]);
  });

  it("what those ask who were answered together goes together", async () => {
    const { sent, ask } = asked();
    for (const number of [1, 2, 3]) void ask(number).then(() => ask(number + 10));
    await pause();
    sent[0]?.answer(as("to", sent[0]));
    await pause();
    await pause();
    expect(sent.map(({ questions }) => questions)).toEqual([
      [1, 2, 3],
      [11, 12, 13],
    ]);
  });

  it("a second batch goes beside the first when many wait, and a third does not", async () => {
    const { sent, ask } = asked();
    void ask(0);
    await pause();
    for (let number = 1; number <= 15; number += 1) void ask(number);
    await pause();
    expect(sent).toHaveLength(1);
    void ask(16);
    await pause();
    expect(sent[1]?.questions).toHaveLength(16);
    for (let number = 17; number <= 60; number += 1) void ask(number);
    await pause();
    expect(sent).toHaveLength(2);
  });

  it("takes them in their order, and not too many at once", async () => {
    const { sent, ask } = asked();
    const answers = Array.from({ length: 100 }, (_, number) => ask(number));
    for (let index = 0; index < 6; index += 1) {
      await pause();
      const batch = sent[index];
      batch?.answer(as("to", batch));
    }
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 100 }, (_, number) => `to ${number}`));
    expect(sent.flatMap(({ questions }) => questions)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(Math.max(...sent.map(({ questions }) => questions.length))).toBe(32);
  });

  it("asks alone what a batch cannot answer, and makes nobody wait for that", async () => {
    const slow = Promise.withResolvers<string>();
    const { sent, ask } = asked(() => slow.promise);
    const [three, four] = [ask(3), ask(4)];
    await pause();
    sent[0]?.answer([null, "to 4"]);
    expect(await four).toBe("to 4");
    // The place is free although 3 is still being asked.
    void ask(5);
    await pause();
    expect(sent[1]?.questions).toEqual([5]);
    slow.resolve("alone 3");
    expect(await three).toBe("alone 3");
  });

  it("asks each alone when the transaction failed, so that what is wrong with one fails that one", async () => {
    const { sent, ask } = asked(async (question) => {
      if (question === 3) throw failure("22003");
      return `alone ${question}`;
    });
    const answers = Promise.allSettled([ask(3), ask(4)]);
    await pause();
    sent[0]?.fail(failure("22003"));
    expect(await answers).toEqual([
      { status: "rejected", reason: failure("22003") },
      { status: "fulfilled", value: "alone 4" },
    ]);
  });

  it.each(["57P01", "ECONNRESET", ""])("tells all when nobody knows what was done (%s)", async (code) => {
    const alone: number[] = [];
    const { sent, ask } = asked(async (question) => {
      alone.push(question);
      return "";
    });
    const answers = Promise.allSettled([ask(3), ask(4)]);
    await pause();
    sent[0]?.fail(code === "" ? new Error("what is this?") : failure(code));
    expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(alone).toEqual([]);
  });
});

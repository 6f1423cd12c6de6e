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
const pause = () => new Promise((resolve) => setImmediate(resolve));
const failure = (code: string) => Object.assign(new Error(`failed with ${code}`), { code });
const as = (prefix: string, { questions }: Sent) => questions.map((question) => `${prefix} ${question}`);

describe("batches", () => {
  it("asks at once while nothing is under way, and together what comes meanwhile", async () => {
    const { sent, ask } = asked();
    const answers = [1, 2, 3, 4, 5].map(ask);
    expect(sent.map(({ questions }) => questions)).toEqual([[1], [2]]);
    sent[0]?.answer(["one 1"]);
    await pause();
    expect(sent[2]?.questions).toEqual([3, 4, 5]);
    sent[2]?.answer(as("two", sent[2]));
    sent[1]?.answer(["three 2"]);
    expect(await Promise.all(answers)).toEqual(["one 1", "three 2", "two 3", "two 4", "two 5"]);
    void ask(6);
    expect(sent[3]?.questions).toEqual([6]);
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
    void ask(1);
    void ask(2);
    const [three, four] = [ask(3), ask(4)];
    sent[0]?.answer(["to 1"]);
    await pause();
    sent[2]?.answer([null, "to 4"]);
    expect(await four).toBe("to 4");
    // The place is free although 3 is still being asked.
    void ask(5);
    await pause();
    expect(sent[3]?.questions).toEqual([5]);
    slow.resolve("alone 3");
    expect(await three).toBe("alone 3");
  });

  it("asks each alone when the transaction failed, so that what is wrong with one fails that one", async () => {
    const { sent, ask } = asked(async (question) => {
      if (question === 3) throw failure("22003");
      return `alone ${question}`;
    });
    void ask(1);
    void ask(2);
    const answers = Promise.allSettled([ask(3), ask(4)]);
    sent[0]?.answer(["to 1"]);
    await pause();
    sent[2]?.fail(failure("22003"));
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
    void ask(1);
    void ask(2);
    const answers = Promise.allSettled([ask(3), ask(4)]);
    sent[0]?.answer(["to 1"]);
    await pause();
    sent[2]?.fail(code === "" ? new Error("what is this?") : failure(code));
    expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(alone).toEqual([]);
  });
});

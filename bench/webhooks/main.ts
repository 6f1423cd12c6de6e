/**
 * `npm run bench:webhooks`: how many deliveries are acknowledged a second, beside a bare Probot that keeps nothing, in one
 * run; how long it takes from a delivery to the item changed; how many are applied a second, and whether any is lost or
 * overtakes another.
 */

import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { median, percentile } from "../claims/measure.ts";
import { setStage } from "../claims/stage.ts";
import { startBareProbot } from "./bare-probot.ts";
import { watchDone } from "./done.ts";
import { startLeasehold } from "./leasehold.ts";
import { type Backlog, SECRET } from "./payload.ts";
import type { Sending, Sent } from "./sender.ts";
import { type Applied, applied, emptyInbox, fill } from "./stage.ts";

const CONNECTIONS = 50;
const ROUNDS = 3;
const PACE_PER_SECOND = 100;

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    burst: { type: "string", default: "20000" },
    paced: { type: "string", default: "10" },
    // How long to wait for what was sent: the bench ends, whatever becomes of it.
    within: { type: "string", default: "120" },
    repositories: { type: "string", multiple: true, default: ["1", "100", "10000"] },
    json: { type: "string" },
  },
});

const say = (text: string): void => void process.stderr.write(`${text}\n`);

const send = (sending: Sending): Promise<Sent> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL("sender.ts", import.meta.url), { workerData: sending });
    worker.once("message", resolve);
    worker.once("error", reject);
  });

interface Figures {
  readonly repositories: number;
  readonly bareProbotPerSecond: number;
  readonly acknowledgedPerSecond: number;
  /** The median of the rounds' ratios. */
  readonly ofBareProbot: number;
  /** Milliseconds from sending to the item changed, at a hundred a second. */
  readonly toItem: { readonly p50: number | null; readonly p99: number | null };
  readonly burst: Applied & {
    readonly sent: number;
    readonly refused: number;
    /** From the first sent to the last applied. */
    readonly appliedPerSecond: number;
    readonly acknowledgedSeconds: number;
  };
}

async function measure(repositories: number, privateKey: string): Promise<Figures> {
  const backlog: Backlog = { repositories, issues: Math.max(1, Math.round(10_000 / repositories)) };
  const stage = await setStage(null);
  try {
    const url = await stage.empty(`webhooks_${repositories}`);
    await fill(url, backlog);
    const probot = await startBareProbot(privateKey);
    const app = await startLeasehold(url, {
      appId: 1,
      privateKey,
      secret: SECRET,
      // Never asked: what the deliveries say calls for no question.
      githubApiUrl: "http://127.0.0.1:9",
    });
    const done = await watchDone(url);
    try {
      const common = { backlog, connections: CONNECTIONS, path: "/api/github/webhooks" };
      const acknowledge = async (address: string, prefix: string): Promise<number> => {
        const until = { seconds: Number(options.seconds) };
        const sent = await send({ ...common, address, prefix, until, perSecond: null, isNews: false });
        if (sent.refused > 0) throw new Error(`${sent.refused} deliveries were refused`);
        return sent.acknowledged / sent.seconds;
      };
      const reached = (count: number): Promise<number> =>
        done.reached(count, Number(options.within), (finished) =>
          say(`${repositories} repositories: ${finished} of ${count} applied`),
        );
      // The work that follows is another figure: here the inbox only fills.
      await done.holdWork();
      const rounds: { bare: number; ours: number }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const bare = await acknowledge(probot.address, `bare-${round}`);
        const ours = await acknowledge(app.address, `ours-${round}`);
        rounds.push({ bare, ours });
        say(
          `${repositories} repositories: bare Probot ${bare.toFixed(0)}, acknowledged ${ours.toFixed(0)} a second`,
        );
        await emptyInbox(url);
      }
      await done.letWork();

      const paced = await send({
        ...common,
        address: app.address,
        prefix: "paced",
        until: { count: PACE_PER_SECOND * Number(options.paced) },
        perSecond: PACE_PER_SECOND,
        isNews: true,
      });
      await reached(paced.acknowledged);
      const toItem = done.timesOf("paced").map(({ n, at }) => at - (paced.sentAt[n] ?? Number.NaN));
      await emptyInbox(url);
      done.forget();

      const count = Number(options.burst);
      const began = performance.now();
      const burst = await send({
        ...common,
        address: app.address,
        prefix: "burst",
        until: { count },
        perSecond: null,
        isNews: true,
      });
      say(`${repositories} repositories: ${count} acknowledged in ${burst.seconds.toFixed(1)} s`);
      const finished = await reached(burst.acknowledged);
      const seconds = (performance.now() - began) / 1000;
      return {
        repositories,
        bareProbotPerSecond: median(rounds.map(({ bare }) => bare)),
        acknowledgedPerSecond: median(rounds.map(({ ours }) => ours)),
        ofBareProbot: median(rounds.map(({ bare, ours }) => ours / bare)),
        toItem: { p50: percentile(toItem, 0.5), p99: percentile(toItem, 0.99) },
        burst: {
          sent: count,
          refused: burst.refused,
          acknowledgedSeconds: burst.seconds,
          appliedPerSecond: finished / seconds,
          ...(await applied(url, count, backlog)),
        },
      };
    } finally {
      await done.stop();
      await app.stop();
      await probot.stop();
    }
  } finally {
    await stage.end();
  }
}

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const figures: Figures[] = [];
for (const repositories of options.repositories.map(Number))
  figures.push(await measure(repositories, privateKey));
const found = { load: loadavg()[0], figures };
process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(found, null, 2)}\n`);

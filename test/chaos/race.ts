/** The race: sets the stage, lets workers and unrest loose on it, and brings home the history. */

import { setTimeout as delay } from "node:timers/promises";
import type { Journal } from "./ask.ts";
import { Cast, type CastSizes } from "./cast.ts";
import { planChaos } from "./chaos-plan.ts";
import { nowMs } from "./clock.ts";
import { type ClockOffset, spanning } from "./database-view.ts";
import { HeartWatch } from "./heart-watch.ts";
import type { Exchange, History, RecordName } from "./history.ts";
import { settle } from "./settle.ts";
import { type Stage, type StageOptions, setStage } from "./stage.ts";
import { type Pause, Unrest } from "./unrest.ts";

export interface RaceOptions extends StageOptions, CastSizes {
  readonly seed: number;
  /** A slow machine needs longer until what was planned to break is whole again. */
  readonly durationMs: number;
  /** The race goes on until enough has happened, at most so much longer: on a slow machine little happens. */
  readonly isEnough?: (soFar: Happened) => boolean;
  readonly patienceMs?: number;
  readonly say: (line: string) => void;
}

/** While the race goes on, its history has no end. */
export interface Happened {
  readonly history: History;
  readonly pauses: readonly Pause[];
  readonly workersKilled: number;
}

export interface Race extends Happened {
  /** What went wrong that no rule of the checker is about. */
  readonly problems: readonly string[];
  /** The ends of what the servers wrote. */
  readonly serverOutput: readonly string[];
}

/** Records of each kind that everybody wants. */
const HOT = 2;
/** How often, at most, it is asked whether enough has happened. */
const LOOK_MS = 500;
/** Longer than the longest lease of a worker. */
const PAUSE_MS = 3_200;

export async function runRace(options: RaceOptions): Promise<Race> {
  options.say(`seed ${options.seed}; setting the stage`);
  const stage = await setStage(options);
  try {
    return await runOn(stage, options);
  } finally {
    await stage.close();
  }
}

async function runOn(stage: Stage, options: RaceOptions): Promise<Race> {
  const { seed, durationMs, say } = options;
  const exchanges: Exchange[] = [];
  const journal: Journal = { begin: () => {}, end: (exchange) => exchanges.push(exchange) };
  const hot = {
    calm: [...stage.items.slice(0, HOT), ...stage.notes.slice(0, HOT)],
    wild: [...stage.items.slice(HOT, 2 * HOT), ...stage.notes.slice(HOT, 2 * HOT)],
    lines: stage.notes.slice(2 * HOT),
  };
  const cast = new Cast(stage, hot, journal, seed);
  const unrest = new Unrest(stage, cast, seed);
  const hearts = new HeartWatch(stage.database, unrest.disturbances);
  const over = new AbortController();
  const offsetBefore = await stage.database.clockOffset();
  const happened = (clockOffsetMs: ClockOffset, final: History["final"] = null): Happened => ({
    history: {
      clockOffsetMs,
      exchanges: exchanges.toSorted((a, b) => a.startMs - b.startMs),
      disturbances: unrest.disturbances,
      final,
    },
    pauses: unrest.pauses,
    workersKilled: unrest.workersKilled,
  });
  const problems: string[] = [];
  try {
    say("the race begins");
    const began = nowMs();
    const watch = hearts.watch(over.signal);
    await cast.enter(options);
    await unrest.carryOut(planChaos(seed, durationMs), over.signal);
    await delayUntil(began + durationMs);
    const { isEnough = () => true, patienceMs = 0 } = options;
    for (const late = nowMs() + patienceMs; nowMs() < late && !isEnough(happened(offsetBefore)); )
      await Promise.all([delay(LOOK_MS), unrest.pauseWorker(PAUSE_MS)]);
    say("the race is over; everybody goes home");
    await cast.leave();
    over.abort();
    await watch;
    say("the lines empty, and the histories are read");
    problems.push(...(await settle(stage, journal, Object.values(hot).flat(), grantedOf(exchanges))));
  } catch (error) {
    over.abort();
    await cast.kill();
    throw error;
  }
  const offsetAfter = await stage.database.clockOffset();
  problems.push(...cast.deaths.map((death) => `a worker died: ${death}`));
  for (const [index, { deaths }] of stage.servers.entries())
    problems.push(...deaths.map((death) => `server ${index}: ${death}`));
  const offset = spanning([offsetBefore, offsetAfter], hearts.offsets);
  return {
    ...happened(offset, await stage.database.finalRecords()),
    problems,
    serverOutput: stage.servers.map(({ output }) => output),
  };
}

const grantedOf = (exchanges: readonly Exchange[]): Set<RecordName> =>
  new Set(exchanges.flatMap(({ outcome }) => (outcome.kind === "granted" ? [outcome.record] : [])));

const delayUntil = (ms: number): Promise<void> => delay(Math.max(0, ms - nowMs()));

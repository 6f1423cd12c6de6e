/**
 * Plays one random history: people act on GitHub, deliveries are doubled, overtaken, late and lost, workers claim, and the
 * program dies now and then in the middle of its work. Then everything comes to rest, one reconcile is run, and what the
 * store has is compared with what is on GitHub and with what should have come of it.
 */

import type pg from "pg";
import { type SeededRandom, seededRandom } from "../chaos/seeded-random.ts";
import type { FakeGitHub } from "../fake-github/fake-github.ts";
import type { FakeRepository } from "../fake-github/fake-repository.ts";
import { act, type Scene } from "./actions.ts";
import type { Clock } from "./clock.ts";
import { differences, textsAndLabels } from "./compare.ts";
import { wrongDecisions } from "./decisions.ts";
import { dump, written } from "./dump.ts";
import { HandProgram } from "./hand-program.ts";
import { Network } from "./network.ts";
import { ROLES, SETTINGS } from "./people.ts";
import { TrueHistory } from "./true-history.ts";

export interface Stage {
  readonly url: string;
  readonly github: FakeGitHub;
  readonly clock: Clock;
  /** Of the test's own, to look at the store and to move its clock. */
  readonly pool: pg.Pool;
  /** What is running there. A game leaves it to the next, for a start costs as much as half a game; null: nothing is. */
  program: HandProgram | null;
}

/** Longer than any lease that a dead process leaves behind. */
const AFTER_DEATH_SECONDS = 400;
/** Longer than the pause before a write that failed once is tried again. */
const RETRIED_SECONDS = 5;
/** News of a change so old is not waited for any more by a reading that sees it. */
const SETTLED_SECONDS = 130;
/** How many times a delivery or a write is tried again at most before everything is expected to be at rest. */
const ROUNDS = 40;

/** Answers what is wrong, and what was done, in words. */
export async function play(stage: Stage, seed: number): Promise<{ wrong: string[]; told: string[] }> {
  const game = new Game(stage, seed);
  try {
    await game.begin();
    await game.history();
    await game.rest();
    const before = await game.isWhole();
    await game.reconcile();
    await game.rest();
    await game.sweep();
    // It costs as much as a third of a game, and is as good in any: one in four.
    const again = seed % 4 === 0 ? await game.again() : [];
    return { wrong: [...before, ...(await game.wrong()), ...again], told: game.told };
  } catch (error) {
    return { wrong: [String(error instanceof Error ? error.stack : error)], told: game.told };
  } finally {
    await game.end();
  }
}

class Game {
  readonly #stage: Stage;
  readonly #random: SeededRandom;
  readonly #network: Network;
  readonly #scene: Scene;
  /** What a dying process was sent is lost. */
  #hasDied = false;
  readonly #claims: { readonly path: string; readonly fencingToken: number }[] = [];

  constructor(stage: Stage, seed: number) {
    this.#stage = stage;
    this.#random = seededRandom(seed);
    // Some histories lose nothing: then nothing but order, doubles and deaths is to blame.
    this.#network = new Network(stage.github, this.#random, this.#random.chance(0.6));
    const owner = `o${seed}`;
    const repo = (name: string): FakeRepository => {
      const made = stage.github.repository(`${owner}/${name}`, { collaborators: ROLES });
      made.setFile("main", ".github/leasehold.yml", SETTINGS);
      made.as("alice").createBranch("dev");
      return made;
    };
    this.#scene = {
      random: this.#random,
      repos: [repo("one"), repo("two")],
      history: new TrueHistory(() => stage.clock.now()),
    };
  }

  get told(): string[] {
    return this.#scene.history.told;
  }

  async begin(): Promise<void> {
    await this.#stage.clock.reset();
    await this.#living();
    for (const repo of this.#scene.repos) this.#stage.github.install(repo);
    await this.rest();
  }

  async history(): Promise<void> {
    for (let steps = this.#random.whole(10, 30); steps > 0; steps -= 1) {
      if (this.#random.chance(0.3)) await this.#stage.clock.pass(this.#random.pick([1, 1, 2, 40]));
      await this.#step();
    }
  }

  async #step(): Promise<void> {
    const { history } = this.#scene;
    const program = await this.#living();
    switch (this.#dealt()) {
      case "act":
        for (let times = this.#random.whole(1, 4); times > 0; times -= 1) act(this.#scene);
        return;
      case "carry":
        return void (await this.#network.carrySome(program)).map((what) => history.tell(`  ${what}`));
      case "lane":
        history.tell("  a lane is worked off");
        return void (await program.inbox());
      case "work":
        history.tell("  all is worked off");
        return void (await program.work());
      case "claim":
        return this.#claim(program);
      case "reconcile": {
        const repo = this.#random.pick(this.#scene.repos);
        history.tell(`  reads what changed in ${repo.fullName}`);
        await program.work();
        return void (await program.reconcile(repo.id, "since"));
      }
      case "die": {
        const statements = this.#random.whole(1, 60);
        history.tell(`  dies within ${statements} statements`);
        return program.dieAfter(statements);
      }
      case "lost answer":
        history.tell("  the answer to GitHub's next write is lost");
        return this.#stage.github.fault({
          method: "POST",
          path: /\/issues\/\d+\/(comments|labels)$/,
          kind: "effect-then-status",
          status: 502,
        });
      case "comment in doubt":
        return this.#commentInDoubt(program);
      case "restart":
        history.tell("  restarts");
        return this.#bury();
    }
  }

  #dealt() {
    const [first] = this.#scene.repos;
    if (first.issueNumbers().length < 2) return "act";
    return this.#random.pick([
      ...Array(14).fill("act"),
      ...Array(6).fill("carry"),
      "lane",
      "lane",
      "work",
      "work",
      "work",
      "claim",
      "claim",
      "reconcile",
      "die",
      "lost answer",
      "comment in doubt",
      "comment in doubt",
      "restart",
    ] as const);
  }

  /** A worker takes an item, and mostly gives it back: a third time, and it is parked. */
  async #claim(program: HandProgram): Promise<void> {
    const { repos, history } = this.#scene;
    const held = this.#claims.pop();
    if (held !== undefined && this.#random.chance(0.7)) {
      history.tell(`  ${held.path} is released`);
      await program.ask("POST", `${held.path}/claim/release`, { fencingToken: held.fencingToken });
      return;
    }
    const numbers = repos[0].issueNumbers();
    const path = `${repos[0].fullName}/items/${this.#random.pick(numbers)}`;
    const answer = await program.ask("POST", `${path}/claim`, {
      owner: `worker/${this.#random.whole(1, 2)}`,
    });
    history.tell(`  ${path} is claimed: ${answer?.granted ?? answer?.code}`);
    if (answer?.granted) this.#claims.push({ path, fencingToken: answer.fencingToken });
  }

  /**
   * GitHub takes a comment, and whoever wrote it does not hear of it: the answer is lost, or the process dies. It is tried
   * again while the news of it is still under way.
   */
  async #commentInDoubt(program: HandProgram): Promise<void> {
    const { random, history } = this.#scene;
    await program.work();
    const dies = random.chance(0.4);
    history.tell(`  ${dies ? "dies when GitHub has taken" : "the answer is lost to"} the next comment`);
    const lost = dies
      ? { kind: "effect-then-drop" as const, strike: () => program.dieAfter(0) }
      : { kind: "effect-then-status" as const, status: 502 };
    this.#stage.github.fault({ method: "POST", path: /\/issues\/\d+\/comments$/, ...lost });
    await this.#claim(program);
    await program.work();
    // A lease of a dead process, and the pause before another try.
    await this.#stage.clock.pass(RETRIED_SECONDS);
    await (await this.#living()).work();
  }

  /** Whatever is still under way arrives, and everything is worked off that is due now or is tried again later. */
  async rest(): Promise<void> {
    this.#stage.github.clearFaults();
    for (let round = 0; round < ROUNDS; round += 1) {
      const program = await this.#living();
      const came = await this.#network.carryAll(program);
      const did = await program.work();
      if (came || did || program.isDead) continue;
      const seconds = await this.#untilDue();
      if (seconds === null) return;
      await this.#stage.clock.pass(Math.max(1, Math.ceil(seconds)));
    }
    throw new Error(`it does not come to rest: ${(await this.#waiting()).join("; ")}`);
  }

  async reconcile(): Promise<void> {
    this.#scene.history.tell("  reconciles");
    await this.#stage.clock.pass(SETTLED_SECONDS);
    // Whatever dies over one repository, the next one is read, too; what was begun is gone on with.
    for (const repo of this.#scene.repos) {
      for (;;) {
        const program = await this.#living();
        await program.reconcile(repo.id, "all");
        if (!program.isDead) break;
        await this.rest();
      }
    }
  }

  async sweep(): Promise<void> {
    await (await this.#living()).sweep();
    await this.rest();
  }

  /** Where nothing was lost, nothing needs a reading: the issues are what they are on GitHub without it. */
  async isWhole(): Promise<string[]> {
    if (this.#hasDied || this.#network.hasLost) return [];
    const wrong = await textsAndLabels(this.#stage.pool, this.#scene.repos);
    return wrong.map((what) => `before the reconcile: ${what}`);
  }

  /** A second reading finds nothing to write. */
  async again(): Promise<string[]> {
    const ids = this.#scene.repos.map(({ id }) => id);
    const before = await dump(this.#stage.pool, ids);
    await this.reconcile();
    await this.rest();
    return written(before, await dump(this.#stage.pool, ids)).map(
      (table) => `reconciled again, it writes to ${table}`,
    );
  }

  /** When the first of what waits is due. */
  async #untilDue(): Promise<number | null> {
    const { rows } = await this.#stage.pool.query<{ seconds: number | null }>(
      `select extract(epoch from min(at) - db_now())::float8 as seconds from (
         select greatest(next_try_at, locked_until) as at from inbox where state = 'pending'
         union all select next_try_at from outbox o join repository r on r.id = o.repository_id
           where state = 'pending' and r.installed
         -- GitHub has not said yet whether it can be merged, and is asked again.
         union all select p.read_due_at from pull_request p join repository r on r.id = p.repository_id
           where p.state = 'open' and p.mergeable is null and r.installed and r.current_name
         union all select backfiller_until from repository where backfill_state = 'pending' and installed) as waiting`,
    );
    return rows[0]?.seconds ?? null;
  }

  async #waiting(): Promise<string[]> {
    const { rows } = await this.#stage.pool.query<{ what: string }>(
      `select event || ' ' || lane || ' ' || coalesce(error, '') as what from inbox where state = 'pending'
       union all select promise || ' ' || coalesce(o.error, '') from outbox o join repository r on r.id = o.repository_id
         where state = 'pending' and r.installed
       union all select 'backfill ' || coalesce(backfill_error, '') from repository where backfill_state = 'pending' and installed`,
    );
    return rows.map(({ what }) => what);
  }

  async wrong(): Promise<string[]> {
    const { pool } = this.#stage;
    const { repos, history } = this.#scene;
    history.hasLost = this.#hasDied || this.#network.hasLost;
    const failed = await pool.query<{ what: string }>(
      `select 'failed: ' || event || ': ' || coalesce(error, '') as what from inbox where state = 'failed'`,
    );
    return [
      ...(await differences(pool, repos)),
      ...(await wrongDecisions(pool, repos, history)),
      ...failed.rows.map(({ what }) => what),
    ];
  }

  /** What is left of this game says nothing to the next. */
  async end(): Promise<void> {
    this.#stage.github.clearFaults();
    this.#network.loseAll();
    const { program } = this.#stage;
    program?.dieAfter(Number.POSITIVE_INFINITY);
    if (program?.isDead) await this.#bury();
    await this.#stage.pool.query("update repository set installed = false where installed");
    await this.#stage.pool.query("delete from inbox");
  }

  async #living(): Promise<HandProgram> {
    const stage = this.#stage;
    if (stage.program?.isDead) {
      this.#scene.history.tell("  died");
      this.#hasDied = true;
      await this.#bury();
      await stage.clock.pass(AFTER_DEATH_SECONDS);
    }
    stage.program ??= await HandProgram.start(stage.url, stage.github);
    return stage.program;
  }

  async #bury(): Promise<void> {
    await this.#stage.program?.end();
    this.#stage.program = null;
  }
}

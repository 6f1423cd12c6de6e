/** The way from GitHub to the program: what is sent is doubled, overtaken, late, or lost. */

import type { SeededRandom } from "../chaos/seeded-random.ts";
import type { Delivery } from "../fake-github/delivery.ts";
import type { FakeGitHub } from "../fake-github/fake-github.ts";
import type { HandProgram } from "./hand-program.ts";

export class Network {
  readonly #github: FakeGitHub;
  readonly #random: SeededRandom;
  readonly #under: Delivery[] = [];
  /** Of those that may be lost; the rest arrives some time. */
  readonly #lossy: boolean;
  hasLost = false;

  constructor(github: FakeGitHub, random: SeededRandom, lossy: boolean) {
    this.#github = github;
    this.#random = random;
    this.#lossy = lossy;
    github.hold();
  }

  /** Some of what is under way arrives, in any order. Answers what, in words. */
  async carrySome(program: HandProgram): Promise<string[]> {
    this.#collect();
    const told: string[] = [];
    const count = this.#random.whole(1, Math.max(1, this.#under.length));
    for (let times = 0; times < count && this.#under.length > 0; times += 1) {
      // Mostly near the front: what is sent first mostly comes first.
      const far = this.#random.chance(0.5) ? 1 : this.#under.length;
      const place = this.#random.whole(0, far - 1);
      const delivery = this.#under[place];
      if (!delivery) break;
      const isDoubled = this.#random.chance(0.12);
      if (!isDoubled) this.#under.splice(place, 1);
      if (this.#lossy && !isDoubled && this.#random.chance(0.2)) {
        told.push(`lost ${nameOf(delivery)}`);
        this.hasLost = true;
        continue;
      }
      told.push(`${isDoubled ? "doubled " : ""}${nameOf(delivery)}`);
      // What a dying process did not take, GitHub counts as failed, and sends no more.
      if (!(await program.receive(delivery))) return told;
    }
    return told;
  }

  /** Everything that is under way arrives, in the order in which it was sent. False: there was nothing. */
  async carryAll(program: HandProgram): Promise<boolean> {
    this.#collect();
    const rest = this.#under.splice(0);
    for (const delivery of rest) await program.receive(delivery);
    return rest.length > 0;
  }

  /** Nothing of what is under way arrives. */
  loseAll(): string[] {
    this.#collect();
    return this.#under.splice(0).map((delivery) => `lost ${nameOf(delivery)}`);
  }

  #collect(): void {
    this.#under.push(...this.#github.drop());
    this.#github.hold();
  }
}

function nameOf({ event, action, payload }: Delivery): string {
  const { issue, pull_request, repository, label } = JSON.parse(payload);
  const number = issue?.number ?? pull_request?.number;
  const where = repository ? ` ${repository.name}` : "";
  return `${event}.${action}${label?.name ? `(${label.name})` : ""}${where}${number ? `#${number}` : ""}`;
}

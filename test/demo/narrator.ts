/** Tells the demo's story. Colour only on a terminal (`styleText` looks itself). */

import { styleText } from "node:util";

const WIDTH = 96;

export class Narrator {
  #scene = 0;

  #line(text = ""): void {
    process.stdout.write(`${text}\n`);
  }

  opening(text: string): void {
    this.#line(styleText("dim", text));
  }

  /** A new scene begins. */
  scene(title: string): void {
    this.#scene += 1;
    this.#line();
    this.#line(styleText("bold", `${this.#scene}. ${title}`));
  }

  /** Somebody does something. */
  does(who: string, what: string): void {
    this.#line(`   ${styleText("cyan", who.padEnd(10))} ${what}`);
  }

  /** What came of it; checked before it is told. */
  sees(what: string): void {
    for (const [index, line] of wrap(what, WIDTH - 16).entries()) {
      this.#line(`   ${styleText("green", (index === 0 ? "→" : "").padStart(10))} ${line}`);
    }
  }

  /** Text as it stands on GitHub or in an answer. */
  quotes(text: string): void {
    for (const line of text.split("\n")) this.#line(`              ${styleText("dim", line)}`);
  }

  explore(address: string, token: string): void {
    this.#line();
    this.#line(styleText("bold", "The server stays up for you to explore; ^C ends it."));
    this.#line(`   API      ${address}/docs`);
    this.#line(`   Token    ${token}`);
    this.#line(
      `   Try      curl -s -H 'Authorization: Bearer ${token}' ${address}/api/v1/repos/acme/widgets/ready`,
    );
  }
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + word.length + 1 > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

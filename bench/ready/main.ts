/** `npm run bench:ready`: what reading the backlog costs, beside simpler ways, in one run. */

import { writeFile } from "node:fs/promises";
import { startLeasehold } from "../claims/leasehold.ts";
import { type Stage, setStage } from "../claims/stage.ts";
import { addBlockedHead, addMuchAwaited, assertKept, fillTypical } from "./backlog.ts";
import { HELP, type Options, readOptions } from "./options.ts";
import { askAll } from "./questions.ts";
import { asTable, type Measured, type Report, report } from "./report.ts";
import { upkeep } from "./upkeep.ts";

const UPKEEP_TIMES = 7;
const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function bench(options: Options): Promise<Report> {
  const stage = await setStage(options.databaseUrl);
  try {
    const measured: Measured[] = [];
    for (const items of options.sizes) {
      const found = await benchSize(stage, items, options);
      measured.push(...found);
      // What was measured is not lost when a later size fails.
      process.stdout.write(`${asTable(report(stage.version, found))}\n\n`);
    }
    return report(stage.version, measured);
  } finally {
    await stage.end();
  }
}

async function benchSize(stage: Stage, items: number, options: Options): Promise<Measured[]> {
  const url = await stage.migrated(`ready_${items}`);
  const measured: Measured[] = [];
  const asking = { ...options, naive: items <= options.naiveUpTo };
  const fills = [
    ["typical", fillTypical],
    ["adverse", addBlockedHead],
    ["upkeep", addMuchAwaited],
  ] as const;
  for (const [distribution, fill] of fills) {
    say(`${items} items, ${distribution}: filling`);
    await fill(url, items);
    await assertKept(url);
    say(`${items} items, ${distribution}: asking`);
    const app = await startLeasehold(url);
    try {
      const answers =
        distribution === "upkeep" ? await upkeep(app, items, UPKEEP_TIMES) : await askAll(app, url, asking);
      measured.push({ items, distribution, answers });
    } finally {
      await app.stop();
    }
  }
  return measured;
}

const options = readOptions(process.argv.slice(2));
if (options === "help") {
  process.stdout.write(HELP);
} else {
  const found = await bench(options);
  if (options.json !== null) await writeFile(options.json, `${JSON.stringify(found, null, 2)}\n`);
}

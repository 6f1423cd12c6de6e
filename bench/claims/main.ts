/** `npm run bench:claims`: what a claim costs, beside the database alone and beside job queues, in one run. */

import { writeFile } from "node:fs/promises";
import { type HotItemFacts, hotItem } from "./hot-item.ts";
import { leasehold, startLeasehold } from "./leasehold.ts";
import type { Slice, Subject } from "./measure.ts";
import { HELP, type Options, readOptions } from "./options.ts";
import { graphileWorker, pgBoss } from "./queues.ts";
import { reference } from "./reference.ts";
import { asTable, REFERENCE, type Report, report } from "./report.ts";
import { claimsAmong, referenceAmong } from "./sizes.ts";
import { setStage } from "./stage.ts";

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function bench(options: Options): Promise<Report> {
  const stage = await setStage(options.databaseUrl);
  try {
    say(`PostgreSQL ${stage.version}; filling ${options.items} and ${options.many} items`);
    const url = await stage.backlog("claims", options.items);
    const few = await stage.backlog("few", 1_000);
    const many = await stage.backlog("many", options.many);
    const plain = await reference(url);
    const app = await startLeasehold(url);
    const boss = await pgBoss(await stage.empty("boss"));
    const racers: HotItemFacts[] = [];
    try {
      const subjects = [
        ...plain.subjects,
        ...leasehold(app, url, options.items),
        hotItem(app, url, racers),
        ...(await graphileWorker(await stage.empty("graphile"))),
        boss.subject,
        claimsAmong(few, 1_000),
        claimsAmong(many, options.many),
        referenceAmong(few, 1_000),
        referenceAmong(many, options.many),
      ].filter((subject) => isWanted(subject, options.only));
      const measured = await inRounds(subjects, options);
      return report({ postgres: stage.version, reference: plain.driver }, measured, racers);
    } finally {
      await boss.stop();
      await app.stop();
    }
  } finally {
    await stage.end();
  }
}

const isWanted = ({ group, name }: Subject, only: readonly string[]): boolean =>
  only.length === 0 || name === REFERENCE || only.some((part) => `${group}: ${name}`.includes(part));

/** Everything once, then everything again: what disturbs the machine for a while disturbs all alike. */
async function inRounds(
  subjects: readonly Subject[],
  { rounds, seconds }: Options,
): Promise<ReadonlyMap<Subject, readonly Slice[]>> {
  const measured = new Map<Subject, Slice[]>(subjects.map((subject) => [subject, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [subject, slices] of measured) {
      const slice = await subject.slice(seconds / rounds);
      slices.push(slice);
      say(`${round}/${rounds} ${subject.group}: ${subject.name}: ${slice.perSecond.toFixed(0)} per second`);
    }
  }
  return measured;
}

const options = readOptions(process.argv.slice(2));
if (options === "help") {
  process.stdout.write(HELP);
} else {
  const found = await bench(options);
  process.stdout.write(`${asTable(found)}\n`);
  if (options.json !== null) await writeFile(options.json, `${JSON.stringify(found, null, 2)}\n`);
}

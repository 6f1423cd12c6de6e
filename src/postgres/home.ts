import { createHash } from "node:crypto";
import { mkdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { adoptFolder, assertPrivate, letOthersPass } from "./data-folder.ts";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { ifMissing } from "./errno.ts";
import { replaceFile } from "./replace-file.ts";
import { canEnter, chooseRunUser, type RunUser } from "./run-user.ts";

/** The folder that holds the cluster with its password, owner file and log, and the account PostgreSQL runs as. */
export interface Home {
  readonly folder: string;
  readonly cluster: string;
  readonly user: RunUser | null;
}

/** In the data folder when the home is not the data folder itself: one line, the path of the home. */
export const ELSEWHERE = "elsewhere.txt";

/**
 * Finds where the cluster is or shall be. That is the data folder (adopted before), unless PostgreSQL has to run as another
 * account that cannot get there: root's checkout below /root is the usual case. What was decided once is
 * written down and stays.
 */
export async function findHome(dataDir: string): Promise<Home> {
  const recorded = await ifMissing(readFile(join(dataDir, ELSEWHERE), "utf8"), null);
  if (recorded !== null) {
    return homeIn(await openElsewhere(recorded.trim()));
  }
  const inPlace = await homeIn(dataDir);
  if (inPlace.user === null) return inPlace;

  await letOthersPass(dataDir);
  if (await canEnter(inPlace.user, dataDir)) return inPlace;
  await assertNoCluster(inPlace, inPlace.user);
  return settleElsewhere(dataDir, inPlace.user);
}

async function homeIn(folder: string): Promise<Home> {
  const cluster = join(folder, "cluster");
  return { folder, cluster, user: await chooseRunUser(cluster) };
}

async function assertNoCluster({ folder, cluster }: Home, user: RunUser): Promise<void> {
  if ((await ifMissing(stat(cluster), null)) === null) return;
  throw new EmbeddedPostgresError(
    "folder_unreachable",
    `PostgreSQL runs as ${user.name}, who owns the database in ${cluster} but can no longer get to it, because a ` +
      `folder above it is closed to other accounts. Open those folders for passage (chmod o+x), or move ${folder} ` +
      "to where they are.",
  );
}

async function settleElsewhere(dataDir: string, user: RunUser): Promise<Home> {
  const tried: string[] = [];
  let lastError: unknown;
  for (const folder of elsewhereFor(dataDir, tmpdir())) {
    tried.push(folder);
    try {
      await openElsewhere(folder);
      if (!(await canEnter(user, folder))) continue;
      await replaceFile(join(dataDir, ELSEWHERE), `${folder}\n`);
      return await homeIn(folder);
    } catch (error) {
      lastError = error;
    }
  }
  throw new EmbeddedPostgresError(
    "folder_unreachable",
    `PostgreSQL runs as ${user.name}, who cannot reach ${dataDir}, and no other place could be used either ` +
      `(tried ${tried.join(" and ")}). Choose a DATA_DIR that other accounts can pass through.`,
    { cause: lastError },
  );
}

/** Not trusted by its name alone: temporary folders are everybody's, and may have been emptied since. */
async function openElsewhere(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await assertPrivate(folder);
  await letOthersPass(folder);
  return adoptFolder(folder);
}

/**
 * Where to keep the cluster of a data folder that PostgreSQL's account cannot reach, best first.
 *
 * The name is made from the path, so that the same data folder finds the same cluster even when its
 * `elsewhere.txt` was lost. Temporary folders are swept of old files on many systems, which would eat a
 * database slowly, so they are the place only for a data folder that is itself temporary.
 */
export function elsewhereFor(dataDir: string, temporary: string): string[] {
  const name = `leasehold-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`;
  const isTemporary = !relative(temporary, dataDir).startsWith("..");
  const places = isTemporary ? [temporary, "/var/tmp"] : ["/var/lib", "/var/tmp"];
  return places.map((place) => join(place, name));
}

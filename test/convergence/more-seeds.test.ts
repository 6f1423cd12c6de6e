/** The other half of the seeds of `convergence.test.ts`: two files are played on two cores. */

import { describe } from "vitest";
import { itConverges } from "./play-seeds.ts";

describe("after one reconcile the store equals GitHub, too", () => itConverges(1));

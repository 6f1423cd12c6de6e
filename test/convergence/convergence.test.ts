/**
 * Whatever happens to the deliveries and to the program: after one reconcile the store equals GitHub, no comment stands
 * twice, and nothing that hangs on who did what was decided wrongly; and a second reconcile writes nothing.
 */

import { describe } from "vitest";
import { itConverges } from "./play-seeds.ts";

describe("after one reconcile the store equals GitHub", () => itConverges(0));

/** `npm run docs:configuration`: writes docs/configuration.md. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { configurationPage, PAGE } from "./configuration-page.ts";

await writeFile(join(import.meta.dirname, "..", PAGE), configurationPage());

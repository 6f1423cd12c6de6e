/** `leasehold outbox …` and `leasehold inbox …`: what could not be written or worked off, and another try. */

import { parseArgs } from "node:util";
import type { Api } from "./api.ts";
import { type Command, UsageError } from "./command.ts";

interface Entry {
  readonly id: number;
  readonly repositoryId: number;
  readonly repo: string | null;
  readonly attempts: number;
  readonly error: string | null;
  readonly finishedAt: string | null;
  readonly nextTryAt: string;
  /** Of the outbox. */
  readonly issue?: number | null;
  readonly promise?: string;
  /** Of the inbox. */
  readonly event?: string;
  readonly action?: string | null;
  readonly deliveryId?: string;
}

type Queue = "outbox" | "inbox";

const keyOf = (queue: Queue, { repositoryId, id }: Entry): string =>
  queue === "outbox" ? `${repositoryId}/${id}` : `${id}`;

async function* entriesOf(
  api: Api,
  queue: Queue,
  filter: { repo?: string | undefined; state: "failed" | "pending" },
): AsyncGenerator<Entry> {
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ state: filter.state, limit: "100" });
    if (filter.repo !== undefined) query.set("repo", filter.repo);
    if (cursor !== null) query.set("cursor", cursor);
    const page = (await api.call("GET", `/api/v1/${queue}?${query}`)) as {
      entries: Entry[];
      nextCursor: string | null;
    };
    yield* page.entries;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

function describe(queue: Queue, entry: Entry): string {
  const { repo, repositoryId, attempts, error, finishedAt, nextTryAt } = entry;
  const what =
    queue === "outbox"
      ? `${entry.promise}${entry.issue === null ? "" : ` (#${entry.issue})`}`
      : `${entry.event}${entry.action ? `.${entry.action}` : ""} ${entry.deliveryId}`;
  const when = finishedAt === null ? `next try ${nextTryAt}` : `given up ${finishedAt}`;
  return `${keyOf(queue, entry)}  ${repo ?? repositoryId}  ${what}  ${when}, tries: ${attempts}\n    ${error ?? "no error yet"}`;
}

function list(queue: Queue, summary: string): Command {
  return {
    usage: `${queue} list [--repo owner/name] [--pending]`,
    summary,
    run: async (args, { api, out }) => {
      const { values } = parseArgs({
        args: [...args],
        options: { repo: { type: "string" }, pending: { type: "boolean", default: false } },
      });
      let count = 0;
      const state = values.pending ? "pending" : "failed";
      for await (const entry of entriesOf(api, queue, { repo: values.repo, state })) {
        out(describe(queue, entry));
        count += 1;
      }
      if (count === 0) out(values.pending ? "nothing is waiting" : "nothing was given up");
      return 0;
    },
  };
}

function retry(queue: Queue, key: string, summary: string): Command {
  return {
    usage: `${queue} retry (${key} … | --all [--repo owner/name])`,
    summary,
    run: async (args, { api, out }) => {
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: { repo: { type: "string" }, all: { type: "boolean", default: false } },
      });
      if (values.all === positionals.length > 0)
        throw new UsageError(`name what to try again, as ${queue} list shows it, or --all`);
      if (values.repo !== undefined && !values.all) throw new UsageError("--repo goes with --all");
      const keys = [...positionals];
      if (values.all) {
        const filter = { repo: values.repo, state: "failed" } as const;
        for await (const entry of entriesOf(api, queue, filter)) keys.push(keyOf(queue, entry));
      }
      for (const each of keys) {
        if (!(queue === "outbox" ? /^\d+\/\d+$/ : /^\d+$/).test(each))
          throw new UsageError(`"${each}" is not of the form ${key}, as ${queue} list shows it`);
      }
      for (const each of keys) {
        await api.call("POST", `/api/v1/${queue}/${each}/retry`);
        out(`${each} is tried again`);
      }
      if (keys.length === 0) out("nothing was given up");
      return 0;
    },
  };
}

export const QUEUE_COMMANDS = {
  "outbox list": list("outbox", "Show what GitHub could not be told, and why"),
  "outbox retry": retry("outbox", "REPOSITORY/ID", "Try a write again that was given up"),
  "inbox list": list("inbox", "Show deliveries that could not be worked off, and why"),
  "inbox retry": retry("inbox", "ID", "Work a delivery off again that was given up"),
} satisfies Record<string, Command>;

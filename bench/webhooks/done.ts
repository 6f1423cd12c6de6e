/** When deliveries are done, as another session of the database sees it: after the commit that has their effect. */

import pg from "pg";

const PROGRESS_MS = 5_000;

export interface Done {
  /** Nothing is taken from the inbox. */
  holdWork(): Promise<void>;
  letWork(): Promise<void>;
  /** Resolves when so many are done, or when the time is over; tells `progress` now and then how many are. Answers how many. */
  reached(count: number, withinSeconds: number, progress: (done: number) => void): Promise<number>;
  /** When the deliveries with that prefix were done: milliseconds since the epoch, by their number. */
  timesOf(prefix: string): { n: number; at: number }[];
  forget(): void;
  stop(): Promise<void>;
}

export async function watchDone(url: string): Promise<Done> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const times = new Map<string, number>();
  let waiting: { count: number; resolve(): void } | null = null;
  const look = (): void => {
    if (waiting && times.size >= waiting.count) waiting.resolve();
  };
  client.on("notification", ({ payload = "" }) => {
    times.set(payload, performance.timeOrigin + performance.now());
    look();
  });
  await client.query(`
    create function tell_done() returns trigger language plpgsql as
      $$ begin perform pg_notify('done', new.delivery_id); return null; end $$;
    create trigger tell_done after update of state on inbox for each row
      when (new.state <> 'pending' and old.state = 'pending') execute function tell_done();
    listen done`);
  return {
    holdWork: () => hold(client, true),
    letWork: () => hold(client, false),
    reached: async (count, withinSeconds, progress) => {
      const ticker = setInterval(() => progress(times.size), PROGRESS_MS);
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        waiting = { count, resolve };
        timer = setTimeout(resolve, withinSeconds * 1000);
        look();
      });
      clearInterval(ticker);
      clearTimeout(timer);
      waiting = null;
      return times.size;
    },
    timesOf: (prefix) =>
      [...times].flatMap(([id, at]) =>
        id.startsWith(`${prefix}-`) ? [{ n: Number(id.slice(prefix.length + 1)), at }] : [],
      ),
    forget: () => times.clear(),
    stop: () => client.end(),
  };
}

/** What comes is not due for an hour, or at once again. */
async function hold(client: pg.Client, isHeld: boolean): Promise<void> {
  const due = isHeld ? "db_now() + interval '1 hour'" : "db_now()";
  await client.query(`alter table inbox alter column next_try_at set default ${due}`);
}

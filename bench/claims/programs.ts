/** What callers do over and over, written against a client, so that the service layer and HTTP are asked the same. */

export interface Client {
  /** The token, or null when it was refused. */
  claim(number: number, leaseSeconds: number): Promise<number | null>;
  renew(number: number, token: number): Promise<void>;
  write(number: number, token: number, body: string): Promise<void>;
  release(number: number, token: number): Promise<void>;
}

export const PROGRAMS = ["claim", "refusal", "renew", "claim+release", "cycle"] as const;
export type ProgramName = (typeof PROGRAMS)[number];

/** A held item for each caller that is refused or renews; items to be claimed begin after these. */
const HELD = 64;
const LEASE_SECONDS = 1800;

/** Prepares the callers, and answers what each does in a round. Items are numbered from 1 to `items`. */
export async function program(
  name: ProgramName,
  client: Client,
  callers: number,
  items: number,
): Promise<(caller: number) => Promise<void>> {
  let last = HELD;
  const fresh = (): number => {
    last += 1;
    if (last > items) throw new Error(`more than ${items} items were claimed: use more --items`);
    return last;
  };
  const take = async (number: number): Promise<number> => {
    const token = await client.claim(number, LEASE_SECONDS);
    if (token === null) throw new Error(`item ${number} was refused`);
    return token;
  };
  switch (name) {
    case "claim":
      return async () => void (await take(fresh()));
    case "refusal":
      await take(1);
      return async () => {
        if ((await client.claim(1, LEASE_SECONDS)) !== null) throw new Error("a held item was granted");
      };
    case "renew": {
      const held = await Promise.all(
        Array.from({ length: callers }, async (_, caller) => ({
          number: caller + 1,
          token: await take(caller + 1),
        })),
      );
      return async (caller) => {
        const mine = held[caller];
        if (mine) await client.renew(mine.number, mine.token);
      };
    }
    case "claim+release":
      return async () => {
        const number = fresh();
        await client.release(number, await take(number));
      };
    case "cycle":
      return async () => {
        const number = fresh();
        const token = await take(number);
        await client.renew(number, token);
        await client.write(number, token, "half of it is done");
        await client.release(number, token);
      };
  }
}

/** Who calls: the token, never a field of the request (protocol 10). */

export interface Caller {
  /** Names the API token; claims and writes are bound to it. */
  readonly actor: string;
  readonly admin: boolean;
}

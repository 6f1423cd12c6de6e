import type { JsonObject } from "../json.ts";

export type Fault = {
  method?: string;
  /** A string is the whole path, without the query; a pattern is tried on it. */
  path: string | RegExp;
  /** How many requests it strikes. One, unless told otherwise. */
  times?: number;
  /**
   * `status`: answers with it, and nothing happens. `delay`: waits, then all is well. `hang`: never
   * answers. `drop`: cuts the connection, and nothing happens. `effect-then-…`: it happens, and then the
   * answer is the status, or is lost.
   */
  kind: "status" | "delay" | "hang" | "drop" | "effect-then-status" | "effect-then-drop";
  status?: number;
  headers?: Record<string, string>;
  body?: JsonObject | JsonObject[];
  delayMs?: number;
  /** What else happens at that moment: after the effect, before the answer. */
  strike?: () => void;
};

/** The faults that are lying in wait. */
export class Faults {
  #waiting: { fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#waiting.push({ fault, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#waiting = [];
  }

  /** The fault that strikes this request, if one does. The oldest goes first. */
  take(method: string, path: string): Fault | null {
    const struck = this.#waiting.find(({ fault }) => strikes(fault, method, path));
    if (!struck) return null;
    struck.left -= 1;
    if (struck.left <= 0) this.#waiting = this.#waiting.filter((waiting) => waiting !== struck);
    return struck.fault;
  }
}

function strikes(fault: Fault, method: string, path: string): boolean {
  if (fault.method !== undefined && fault.method !== method) return false;
  return typeof fault.path === "string"
    ? fault.path.toLowerCase() === path.toLowerCase()
    : new RegExp(fault.path.source, fault.path.flags.replace(/[gy]/g, "")).test(path);
}

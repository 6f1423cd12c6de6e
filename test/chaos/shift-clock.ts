/** Preloaded into a server (`node --import`): its own clock is off by SHIFT_CLOCK_MS, as a machine's can be. */

const offMs = Number(process.env.SHIFT_CLOCK_MS ?? 0);
const RealDate = Date;
const now = (): number => RealDate.now() + offMs;

/** Only what asks for the time now is changed. */
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: unknown[], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as object,
  get: (target, name) => (name === "now" ? now : (Reflect.get(target, name) as unknown)),
});

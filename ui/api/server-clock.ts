/**
 * The query server's clock, learnt from the `Date` header of its answers. The browser's clock may be wrong, and with it
 * every time range that ends now.
 */

/** The header has whole seconds and takes a while to arrive: a smaller difference counts as none. Unit: ms. */
const unseenMs = 2_000;
/** An answer that took longer may have been read late, as after the laptop slept: its time has passed. Unit: ms. */
const freshMs = 5_000;
/** From here on the user is told about the difference, which is rounded so that it stays the same. Units: ms. */
const toldMs = 30_000;
const roundedToMs = 10_000;

const listeners = new Set<() => void>();
/** How far the server is ahead of the browser; undefined before the first answer. Unit: ms. */
let aheadMs: number | undefined;

/**
 * Learns from an answer that has just arrived; a slow one is better than none, but changes nothing later. Nor does one
 * without the header, as of some proxies. `sentAtMs`: when it was asked for, by the browser's clock.
 */
export function learnClock({ headers }: Response, sentAtMs: number): void {
  if (knowsClock() && Date.now() - sentAtMs > freshMs) return;
  const before = browserAhead();
  // Its seconds are cut off: on average half of one has passed since.
  const seen = Date.parse(headers.get('date') ?? '') + 500 - Date.now();
  aheadMs = Number.isNaN(seen) ? (aheadMs ?? 0) : Math.abs(seen) < unseenMs ? 0 : seen;
  if (browserAhead() !== before) for (const listener of listeners) listener();
}

/** Whether an answer has arrived. */
export const knowsClock = (): boolean => aheadMs !== undefined;

/** Now by the server's clock as far as it is known. Unit: ms since the epoch. */
export const serverNow = (): number => Date.now() + (aheadMs ?? 0);

/** How far the browser's clock is ahead of the server's, to 10 s; 0 below 30 s, negative if it is behind. Unit: ms. */
export function browserAhead(): number {
  const ahead = -(aheadMs ?? 0);
  return Math.abs(ahead) < toldMs ? 0 : Math.round(ahead / roundedToMs) * roundedToMs;
}

/** Calls `listener` when `browserAhead` changes. Returns the function that unsubscribes. */
export function onClock(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

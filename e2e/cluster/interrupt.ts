import { systemClock } from '../../src/base/clock.ts';

/** How long after the first signal others mean nothing. Units: ms. */
const sameMs = 1_000;

/**
 * What to do at each SIGINT or SIGTERM: the first calls `stop`, which begins an orderly end; a later one calls `exit`.
 * A signal within a second of the first is the same Ctrl-C: the terminal sends it to this process, and npm forwards it.
 */
export function interruptHandler(stop: () => void, exit: () => void, clock = systemClock): () => void {
  let firstAt: number | undefined;
  return () => {
    if (firstAt === undefined) {
      firstAt = clock.monotonic();
      stop();
    } else if (clock.monotonic() - firstAt > sameMs) exit();
  };
}

/**
 * Calls `stop` at the first Ctrl-C. A second one ends this process at once with code 130: the reaper of a run then
 * releases what the run holds.
 */
export function onInterrupt(stop: () => void): void {
  const handler = interruptHandler(stop, () => process.exit(130));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, handler);
}

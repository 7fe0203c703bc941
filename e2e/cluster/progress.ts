import { systemClock, type Clock } from '../../src/base/clock.ts';

/** The stream that progress is reported to, and the clock. */
export interface ProgressOptions {
  /**
   * True where a person watches; false where the lines are kept, as in a log of CI. Default: whether stderr is a
   * terminal.
   */
  terminal?: boolean;
  /** Default: the machine's clock. */
  clock?: Clock;
}

/**
 * Calls `say` while a long step runs: every 5 s at a terminal, once a minute where lines are kept.
 * Returns a function that ends the calls.
 */
export function signsOfLife(
  say: () => void,
  { terminal = process.stderr.isTTY, clock = systemClock }: ProgressOptions = {},
): () => void {
  const everyMs = terminal ? 5_000 : 60_000;
  let cancel = (): void => {};
  const next = (): void => {
    cancel = clock.setTimeout(() => {
      say();
      next();
    }, everyMs);
  };
  next();
  return () => cancel();
}

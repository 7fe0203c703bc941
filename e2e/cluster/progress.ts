import { systemClock, type Clock } from '../../src/base/clock.ts';

/** What a program needs to know of the stream that it reports to. */
export interface ProgressOptions {
  /** True where a person watches; false where the lines are kept, as in a log of CI. Default: whether stderr is a terminal. */
  terminal?: boolean;
  /** Default the machine's clock. */
  clock?: Clock;
}

/**
 * Calls `say` while a long step runs: every 5 s at a terminal, once a minute where lines are kept.
 * Returns what ends it.
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

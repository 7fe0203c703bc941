import { throwAll } from '../../../base/errors.ts';

/** Number of concurrent requests: few enough not to load an API server. */
const atATime = 4;

/** Runs `work` for every item, a few at a time, started in order. Errors: those of `work`, at the end. */
export async function inTurns<T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      signal.throwIfAborted();
      await work(item);
    }
  };
  const done = await Promise.allSettled(Array.from({ length: atATime }, worker));
  signal.throwIfAborted();
  throwAll(done.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : [])));
}

import { LinkedAbort } from '../../base/linked-abort.ts';

/**
 * Runs pieces of work that are useless without each other. When one fails, the signal of the others aborts with its
 * error.
 * Guarantees: no work goes on once the result has settled.
 * Assumptions: the work stops when its signal aborts.
 * Errors: that of the piece that failed first.
 */
export async function allOrNone<T>(
  outer: AbortSignal,
  work: readonly ((signal: AbortSignal) => Promise<T>)[],
): Promise<T[]> {
  if (work.length === 1) return [await work[0]!(outer)];
  const own = new LinkedAbort(outer);
  const running = work.map(async (piece) => {
    try {
      return await piece(own.signal);
    } catch (error) {
      own.abort(error);
      throw error;
    }
  });
  try {
    return await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
    own.release();
  }
}

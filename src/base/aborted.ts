/** Resolves when the signal aborts, immediately if it has already aborted. Never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * The result of work for one of the callers who wait for it. The work goes on when the caller's signal aborts.
 * Errors: those of the work; the signal's reason when it aborts first.
 */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(signal.reason as Error);
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([stopped.promise, work]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

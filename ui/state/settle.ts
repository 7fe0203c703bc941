/** How a request ends for the one who waits for it. Pure. */
export interface Settled<T> {
  readonly answered: (answer: T) => void;
  readonly failed: (error: unknown) => void;
}

/** Calls one of both, unless the signal aborts before: an answer that nobody waits for would replace a newer one. */
export function settle<T>(asked: Promise<T>, signal: AbortSignal, { answered, failed }: Settled<T>): Promise<void> {
  return asked.then(
    (answer) => (signal.aborted ? undefined : answered(answer)),
    (error: unknown) => (signal.aborted ? undefined : failed(error)),
  );
}

/** The callbacks for the end of a request. Pure. */
export interface Settled<T> {
  readonly answered: (answer: T) => void;
  readonly failed: (error: unknown) => void;
}

/** Calls one of the callbacks, unless the signal aborts before: an abandoned answer must not replace a newer one. */
export function settle<T>(asked: Promise<T>, signal: AbortSignal, { answered, failed }: Settled<T>): Promise<void> {
  return asked.then(
    (answer) => (signal.aborted ? undefined : answered(answer)),
    (error: unknown) => (signal.aborted ? undefined : failed(error)),
  );
}

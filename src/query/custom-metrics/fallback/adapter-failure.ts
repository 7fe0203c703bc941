/** The outcome of asking the second adapter, another metrics server. `answered` and `unknown` are not failures. */
export type FallbackOutcome =
  'answered' | 'unknown' | 'refused' | 'timeout' | 'unreachable' | 'failed' | 'invalid' | 'loop' | 'busy';

/** The second adapter gave no usable answer. The message may be shown to callers. */
export class AdapterFailure extends Error {
  readonly outcome: Exclude<FallbackOutcome, 'answered' | 'unknown'>;

  constructor(outcome: AdapterFailure['outcome'], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AdapterFailure';
    this.outcome = outcome;
  }
}

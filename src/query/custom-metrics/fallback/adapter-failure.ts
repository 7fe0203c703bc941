/** What came of asking the second adapter; `answered` and `unknown` are no failures. */
export type FallbackOutcome =
  'answered' | 'unknown' | 'refused' | 'timeout' | 'unreachable' | 'failed' | 'invalid' | 'loop' | 'busy';

/** The second adapter did not give an answer that can be used. The message may be shown to callers. */
export class AdapterFailure extends Error {
  readonly outcome: Exclude<FallbackOutcome, 'answered' | 'unknown'>;

  constructor(outcome: AdapterFailure['outcome'], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AdapterFailure';
    this.outcome = outcome;
  }
}

import type { KernelStage } from './stage.ts';

/** What the instrument does wrong by a fault of its own that is understood: the check is skipped, and says so aloud. */
export class KnownFault extends Error {}

/** One thing that holds, or does not. */
export interface Check {
  readonly what: string;
  /** Only the real instrument can show it: with the stand-in it is skipped, aloud. */
  readonly real?: true;
  /** Resolves with what was seen; rejects with what is wrong. */
  readonly run: (stage: KernelStage) => Promise<string | void>;
}

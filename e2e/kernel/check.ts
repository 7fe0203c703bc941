import type { KernelStage } from './stage.ts';

/** A known fault of the instrument itself: the check is reported as skipped, with the fault. */
export class KnownFault extends Error {}

/** One property that is checked in the virtual machine. */
export interface Check {
  readonly what: string;
  /** Only the real instrument can show it: with the stand-in the check is reported as skipped. */
  readonly real?: true;
  /** Resolves with what was seen; rejects with what is wrong. */
  readonly run: (stage: KernelStage) => Promise<string | void>;
}

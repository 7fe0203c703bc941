import type { KeyPair } from '../cluster/pki.ts';
import type { ImageFile } from './images.ts';
import type { Programs } from './programs.ts';

/** The options of `main.ts`, the command that tests the product on a real node. */
export interface Orders {
  readonly edits: number;
  readonly editSeconds: number;
  readonly rollouts: number;
  readonly chaosSeconds: number;
  /** Decides the order of faults, and their lengths. */
  readonly seed: number;
  /** Names of the checks to run; empty for all. */
  readonly only: readonly string[];
  readonly keep: boolean;
  /** Absolute path of the file for the outcomes; empty for none. */
  readonly report: string;
}

/** What the process outside the enclosure (the Linux namespaces of a run) passes to the process inside. */
export interface Given {
  readonly dir: string;
  /** When the command began. Units: ms since the epoch. */
  readonly started: number;
  readonly orders: Orders;
  readonly programs: Programs;
  readonly images: readonly ImageFile[];
  readonly authority: KeyPair;
  readonly outsideHost: string;
  readonly kmsPort: number;
}

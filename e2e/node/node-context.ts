import type { Api } from '../cluster/api.ts';
import type { AddressPool } from './address-pool.ts';
import type { ImageTable } from './container/images.ts';
import type { ObjectCache } from './object-cache.ts';
import type { Pod } from './types.ts';

/** How long an ended container waits for its restart: not at all the first time, then `initialMs`, then doubling. */
export interface Backoff {
  initialMs: number;
  maxMs: number;
  /** A run this long makes the next restart immediate again. */
  resetMs: number;
}

/** A kubelet's back-off. A kubelet applies it also after a container has ended with code 0. */
export const kubeletBackoff: Backoff = { initialMs: 10_000, maxMs: 300_000, resetMs: 600_000 };

/** What the pods of a node share. */
export interface NodeContext {
  readonly run: string;
  readonly nodeName: string;
  readonly nodeIP: string;
  readonly podsDir: string;
  /** The node's own disk. */
  readonly hostDir: string;
  readonly api: Api;
  readonly images: ImageTable;
  readonly objects: ObjectCache;
  readonly addresses: AddressPool;
  readonly backoff: Backoff;
  readonly logCapBytes: number;
  readonly compileCacheDir: string;
  log(what: string, error?: unknown): void;
  event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Deletes the Pod object of a pod that has ended. */
  deletePod(pod: Pod): Promise<void>;
  /** Drops what is kept in memory for a pod. */
  forget(podUid: string): void;
}

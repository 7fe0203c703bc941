export const dropReasons = ['queue_full', 'disk', 'too_large', 'corrupt', 'removed'] as const;
export type DropReason = (typeof dropReasons)[number];

export interface QueueOptions {
  readonly dir: string;
  /** Disk space that the queue may use until `setMaxBytes` changes it. Units: bytes. */
  readonly maxBytes: number;
  /**
   * Called for items that were dropped unsent. A damaged part of a file counts as one item, because the number of items
   * in it is unknown; its length is `unreadableBytes`.
   */
  readonly onDropped: (items: number, reason: DropReason, unreadableBytes: number) => void;
}

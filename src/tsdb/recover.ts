import type { Logger } from '../base/logger.ts';
import { BlockSet } from './block-set.ts';
import type { FileLayer } from './disk/file-layer.ts';
import type { Head } from './head/head.ts';
import { removeUnfinishedSnapshots } from './snapshot.ts';
import type { RecordSink } from './wal/record.ts';
import { recoverWal } from './wal/recovery.ts';
import type { WalRecovery } from './wal/recovery.ts';

export interface Recovered {
  readonly blocks: BlockSet;
  readonly wal: WalRecovery;
  readonly orphanSamples: number;
}

/**
 * Opens the files of a store's directory and fills the head (the samples in memory) from the log. Blocks are opened
 * first, because samples of the log that are in blocks are skipped.
 * Errors: those of the system; then no file stays open.
 */
export async function recover(dir: string, files: FileLayer, logger: Logger, head: Head): Promise<Recovered> {
  await removeUnfinishedSnapshots(dir, files, logger);
  await files.makeDir(`${dir}/wal`);
  const quarantine = `${dir}/quarantine`;
  // A full disk has room for a move of a damaged file, but may have none for a new folder.
  await files.makeDir(quarantine).catch(() => {});
  const blocks = await BlockSet.open({ dir: `${dir}/blocks`, quarantine, files, logger });
  try {
    return { blocks, ...(await recoverHead(dir, quarantine, files, logger, head, blocks)) };
  } catch (error) {
    await blocks.close();
    throw error;
  }
}

async function recoverHead(
  dir: string,
  quarantine: string,
  files: FileLayer,
  logger: Logger,
  head: Head,
  { blocks }: BlockSet,
): Promise<Pick<Recovered, 'wal' | 'orphanSamples'>> {
  for (const block of blocks) head.minValidT = Math.max(head.minValidT, block.to);
  let orphanSamples = 0;
  const orphan = (known: boolean): void => {
    if (!known) orphanSamples++;
  };
  const sink: RecordSink = {
    series: (ref, labels) => head.restoreSeries(ref, labels),
    sample: (ref, t, high, low) => orphan(head.restoreSample(ref, t, high, low)),
    histogram: (ref, t, histogram) => orphan(head.restoreHistogram(ref, t, histogram)),
    deletion: (ref, mint, maxt) => void head.restoreDeletion(ref, mint, maxt),
    chunk: (ref, chunk) => void head.restoreChunk(ref, chunk),
    checkpointStart: (minValidT, nextRef) => {
      head.minValidT = Math.max(head.minValidT, minValidT);
      head.nextRef = Math.max(head.nextRef, nextRef);
    },
  };
  const wal = await recoverWal(`${dir}/wal`, quarantine, files, logger, sink);
  // A later start may be able to read the bytes that were left. They hold fewer series than bytes. The refs of these
  // series must not be given to others.
  head.nextRef += wal.leftBytes;
  head.finishReplay();
  if (orphanSamples > 0) {
    logger.error('store: samples of series that a damaged log lost', { samples: orphanSamples });
  }
  return { wal, orphanSamples };
}

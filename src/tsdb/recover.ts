import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { Block } from './block/reader.ts';
import type { FileLayer } from './file-layer.ts';
import type { Head } from './head/head.ts';
import type { Labels } from './labels.ts';
import type { XorChunk } from './types.ts';
import { recoverWal } from './wal/recovery.ts';
import type { WalRecovery } from './wal/recovery.ts';

export interface Recovered {
  readonly blocks: Block[];
  readonly wal: WalRecovery;
  readonly orphanSamples: number;
}

/** Opens what a directory holds and fills the head from the log. Order matters: blocks say what the log may skip. */
export async function recover(dir: string, files: FileLayer, logger: Logger, head: Head): Promise<Recovered> {
  await files.makeDir(`${dir}/wal`);
  await files.makeDir(`${dir}/blocks`);
  const quarantine = `${dir}/quarantine`;
  const blocks = await openBlocks(`${dir}/blocks`, quarantine, files, logger);
  for (const block of blocks) head.minValidT = Math.max(head.minValidT, block.to);
  let orphanSamples = 0;
  const orphan = (known: boolean): void => {
    if (!known) orphanSamples++;
  };
  const wal = await recoverWal(`${dir}/wal`, quarantine, files, logger, {
    checkpoint: () => checkpointSink(head),
    segments: {
      series: (ref, labels) => head.restoreSeries(ref, labels),
      sample: (ref, t, high, low) => orphan(head.restoreSample(ref, t, high, low)),
    },
  });
  head.finishReplay();
  if (orphanSamples > 0) {
    logger.error('store: samples of series that a damaged log lost', { samples: orphanSamples });
  }
  return { blocks, wal, orphanSamples };
}

/** Collects a checkpoint and gives it to the head only when it has proved whole. */
function checkpointSink(head: Head) {
  const entries: { ref: number; labels: Labels; chunks: XorChunk[] }[] = [];
  let minValidT = -Infinity;
  let nextRef = 1;
  return {
    checkpointStart: (time: number, next: number): void => {
      minValidT = time;
      nextRef = next;
    },
    series: (ref: number, labels: Labels): void => void entries.push({ ref, labels, chunks: [] }),
    chunk: (_ref: number, chunk: XorChunk): void => void entries.at(-1)?.chunks.push(chunk),
    sample: (): void => {},
    adopt: (): void => {
      head.minValidT = Math.max(head.minValidT, minValidT);
      head.nextRef = Math.max(head.nextRef, nextRef);
      for (const { ref, labels, chunks } of entries) {
        head.restoreSeries(ref, labels);
        for (const chunk of chunks) head.restoreChunk(ref, chunk);
      }
    },
  };
}

async function openBlocks(dir: string, quarantine: string, files: FileLayer, logger: Logger): Promise<Block[]> {
  const blocks: Block[] = [];
  for (const name of await files.list(dir)) {
    const path = `${dir}/${name}`;
    if (name.endsWith('.tmp')) await files.remove(path);
    if (!name.endsWith('.block')) continue;
    try {
      blocks.push(await Block.open(path, files));
    } catch (error) {
      logger.error('store: block cannot be read, it is set aside', { path, quarantine, error: errorText(error) });
      await files.makeDir(quarantine);
      await files.rename(path, `${quarantine}/${name}`);
    }
  }
  return blocks.sort((a, b) => a.from - b.from);
}

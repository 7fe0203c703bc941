import { appendTo } from '../base/collections/counts.ts';
import { isBlameless } from '../base/errors.ts';
import { blockRangeMs } from './block-range.ts';
import type { Block } from './block/reader.ts';
import type { BlockSource } from './block/writer.ts';
import { compareLabels } from './labels.ts';
import type { Labels } from './labels.ts';

/** Blocks are merged into aligned ranges of these lengths. */
const levelsMs = [3, 9, 27].map((n) => n * blockRangeMs);
/** A block is rewritten by itself when more than this share of its series have deleted samples. */
const rewriteShare = 0.05;

export interface Merge {
  readonly range: { readonly from: number; readonly to: number };
  readonly parts: readonly Block[];
}

/**
 * The next useful merge, or undefined. Pure.
 * The blocks of one larger aligned range become one when no further block can fall into that range (`settled`: all
 * samples before this time are in blocks). A merged block spans at most a quarter of the retention, because retention
 * removes whole blocks. If there is nothing to merge, a block with many deleted samples is rewritten.
 */
export function nextMerge(blocks: readonly Block[], settled: number, retentionMs: number): Merge | undefined {
  for (const length of levelsMs) {
    if (length > retentionMs / 4) break;
    const groups = new Map<number, Block[]>();
    for (const block of blocks) {
      const from = Math.floor(block.from / length) * length;
      if (block.to > from + length || block.to - block.from >= length || from + length > settled) continue;
      appendTo(groups, from, block);
    }
    for (const [from, parts] of groups) if (parts.length > 1) return { range: { from, to: from + length }, parts };
  }
  const holed = blocks.find(({ tombstones, index }) => tombstones.size > index.seriesCount * rewriteShare);
  return holed && { range: { from: holed.from, to: holed.to }, parts: [holed] };
}

/** The series of several blocks in label order, each with its chunks in time order, without deleted samples. */
export function* mergedSeries(
  parts: readonly Block[],
  onBad: (block: Block, error: unknown) => void,
): Generator<BlockSource> {
  const cursors = [...parts].sort((a, b) => a.from - b.from).map((block) => new Cursor(block, onBad));
  for (;;) {
    let least: Labels | undefined;
    for (const { labels } of cursors) if (labels && (!least || compareLabels(labels, least) < 0)) least = labels;
    if (!least) return;
    const labels = least;
    const same = cursors.filter((c) => c.labels && compareLabels(c.labels, labels) === 0);
    yield { labels, chunks: same.flatMap((c) => c.chunks()) };
    for (const cursor of same) cursor.advance();
  }
}

class Cursor {
  labels: Labels | undefined;
  readonly #block: Block;
  readonly #onBad: (block: Block, error: unknown) => void;
  #ordinal = -1;

  constructor(block: Block, onBad: (block: Block, error: unknown) => void) {
    this.#block = block;
    this.#onBad = onBad;
    this.advance();
  }

  advance(): void {
    this.#ordinal++;
    const done = this.#ordinal >= this.#block.index.seriesCount;
    this.labels = done ? undefined : this.#block.index.series(this.#ordinal).labels;
  }

  chunks() {
    try {
      return this.#block.readChunks(this.#ordinal, this.#block.index.series(this.#ordinal).chunks);
    } catch (error) {
      if (!isBlameless(error)) this.#onBad(this.#block, error);
      throw error;
    }
  }
}

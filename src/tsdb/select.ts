import { isOperatorError } from '../base/errors.ts';
import type { Block } from './block/reader.ts';
import type { Head } from './head/head.ts';
import type { HeadView } from './head/head-view.ts';
import { compareLabels } from './labels.ts';
import type { Labels } from './labels.ts';
import type { CompiledMatcher } from './matcher.ts';
import { selectPostings } from './postings.ts';
import type { Chunk, SelectedSeries } from './types.ts';

/** A selected series that can also say whether a sample of it lies in the asked range, mostly without reading a chunk. */
export interface FoundSeries extends SelectedSeries {
  hasSamples(): boolean;
}

/** Series in label order, one at a time. */
interface Cursor {
  labels: Labels | undefined;
  read: () => Chunk[];
  hasSamples: () => boolean;
  advance(): void;
}

/**
 * Finds the matching series of all blocks and the head, as they are at this moment.
 * Shape: sorted by labels; a series that lives in several places comes once. Labels and chunks are made when it is
 * their turn, so memory is a few numbers for each series, however much is read.
 * Caveats: blocks stay open until the iteration ends; it ends them when the caller stops early, too.
 * Errors: ERR_STORE_CORRUPT from `chunks()`; `onBad` is then told which block it was.
 */
export function* selectSeries(
  blocks: readonly Block[],
  head: Head,
  matchers: readonly CompiledMatcher[],
  mint: number,
  maxt: number,
  onBad: (block: Block, error: unknown) => void,
): Generator<FoundSeries> {
  const used = blocks.filter((block) => block.from <= maxt && block.to > mint);
  for (const block of used) block.acquire();
  const view = head.view(matchers, mint, maxt);
  try {
    // Blocks are in time order and the head is last, so the chunks of a series come out in time order.
    const cursors = [...used.map((block) => new BlockCursor(block, matchers, mint, maxt, onBad)), new HeadCursor(view)];
    const next: Cursor[] = [];
    while (takeNext(cursors, next)) {
      yield joined(next);
      for (const cursor of next) cursor.advance();
    }
  } finally {
    view.close();
    for (const block of used) block.release();
  }
}

/** Fills `next` with the cursors that stand at the next series in order; false when there is none. */
function takeNext(cursors: readonly Cursor[], next: Cursor[]): boolean {
  next.length = 0;
  for (const cursor of cursors) {
    const { labels } = cursor;
    if (labels === undefined) continue;
    const order = next.length === 0 ? 0 : compareLabels(labels, next[0]!.labels!);
    if (order < 0) next.length = 0;
    if (order <= 0) next.push(cursor);
  }
  return next.length > 0;
}

/** One series out of all places that have it. */
function joined(places: readonly Cursor[]): FoundSeries {
  const { labels, read, hasSamples } = places[0]!;
  if (places.length === 1) return { labels: labels!, chunks: read, hasSamples };
  const reads = places.map((place) => place.read);
  const checks = places.map((place) => place.hasSamples);
  return {
    labels: labels!,
    chunks: () => reads.flatMap((one) => one()),
    hasSamples: () => checks.some((check) => check()),
  };
}

class HeadCursor implements Cursor {
  labels: Labels | undefined;
  read: () => Chunk[] = () => [];
  hasSamples: () => boolean = () => false;
  readonly #view: HeadView;
  #at = -1;

  constructor(view: HeadView) {
    this.#view = view;
    this.advance();
  }

  advance(): void {
    const view = this.#view;
    do this.#at++;
    while (this.#at < view.size && !view.hasChunks(this.#at));
    const i = this.#at;
    this.labels = i < view.size ? view.labels(i) : undefined;
    this.read = () => view.chunks(i);
    this.hasSamples = () => view.hasSamples(i);
  }
}

class BlockCursor implements Cursor {
  labels: Labels | undefined;
  read: () => Chunk[] = () => [];
  hasSamples: () => boolean = () => false;
  readonly #block: Block;
  readonly #ordinals: ArrayLike<number>;
  readonly #mint: number;
  readonly #maxt: number;
  readonly #onBad: (block: Block, error: unknown) => void;
  #at = -1;

  constructor(
    block: Block,
    matchers: readonly CompiledMatcher[],
    mint: number,
    maxt: number,
    onBad: (block: Block, error: unknown) => void,
  ) {
    this.#block = block;
    this.#mint = mint;
    this.#maxt = maxt;
    this.#onBad = onBad;
    this.#ordinals = this.#guard(() => selectPostings(block.index, matchers));
    this.advance();
  }

  advance(): void {
    const block = this.#block;
    while (++this.#at < this.#ordinals.length) {
      const ordinal = this.#ordinals[this.#at]!;
      const { labels, chunks } = this.#guard(() => block.index.series(ordinal));
      const [mint, maxt] = [this.#mint, this.#maxt];
      const wanted = chunks.filter((chunk) => chunk.minT <= maxt && chunk.maxT >= mint);
      if (wanted.length === 0) continue;
      this.read = () => this.#guard(() => block.readChunks(ordinal, wanted));
      this.hasSamples = () => this.#guard(() => block.hasSamples(ordinal, wanted, mint, maxt));
      // A series with deleted samples may have none left in the range.
      if (block.tombstones.has(ordinal) && this.read().length === 0) continue;
      this.labels = labels;
      return;
    }
    this.labels = undefined;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (isOperatorError(error, 'ERR_STORE_CORRUPT')) this.#onBad(this.#block, error);
      throw error;
    }
  }
}

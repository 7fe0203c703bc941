import { isOperatorError } from '../base/errors.ts';
import type { Block } from './block/reader.ts';
import type { Head } from './head/head.ts';
import type { HeadView } from './head/head-view.ts';
import { compareLabels } from './labels.ts';
import type { CompiledMatcher } from './matcher.ts';
import { selectPostings, type PostingsIndex } from './postings.ts';
import { SeriesInBlock, SeriesInHead, SeriesInPlaces, type FoundSeries } from './found-series.ts';
import type { Selection } from './types.ts';

/** Series in label order, one at a time. */
interface Cursor {
  series: FoundSeries | undefined;
  advance(): void;
}

/** What a selection searches, and its conditions. */
export interface Searched {
  readonly blocks: readonly Block[];
  readonly head: Head;
  readonly matchers: readonly CompiledMatcher[];
  readonly mint: number;
  readonly maxt: number;
  /** Called for a block that turns out to be damaged. */
  readonly onBad: (block: Block, error: unknown) => void;
}

/** The blocks whose range overlaps [mint, maxt]. */
export function blocksIn({ blocks, mint, maxt }: Pick<Searched, 'blocks' | 'mint' | 'maxt'>): Block[] {
  return blocks.filter((block) => block.from <= maxt && block.to > mint);
}

/**
 * The indexes of these blocks and of the head. They are in memory, and can be read even after the blocks were closed.
 */
export function indexesOf(searched: Pick<Searched, 'blocks' | 'head' | 'mint' | 'maxt'>): PostingsIndex[] {
  return [...blocksIn(searched).map(({ index }) => index), searched.head.postings];
}

/**
 * The matching series of all blocks and the head, as they are at this moment.
 * Shape: sorted by labels; a series of several blocks, or of a block and the head, occurs once. Labels and chunks are
 * decoded series by series, so a selection holds only a few numbers for each series, however much is read.
 * Caveats: blocks stay open, and the head's memory is not reused, until `close`.
 */
export class OpenSelection implements Selection {
  readonly #searched: Searched;
  readonly #blocks: readonly Block[];
  readonly #view: HeadView;

  constructor(searched: Searched) {
    const { head, matchers, mint, maxt } = searched;
    this.#searched = searched;
    this.#blocks = blocksIn(searched);
    this.#view = head.view(matchers, mint, maxt);
    for (const block of this.#blocks) block.acquire();
  }

  /** Errors: ERR_STORE_CORRUPT, also from reading a series; `onBad` is then called with the block. */
  *[Symbol.iterator](): Generator<FoundSeries> {
    // Blocks are in time order and the head is last, so the chunks of a series come out in time order.
    const inBlocks = this.#blocks.map((block) => new BlockCursor(block, this.#searched, this.#view));
    const cursors = [...inBlocks, new HeadCursor(this.#view)];
    const next: Cursor[] = [];
    while (takeNext(cursors, next)) {
      yield next.length === 1 ? next[0]!.series! : new SeriesInPlaces(next.map(({ series }) => series!));
      for (const cursor of next) cursor.advance();
    }
  }

  /** May be called twice. */
  close(): void {
    if (!this.#view.isOpen) return;
    this.#view.close();
    for (const block of this.#blocks) block.release();
  }
}

/** Like `OpenSelection`, but closed when the iteration ends, even early. */
export function* selectSeries(searched: Searched): Generator<FoundSeries> {
  const selection = new OpenSelection(searched);
  try {
    yield* selection;
  } finally {
    selection.close();
  }
}

/** Fills `next` with the cursors at the next series in order; false when there is none. */
function takeNext(cursors: readonly Cursor[], next: Cursor[]): boolean {
  next.length = 0;
  for (const cursor of cursors) {
    const { series } = cursor;
    if (series === undefined) continue;
    const order = next.length === 0 ? 0 : compareLabels(series.labels, next[0]!.series!.labels);
    if (order < 0) next.length = 0;
    if (order <= 0) next.push(cursor);
  }
  return next.length > 0;
}

class HeadCursor implements Cursor {
  series: FoundSeries | undefined;
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
    this.series = this.#at < view.size ? new SeriesInHead(view, this.#at) : undefined;
  }
}

class BlockCursor implements Cursor {
  series: FoundSeries | undefined;
  readonly #block: Block;
  readonly #searched: Searched;
  readonly #guard: <T>(work: () => T) => T;
  readonly #ordinals: ArrayLike<number>;
  #at = -1;

  constructor(block: Block, searched: Searched, view: HeadView) {
    this.#block = block;
    this.#searched = searched;
    this.#guard = (work) => {
      // After the selection is closed, the file may be closed, too: a failed read then does not mean damage.
      view.assertOpen();
      try {
        return work();
      } catch (error) {
        if (isOperatorError(error, 'ERR_STORE_CORRUPT')) searched.onBad(block, error);
        throw error;
      }
    };
    this.#ordinals = this.#guard(() => selectPostings(block.index, searched.matchers));
    this.advance();
  }

  advance(): void {
    this.series = this.#guard(() => this.#next());
  }

  #next(): FoundSeries | undefined {
    const block = this.#block;
    const { mint, maxt } = this.#searched;
    while (++this.#at < this.#ordinals.length) {
      const ordinal = this.#ordinals[this.#at]!;
      const { labels, chunks } = block.index.series(ordinal);
      const places = chunks.filter((chunk) => chunk.minT <= maxt && chunk.maxT >= mint);
      if (places.length === 0) continue;
      // A series with deleted samples may have none left in the range.
      if (block.tombstones.has(ordinal) && block.readChunks(ordinal, places).length === 0) continue;
      return new SeriesInBlock({ block, mint, maxt, guard: this.#guard }, ordinal, labels, places);
    }
    return undefined;
  }
}

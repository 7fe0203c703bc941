import type { Block } from './block/reader.ts';
import type { Head } from './head/head.ts';
import { momentChunks } from './head/head-series.ts';
import { compareLabels, labelsKey } from './labels.ts';
import type { Labels } from './labels.ts';
import type { CompiledMatcher } from './matcher.ts';
import { selectPostings } from './postings.ts';
import type { SelectedSeries, XorChunk } from './types.ts';

type ChunkSource = () => XorChunk[];

interface Found {
  readonly labels: Labels;
  /** In time order: blocks first, the head last. */
  readonly sources: ChunkSource[];
}

/**
 * Finds the matching series of all blocks and the head, as they are at this moment.
 * Shape: sorted by labels; a series that lives in several places comes once. Chunks are read when asked for.
 * Caveats: blocks stay open until the iteration ends; it ends them when the caller stops early, too.
 */
export function* selectSeries(
  blocks: readonly Block[],
  head: Head,
  matchers: readonly CompiledMatcher[],
  mint: number,
  maxt: number,
): Generator<SelectedSeries> {
  const used = blocks.filter((block) => block.from <= maxt && block.to > mint);
  for (const block of used) block.acquire();
  try {
    const found = new Map<string, Found>();
    const add = (labels: Labels, source: ChunkSource): void => {
      const key = labelsKey(labels);
      const known = found.get(key);
      if (known) known.sources.push(source);
      else found.set(key, { labels, sources: [source] });
    };
    for (const block of used) addBlock(block, matchers, mint, maxt, add);
    for (const series of head.select(matchers, mint, maxt)) {
      const moment = series.moment();
      add(series.labels, () => momentChunks(moment, mint, maxt));
    }
    const sorted = [...found.values()].sort((a, b) => compareLabels(a.labels, b.labels));
    for (const { labels, sources } of sorted) {
      yield { labels, chunks: () => (sources.length === 1 ? sources[0]!() : sources.flatMap((source) => source())) };
    }
  } finally {
    for (const block of used) block.release();
  }
}

function addBlock(
  block: Block,
  matchers: readonly CompiledMatcher[],
  mint: number,
  maxt: number,
  add: (labels: Labels, source: ChunkSource) => void,
): void {
  const ordinals = selectPostings(block.index, matchers);
  for (let i = 0; i < ordinals.length; i++) {
    const { labels, chunks } = block.index.series(ordinals[i]!);
    const wanted = chunks.filter((chunk) => chunk.minT <= maxt && chunk.maxT >= mint);
    if (wanted.length > 0) add(labels, () => wanted.map((place) => block.readChunk(place)));
  }
}

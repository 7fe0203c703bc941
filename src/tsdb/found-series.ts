import type { ChunkPlace } from './block/format.ts';
import type { Block } from './block/reader.ts';
import { decodeXorChunk } from './chunk/index.ts';
import type { SampleBuffer } from './chunk/index.ts';
import type { HeadView } from './head/head-view.ts';
import type { Labels } from './labels.ts';
import type { Chunk, HeldSeries } from './types.ts';

/** A selected series that can also tell if it has a sample in the selected range, mostly without reading chunks. */
export interface FoundSeries extends HeldSeries {
  lentChunks(): Chunk[];
  hasSamples(): boolean;
}

/** The part of a series that lies in the head (the samples in memory). */
export class SeriesInHead implements FoundSeries {
  readonly labels: Labels;
  readonly #view: HeadView;
  readonly #i: number;

  constructor(view: HeadView, i: number) {
    this.labels = view.labels(i);
    this.#view = view;
    this.#i = i;
  }

  get sampleCount(): number {
    return this.#view.sampleCount(this.#i);
  }

  get isFloats(): boolean {
    return this.#view.isFloats(this.#i);
  }

  chunks(): Chunk[] {
    return this.#view.chunks(this.#i);
  }

  lentChunks(): Chunk[] {
    return this.#view.lentChunks(this.#i);
  }

  decode(mint: number, out: SampleBuffer): void {
    this.#view.decode(this.#i, mint, out);
  }

  hasSamples(): boolean {
    return this.#view.hasSamples(this.#i);
  }
}

/** The context that the series of one block share. `guard` reports a block that turns out to be damaged. */
interface BlockSearch {
  readonly block: Block;
  readonly mint: number;
  readonly maxt: number;
  readonly guard: <T>(work: () => T) => T;
}

/** The part of a series that lies in one block. */
export class SeriesInBlock implements FoundSeries {
  readonly labels: Labels;
  readonly #search: BlockSearch;
  readonly #ordinal: number;
  readonly #places: readonly ChunkPlace[];

  constructor(search: BlockSearch, ordinal: number, labels: Labels, places: readonly ChunkPlace[]) {
    this.labels = labels;
    this.#search = search;
    this.#ordinal = ordinal;
    this.#places = places;
  }

  get sampleCount(): number {
    let count = 0;
    for (const place of this.#places) count += place.count;
    return count;
  }

  get isFloats(): boolean {
    return this.#places.every(({ encoding }) => encoding === 1);
  }

  chunks(): Chunk[] {
    const { block, guard } = this.#search;
    return guard(() => block.readChunks(this.#ordinal, this.#places));
  }

  lentChunks(): Chunk[] {
    const { block, guard } = this.#search;
    return guard(() => block.lendChunks(this.#ordinal, this.#places));
  }

  decode(mint: number, out: SampleBuffer): void {
    for (const { bytes } of this.lentChunks()) decodeXorChunk(bytes, out, mint);
  }

  hasSamples(): boolean {
    const { block, mint, maxt, guard } = this.#search;
    return guard(() => block.hasSamples(this.#ordinal, this.#places, mint, maxt));
  }
}

/** One series, joined from its parts in blocks and in the head, in time order. */
export class SeriesInPlaces implements FoundSeries {
  readonly labels: Labels;
  readonly #places: readonly FoundSeries[];

  constructor(places: readonly FoundSeries[]) {
    this.labels = places[0]!.labels;
    this.#places = places;
  }

  get sampleCount(): number {
    let count = 0;
    for (const place of this.#places) count += place.sampleCount;
    return count;
  }

  get isFloats(): boolean {
    return this.#places.every((place) => place.isFloats);
  }

  chunks(): Chunk[] {
    return this.#places.flatMap((place) => place.chunks());
  }

  lentChunks(): Chunk[] {
    return this.#places.flatMap((place) => place.lentChunks());
  }

  decode(mint: number, out: SampleBuffer): void {
    for (const place of this.#places) place.decode(mint, out);
  }

  hasSamples(): boolean {
    return this.#places.some((place) => place.hasSamples());
  }
}

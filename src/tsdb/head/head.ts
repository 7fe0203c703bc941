import { floatOf, isStale } from '../chunk/index.ts';
import type { NativeHistogram } from '../chunk/index.ts';
import { assertLabels, withExternalLabels } from '../labels.ts';
import type { Labels } from '../labels.ts';
import type { CompiledMatcher } from '../matcher.ts';
import { selectPostings } from '../postings.ts';
import type { AppendResult, Chunk, LatestSample, SeriesRef } from '../types.ts';
import { HeadSeries } from './head-series.ts';
import { FoundSlots, KnownSelections, maxKnownSeries } from './found-slots.ts';
import { HeadView } from './head-view.ts';
import { SeriesDictionary } from './series-dictionary.ts';

/** The head's operations that go to the log. */
export interface HeadLog {
  series(ref: number, labels: Labels): void;
  sample(ref: number, t: number, high: number, low: number): void;
  histogram(ref: number, t: number, histogram: NativeHistogram): void;
  deletion(ref: number, mint: number, maxt: number): void;
}

/**
 * The samples that are not in a block yet, in memory.
 * All operations are synchronous, so each call sees and leaves one consistent state.
 */
export class Head {
  readonly #external: Labels;
  readonly #dictionary = new SeriesDictionary();
  readonly #series = new HeadSeries();
  readonly #selections = new KnownSelections();
  /** Replayed refs whose labels already had another ref: from the replayed ref to that other ref. */
  readonly #aliases = new Map<number, number>();
  /**
   * Slot (a series' place in memory) → the writer's `SeriesRef` that was resolved to this slot last. Another
   * `SeriesRef` with the same slot may belong to an earlier series and is looked up again.
   */
  readonly #holders: (SeriesRef | undefined)[] = [];
  /** The labels that were validated last: the next new series mostly shares all of them but one. */
  #newest: Labels = [];
  /**
   * Times of the first and the last sample, maintained by appends. Undefined before the first read, and after samples
   * were removed: the next read then computes them.
   */
  #bounds: { min: number; max: number } | undefined;
  /** The slot of the last sample that was replayed. */
  #lastRestored = -1;
  nextRef = 1;
  /** Samples before this time belong to finished blocks and are refused. */
  minValidT = -Infinity;

  constructor(external: Labels) {
    this.#external = external;
  }

  get size(): number {
    return this.#dictionary.size;
  }

  /** Bytes of chunks, including the free room of open ones. */
  get chunkBytes(): number {
    return this.#series.slab.bytes;
  }

  /** First time of all samples; Infinity when there is none. */
  get minT(): number {
    return this.#knownBounds().min;
  }

  /** Last time of all samples; -Infinity when there is none. */
  get maxT(): number {
    return this.#knownBounds().max;
  }

  #knownBounds(): { min: number; max: number } {
    if (this.#bounds !== undefined) return this.#bounds;
    const bounds = { min: Infinity, max: -Infinity };
    for (const slot of this.#dictionary.all()) {
      bounds.min = Math.min(bounds.min, this.#series.minT(slot));
      bounds.max = Math.max(bounds.max, this.#series.maxT(slot));
    }
    return (this.#bounds = bounds);
  }

  #widenBounds(t: number): void {
    const bounds = this.#bounds;
    if (bounds === undefined) return;
    if (t > bounds.max) bounds.max = t;
    if (t < bounds.min) bounds.min = t;
  }

  append(
    series: Labels | SeriesRef,
    t: number,
    high: number,
    low: number,
    outOfOrderMs: number,
    log: HeadLog,
  ): AppendResult {
    if (t < this.minValidT) return 'late';
    const slot = this.#lookUp(series, log);
    const result = this.#series.append(slot, t, high, low, outOfOrderMs);
    if (result === 'appended') {
      this.#widenBounds(t);
      log.sample(this.#dictionary.refs[slot]!, t, high, low);
    }
    // A series that ended stays here for hours, its writer's object need not.
    if (isStale(high, low)) this.#holders[slot] = undefined;
    return result;
  }

  /** Whether the newest sample of the series is before `t` and not a zero. False also for a new series. */
  lacksStart(series: Labels | SeriesRef, t: number, log: HeadLog): boolean {
    if (t < this.minValidT) return false;
    const newest = this.#series.newest(this.#lookUp(series, log));
    return newest !== undefined && newest.t < t && !newest.histogram && floatOf(newest.high, newest.low) !== 0;
  }

  /** The value of the newest sample of the series; NaN without one since `sinceMs`, and for a histogram. */
  newestValue(series: Labels | SeriesRef, sinceMs: number, log: HeadLog): number {
    const newest = this.#series.newest(this.#lookUp(series, log));
    return newest === undefined || newest.t < sinceMs || newest.histogram ? NaN : floatOf(newest.high, newest.low);
  }

  appendHistogram(
    series: Labels | SeriesRef,
    t: number,
    h: NativeHistogram,
    outOfOrderMs: number,
    log: HeadLog,
  ): AppendResult {
    if (t < this.minValidT) return 'late';
    const slot = this.#lookUp(series, log);
    const result = this.#series.appendHistogram(slot, t, h, outOfOrderMs);
    if (result === 'appended') {
      this.#widenBounds(t);
      log.histogram(this.#dictionary.refs[slot]!, t, h);
    }
    return result;
  }

  /** Removes the matching series' samples in [mint, maxt]; returns the number of series that lost samples. */
  delete(matchers: readonly CompiledMatcher[], mint: number, maxt: number, log: HeadLog): number {
    const slots = this.#matching(matchers).filter((slot) => this.#series.deleteRange(slot, mint, maxt));
    this.#bounds = undefined;
    for (const slot of slots) log.deletion(this.#dictionary.refs[slot]!, mint, maxt);
    this.#forget(slots.filter((slot) => this.#series.isEmpty(slot)));
    return slots.length;
  }

  /** Replays a series record. A known ref keeps its labels. */
  restoreSeries(ref: number, labels: Labels): void {
    if (ref >= this.nextRef) this.nextRef = ref + 1;
    if (this.#dictionary.slotOf(ref) !== undefined) return;
    const known = this.#dictionary.find(labels);
    if (known !== undefined) this.#aliases.set(ref, this.#dictionary.refs[known]!);
    else this.#add(ref, labels);
  }

  /**
   * Replays a sample. False when its series is unknown, because the series record was in a damaged part of the log. A
   * ref that occurs in the log is never given to another series.
   */
  restoreSample(ref: number, t: number, high: number, low: number): boolean {
    // The log has the samples of a sender in the order in which the sender's series were added. So a sample mostly
    // belongs to the slot after the slot of the previous sample.
    const next = this.#lastRestored + 1;
    const slot = this.#dictionary.refs[next] === ref ? next : this.#restored(ref);
    if (slot === undefined) return false;
    this.#lastRestored = slot;
    this.#bounds = undefined;
    if (t >= this.minValidT) this.#series.append(slot, t, high, low, Infinity);
    return true;
  }

  restoreHistogram(ref: number, t: number, histogram: NativeHistogram): boolean {
    const slot = this.#restored(ref);
    if (slot === undefined) return false;
    if (t >= this.minValidT) this.#series.appendHistogram(slot, t, histogram, Infinity);
    return true;
  }

  restoreChunk(ref: number, chunk: Chunk): boolean {
    const slot = this.#restored(ref);
    if (slot !== undefined && chunk.maxT >= this.minValidT) this.#series.restore(slot, chunk);
    return slot !== undefined;
  }

  restoreDeletion(ref: number, mint: number, maxt: number): boolean {
    const slot = this.#restored(ref);
    if (slot !== undefined) this.#series.deleteRange(slot, mint, maxt);
    return slot !== undefined;
  }

  /**
   * A view of the matching series, in label order. Series without samples in [mint, maxt] have no chunks in the view.
   * The caller closes the view.
   */
  view(matchers: readonly CompiledMatcher[], mint: number, maxt: number): HeadView {
    const find = (): FoundSlots => {
      const slots = this.#dictionary.sort(this.#matching(matchers));
      return new FoundSlots(slots, this.#dictionary, slots.length <= maxKnownSeries);
    };
    return new HeadView(this.#series, this.#selections.get(matchers, find), mint, maxt);
  }

  /** Adds to `texts` the label names of the matching series with samples in [mint, maxt], or the values of `name`. */
  collect(
    matchers: readonly CompiledMatcher[],
    mint: number,
    maxt: number,
    name: string | undefined,
    texts: Set<string>,
  ): void {
    const series = this.#series;
    const found: number[] = [];
    const unsure: number[] = [];
    for (const slot of this.#matching(matchers)) {
      const [first, last] = [series.minT(slot), series.maxT(slot)];
      if (first > maxt || last < mint) continue;
      (first >= mint || last <= maxt ? found : unsure).push(slot);
    }
    if (unsure.length > 0) {
      const view = this.#viewOf(unsure, mint, maxt);
      for (let i = 0; i < view.size; i++) if (view.hasSamples(i)) found.push(unsure[i]!);
      view.close();
    }
    this.#dictionary.collect(found, name, texts);
  }

  /** All series in the order of their refs, for a checkpoint. The caller closes the view. */
  viewAll(): { readonly view: HeadView; readonly refs: readonly number[] } {
    const slots = [...this.#dictionary.all()];
    const view = this.#viewOf(slots, -Infinity, Infinity);
    return { view, refs: slots.map((slot) => this.#dictionary.refs[slot]!) };
  }

  /**
   * Finishes open chunks that begin before `end`. Returns the series with samples before `end`, in label order. The
   * caller closes the view.
   */
  chunksBefore(end: number): HeadView {
    const slots: number[] = [];
    for (const slot of this.#dictionary.all()) {
      if (this.#series.minT(slot) >= end) continue;
      if (this.#series.openMinT(slot) < end) this.#series.finishOpen(slot);
      slots.push(slot);
    }
    return this.#viewOf(this.#dictionary.sort(slots), -Infinity, end - 1);
  }

  latest(matchers: readonly CompiledMatcher[], sinceMs: number): LatestSample[] {
    const view = this.view(matchers, sinceMs, Infinity);
    try {
      const latest: LatestSample[] = [];
      for (let i = 0; i < view.size; i++) {
        if (!view.hasChunks(i)) continue;
        const { t, high, low, histogram } = this.#series.newest(view.slot(i))!;
        const value = histogram ? NaN : floatOf(high, low);
        const sample = { labels: view.labels(i), tMs: t, value, stale: !histogram && isStale(high, low) };
        latest.push(histogram ? { ...sample, histogram } : sample);
      }
      return latest;
    } finally {
      view.close();
    }
  }

  /** The postings of all series. They give label names and values without reading a sample. */
  get postings() {
    return this.#dictionary.postings;
  }

  /** Ends a replay: drops the samples that blocks already hold. */
  finishReplay(): void {
    this.#aliases.clear();
    this.dropBefore(this.minValidT);
  }

  /** Drops all samples before `end`, and the series that then have none. */
  dropBefore(end: number): void {
    const dropped: number[] = [];
    const empty: number[] = [];
    this.#bounds = undefined;
    for (const slot of this.#dictionary.all()) {
      if (this.#series.openMinT(slot) < end) this.#series.finishOpen(slot);
      this.#series.dropBefore(slot, end, dropped);
      if (this.#series.isEmpty(slot)) empty.push(slot);
    }
    this.#series.epochs.retire(() => dropped.forEach((id) => this.#series.chunks.release(id)));
    this.#forget(empty);
  }

  #forget(slots: readonly number[]): void {
    for (const slot of slots) this.#holders[slot] = undefined;
    if (slots.length > 0) this.#selections.clear();
    this.#dictionary.remove(slots, (release) => this.#series.epochs.retire(release));
  }

  #viewOf(slots: readonly number[], mint: number, maxt: number): HeadView {
    return new HeadView(this.#series, new FoundSlots(slots, this.#dictionary, false), mint, maxt);
  }

  #matching(matchers: readonly CompiledMatcher[]): number[] {
    const slots: number[] = [];
    const refs = selectPostings(this.#dictionary.postings, matchers);
    for (let i = 0; i < refs.length; i++) {
      const slot = this.#dictionary.slotOf(refs[i]!);
      if (slot !== undefined) slots.push(slot);
    }
    return slots;
  }

  #restored(ref: number): number | undefined {
    this.#bounds = undefined;
    if (ref >= this.nextRef) this.nextRef = ref + 1;
    const slot = this.#dictionary.slotOf(ref);
    if (slot !== undefined || this.#aliases.size === 0) return slot;
    const alias = this.#aliases.get(ref);
    return alias === undefined ? undefined : this.#dictionary.slotOf(alias);
  }

  #lookUp(series: Labels | SeriesRef, log: HeadLog): number {
    if (isLabels(series)) return this.#slotFor(series, log);
    if (this.#holders[series.slot] === series) return series.slot;
    const slot = this.#slotFor(series.labels, log);
    this.#holders[slot] = series;
    series.slot = slot;
    return slot;
  }

  #slotFor(labels: Labels, log: HeadLog): number {
    const merged = withExternalLabels(labels, this.#external);
    let slot = this.#dictionary.find(merged);
    if (slot === undefined) {
      assertLabels(merged, this.#newest);
      this.#newest = merged;
      const ref = this.nextRef++;
      slot = this.#add(ref, merged);
      log.series(ref, merged);
    }
    return slot;
  }

  #add(ref: number, labels: Labels): number {
    this.#selections.clear();
    const slot = this.#dictionary.add(ref, labels);
    this.#series.clear(slot);
    return slot;
  }
}

function isLabels(series: Labels | SeriesRef): series is Labels {
  return Array.isArray(series);
}

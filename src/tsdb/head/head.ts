import { isStale, floatOf } from '../chunk/index.ts';
import { assertLabels, compareLabels, labelsKey, withExternalLabels } from '../labels.ts';
import type { Labels } from '../labels.ts';
import type { CompiledMatcher } from '../matcher.ts';
import { MemoryPostings, selectPostings } from '../postings.ts';
import type { AppendResult, LatestSample, XorChunk } from '../types.ts';
import { HeadSeries } from './head-series.ts';

/** What the head tells the log. */
export interface HeadLog {
  series(ref: number, labels: Labels): void;
  sample(ref: number, t: number, high: number, low: number): void;
}

/**
 * The samples that are not in a block yet, in memory: series by key and by number, and their postings.
 * Everything here is synchronous, so each call sees and leaves one consistent state.
 */
export class Head {
  readonly #external: Labels;
  readonly #byKey = new Map<string, HeadSeries>();
  readonly #byRef = new Map<number, HeadSeries>();
  /** Numbers that replay met for labels which had another number already. */
  readonly #aliases = new Map<number, HeadSeries>();
  #byIdentity = new WeakMap<Labels, HeadSeries>();
  readonly postings = new MemoryPostings();
  nextRef = 1;
  /** Samples before this time belong to finished blocks and are refused. */
  minValidT = -Infinity;

  constructor(external: Labels) {
    this.#external = external;
  }

  get size(): number {
    return this.#byRef.size;
  }

  series(): IterableIterator<HeadSeries> {
    return this.#byRef.values();
  }

  get minT(): number {
    let min = Infinity;
    for (const series of this.#byRef.values()) if (series.minT < min) min = series.minT;
    return min;
  }

  get maxT(): number {
    let max = -Infinity;
    for (const series of this.#byRef.values()) if (series.maxT > max) max = series.maxT;
    return max;
  }

  append(labels: Labels, t: number, high: number, low: number, outOfOrderMs: number, log: HeadLog): AppendResult {
    if (t < this.minValidT) return 'late';
    const series = this.#lookUp(labels, log);
    const result = series.append(t, high, low, outOfOrderMs);
    if (result === 'appended') log.sample(series.ref, t, high, low);
    return result;
  }

  /** Replays a series record; a number that is known already is left as it is. */
  restoreSeries(ref: number, labels: Labels): void {
    if (ref >= this.nextRef) this.nextRef = ref + 1;
    if (this.#byRef.has(ref)) return;
    const known = this.#byKey.get(labelsKey(labels));
    if (known) this.#aliases.set(ref, known);
    else this.#add(new HeadSeries(ref, labels));
  }

  /**
   * Replays a sample. False when its series is unknown (its record was in a damaged part of the log).
   * A number that occurs is never given to another series.
   */
  restoreSample(ref: number, t: number, high: number, low: number): boolean {
    if (ref >= this.nextRef) this.nextRef = ref + 1;
    const series = this.#byRef.get(ref) ?? this.#aliases.get(ref);
    if (!series) return false;
    if (t >= this.minValidT) series.append(t, high, low, Infinity);
    return true;
  }

  restoreChunk(ref: number, chunk: XorChunk): boolean {
    const series = this.#byRef.get(ref) ?? this.#aliases.get(ref);
    if (series && chunk.maxT >= this.minValidT) series.restore(chunk);
    return series !== undefined;
  }

  /** Matching series that may have samples in [mint, maxt]; in no order. */
  select(matchers: readonly CompiledMatcher[], mint: number, maxt: number): HeadSeries[] {
    const out: HeadSeries[] = [];
    const refs = selectPostings(this.postings, matchers);
    for (let i = 0; i < refs.length; i++) {
      const series = this.#byRef.get(refs[i]!);
      if (series && series.minT <= maxt && series.maxT >= mint) out.push(series);
    }
    return out;
  }

  latest(matchers: readonly CompiledMatcher[], sinceMs: number): LatestSample[] {
    const out: LatestSample[] = [];
    for (const series of this.select(matchers, sinceMs, Infinity)) {
      const { high, low } = series.last!;
      out.push({ labels: series.labels, tMs: series.maxT, value: floatOf(high, low), stale: isStale(high, low) });
    }
    return out.sort((a, b) => compareLabels(a.labels, b.labels));
  }

  /** Ends a replay: drops what blocks hold already. */
  finishReplay(): void {
    this.#aliases.clear();
    this.dropBefore(this.minValidT);
  }

  /** Lets go of all samples before `end`, and of series that then have none. */
  dropBefore(end: number): void {
    const gone = new Set<number>();
    for (const series of this.#byRef.values()) {
      series.dropBefore(end);
      if (!series.empty) continue;
      series.gone = true;
      gone.add(series.ref);
      this.#byKey.delete(labelsKey(series.labels));
    }
    for (const ref of gone) this.#byRef.delete(ref);
    if (gone.size > 0) this.postings.remove(gone);
  }

  #lookUp(labels: Labels, log: HeadLog): HeadSeries {
    const known = this.#byIdentity.get(labels);
    if (known && !known.gone) return known;
    const merged = withExternalLabels(labels, this.#external);
    let series = this.#byKey.get(labelsKey(merged));
    if (!series) {
      assertLabels(merged);
      // A copy: the caller's array may be changed later, ours decides what readers get.
      series = new HeadSeries(
        this.nextRef++,
        merged.map(([name, value]) => [name, value] as const),
      );
      this.#add(series);
      log.series(series.ref, series.labels);
    }
    this.#byIdentity.set(labels, series);
    return series;
  }

  #add(series: HeadSeries): void {
    this.#byKey.set(labelsKey(series.labels), series);
    this.#byRef.set(series.ref, series);
    this.postings.add(series.ref, series.labels);
  }
}

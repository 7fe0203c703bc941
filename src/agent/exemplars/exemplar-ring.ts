import { type CompiledMatcher, matchesAll } from '../../promql/index.ts';
import { compareLabels, type Labels, labelsKey } from '../../tsdb/index.ts';
import type { Exemplar } from '../otlp/model.ts';

/** A series and its exemplars, oldest first. */
export interface ExemplarSeries {
  readonly labels: Labels;
  readonly exemplars: readonly Exemplar[];
}

/** A series that has exemplars. It is compared by identity. */
interface Owner {
  readonly labels: Labels;
}

interface Held {
  readonly series: Owner;
  readonly exemplar: Exemplar;
}

/** Number of exemplars kept. Each takes about a hundred bytes in addition to its series. */
const defaultCapacity = 5_000;

/**
 * The newest exemplars of the node, in memory: a new exemplar replaces the oldest of all series. They are lost with the
 * process, as in Prometheus. No value is lost with them: an exemplar only adds the trace that a value came from.
 */
export class ExemplarRing {
  readonly #capacity: number;
  readonly #held: Held[] = [];
  #next = 0;

  constructor(capacity = defaultCapacity) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#held.length;
  }

  add(series: Owner, exemplar: Exemplar): void {
    this.#held[this.#next] = { series, exemplar };
    this.#next = (this.#next + 1) % this.#capacity;
  }

  /**
   * Exemplars of series that match any of the sets of matchers, from start to end, both included. Units: ms. `complete`
   * returns the labels of a series as readers see them; the matchers apply to these labels.
   * Shape: series in label order.
   */
  select(
    sets: readonly (readonly CompiledMatcher[])[],
    startMs: number,
    endMs: number,
    complete: (labels: Labels) => Labels,
  ): ExemplarSeries[] {
    /** Series examined so far → the list in `found` for its exemplars; null for a series that does not match. */
    const known = new Map<Owner, Exemplar[] | null>();
    const found = new Map<string, { labels: Labels; exemplars: Exemplar[] }>();
    for (const { series, exemplar } of this.#held) {
      const timeMs = exemplar.timeNs / 1e6;
      if (timeMs < startMs || timeMs > endMs) continue;
      let list = known.get(series);
      if (list === undefined) {
        const labels = complete(series.labels);
        list = sets.some((matchers) => matchesAll(matchers, labels)) ? listOf(found, labels) : null;
        known.set(series, list);
      }
      list?.push(exemplar);
    }
    for (const { exemplars } of found.values()) exemplars.sort((a, b) => a.timeNs - b.timeNs);
    return [...found.values()].sort((a, b) => compareLabels(a.labels, b.labels));
  }
}

/** Finds the list by labels, as a series that ended and came back is another object with the same labels. */
function listOf(found: Map<string, { labels: Labels; exemplars: Exemplar[] }>, labels: Labels): Exemplar[] {
  const key = labelsKey(labels);
  let series = found.get(key);
  if (series === undefined) found.set(key, (series = { labels, exemplars: [] }));
  return series.exemplars;
}

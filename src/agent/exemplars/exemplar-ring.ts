import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import type { Pacing } from '../../base/turns/turns.ts';
import { compareLabels, type CompiledMatcher, type Labels, labelsKey, labelValue } from '../../tsdb/index.ts';
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
 * For pacing: looking at an exemplar, applying a matcher without a regular expression, and comparing two label sets cost
 * as much as this many samples.
 */
const [exemplarWork, matcherWork, compareWork] = [50, 10, 20];

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
   * returns the labels of a series as readers see them; the matchers apply to these labels. Exemplars that are added
   * while `pacing` lets other work run are left out.
   * Shape: series in label order. Errors: those of `pacing`.
   */
  async select(
    sets: readonly (readonly CompiledMatcher[])[],
    startMs: number,
    endMs: number,
    complete: (labels: Labels) => Labels,
    pacing: Pacing,
  ): Promise<ExemplarSeries[]> {
    /** Series examined so far → the list in `found` for its exemplars; null for a series that does not match. */
    const known = new Map<Owner, Exemplar[] | null>();
    const found = new Map<string, { labels: Labels; exemplars: Exemplar[] }>();
    for (const { series, exemplar } of [...this.#held]) {
      if (pacing.spend(exemplarWork)) await pacing.turn();
      const timeMs = exemplar.timeNs / 1e6;
      if (timeMs < startMs || timeMs > endMs) continue;
      let list = known.get(series);
      if (list === undefined) {
        const labels = complete(series.labels);
        list = (await matchesAny(sets, labels, pacing)) ? listOf(found, labels) : null;
        known.set(series, list);
      }
      list?.push(exemplar);
    }
    for (const { exemplars } of found.values()) exemplars.sort((a, b) => a.timeNs - b.timeNs);
    return sortInTurns(pacing, [...found.values()], (a, b) => compareLabels(a.labels, b.labels), compareWork);
  }
}

/** Whether labels fulfil all matchers of one of the sets. */
async function matchesAny(
  sets: readonly (readonly CompiledMatcher[])[],
  labels: Labels,
  pacing: Pacing,
): Promise<boolean> {
  for (const matchers of sets) {
    let isMatch = true;
    for (const { name, matches, work } of matchers) {
      const value = labelValue(labels, name);
      isMatch = matches(value);
      // A value that the matcher knows already is charged, too: that only makes it look at the time more often.
      if (pacing.spend(matcherWork + work * (10 + value.length))) await pacing.turn();
      if (!isMatch) break;
    }
    if (isMatch) return true;
  }
  return false;
}

/** Finds the list by labels, as a series that ended and came back is another object with the same labels. */
function listOf(found: Map<string, { labels: Labels; exemplars: Exemplar[] }>, labels: Labels): Exemplar[] {
  const key = labelsKey(labels);
  let series = found.get(key);
  if (series === undefined) found.set(key, (series = { labels, exemplars: [] }));
  return series.exemplars;
}

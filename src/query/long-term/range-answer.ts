import { CutJson } from '../../base/text/cut-json.ts';
import { isObject } from '../../base/text/texts.ts';
import { takeMemory } from '../../promql/index.ts';
import { labelsFromObject, SampleBuffer } from '../../tsdb/index.ts';
import type { Labels, ReadQuery } from '../../tsdb/index.ts';
import { AgentFailure } from '../fanout/failure.ts';
import { sampleBytes, takeSamples, type ReadSeries, type SampleBudget } from '../fanout/merge/series-collector.ts';
import { briefly } from './long-term-store.ts';

const listed = 'data[]';
const series = 'data.result[]';
const samples = 'data.result[].values[]';
const histograms = 'data.result[].histograms[]';

/** Memory of a series beside its samples, and of each of its labels: series do not share the texts of labels. Bytes. */
const [seriesBytes, labelBytes] = [200, 100];
/**
 * Tolerance in comparing times: those of a request have whole milliseconds, those of an answer are decimal fractions of
 * seconds.
 */
const halfMs = 0.5;

type Columns = Pick<ReadSeries, 'timestamps' | 'values'>;
const none: Columns = { timestamps: new Float64Array(0), values: new Float64Array(0) };
const named = new Map(Object.entries({ NaN: NaN, '+Inf': Infinity, '-Inf': -Infinity }));

/**
 * Reads the answer to a request that `rangeQuery` (`range-selectors.ts`) has made, as it arrives. Of several samples of
 * a series at one time it keeps the first, so times ascend strictly.
 * Errors: AgentFailure `protocol`; SyntaxError for a text that is no JSON; QueryError when the budget is spent.
 */
export class RangeAnswer {
  readonly #query: ReadQuery;
  readonly #budget: SampleBudget;
  readonly #json: CutJson;
  readonly #series: ReadSeries[] = [];
  /** The samples of the series that is being read. */
  readonly #samples = new SampleBuffer(0);
  /** Memory taken for the buffer `#samples`, in addition to that of the samples that are copied out of it. Bytes. */
  #roomBytes = 0;
  #isWhole = true;

  constructor(query: ReadQuery, budget: SampleBudget) {
    this.#query = query;
    this.#budget = budget;
    this.#json = new CutJson({
      lists: [listed, series, samples, histograms],
      onElements: (list, elements) => {
        if (list === samples) this.#addSamples(elements);
        else if (list === series) for (const one of elements) this.#endSeries(one);
        else if (list === listed) for (const labels of elements) this.#keep(labels, none);
      },
    });
  }

  add(bytes: Uint8Array): void {
    this.#json.add(bytes);
  }

  end(): ReadSeries[] {
    const answer = this.#json.end();
    this.#budget.memory?.give(this.#roomBytes);
    this.#roomBytes = 0;
    const { status, data, warnings, isPartial } = isObject(answer) ? answer : {};
    if (status !== 'success') throw new AgentFailure('protocol', 'the status of the answer is not success');
    // Selectors and lists of series cause no warnings except for data that the store could not read.
    if (isPartial === true || (Array.isArray(warnings) && warnings.length > 0)) {
      const text = Array.isArray(warnings) ? `: ${briefly(warnings.join('; '))}` : '';
      throw new AgentFailure('protocol', `the answer is not whole${text}`);
    }
    const isMatrix = isObject(data) && data['resultType'] === 'matrix' && Array.isArray(data['result']);
    if (!isMatrix && !Array.isArray(data)) throw new AgentFailure('protocol', 'the answer is not a matrix');
    if (!this.#isWhole) {
      throw new AgentFailure('protocol', 'a series has native histograms, which only remote read gives');
    }
    return this.#series;
  }

  #addSamples(elements: readonly unknown[]): void {
    const { startMs, endMs } = this.#query;
    const { memory } = this.#budget;
    takeSamples(this.#budget, elements.length);
    takeMemory(memory, elements.length * sampleBytes);
    const found = this.#samples;
    found.reserve(elements.length);
    const roomBytes = found.times.length * sampleBytes;
    takeMemory(memory, roomBytes - this.#roomBytes);
    this.#roomBytes = roomBytes;
    for (const sample of elements) {
      const [t, text] = Array.isArray(sample) ? (sample as unknown[]) : [];
      if (typeof t !== 'number' || typeof text !== 'string')
        throw new AgentFailure('protocol', 'a sample is not a pair of time and value');
      const timeMs = t * 1000;
      if (timeMs < startMs - halfMs || timeMs > endMs + halfMs) continue;
      const time = Math.round(timeMs);
      const last = found.length > 0 ? found.times[found.length - 1]! : -Infinity;
      // VictoriaMetrics without deduplication gives a sample as often as it was sent.
      if (time === last) continue;
      if (time < last) throw new AgentFailure('protocol', 'samples of a series are not in time order');
      found.times[found.length] = time;
      found.values[found.length++] = valueOf(text);
    }
  }

  #endSeries(one: unknown): void {
    const { metric, values, histograms: natives } = isObject(one) ? one : {};
    if (!Array.isArray(values) || natives !== undefined) this.#isWhole = false;
    this.#keep(metric, this.#samples.slice());
    this.#samples.length = 0;
  }

  #keep(metric: unknown, columns: Columns): void {
    const labels = labelsOf(metric);
    takeMemory(this.#budget.memory, seriesBytes + labelBytes * labels.length);
    this.#series.push({ labels, ...columns });
  }
}

function valueOf(text: string): number {
  const value = Number(text);
  // A blank text is 0 for JavaScript.
  if (!Number.isNaN(value) && (value !== 0 || text.trim() !== '')) return value;
  const known = named.get(text);
  if (known === undefined) throw new AgentFailure('protocol', 'the value of a sample is not a number');
  return known;
}

function labelsOf(metric: unknown): Labels {
  if (isObject(metric) && Object.values(metric).every((value) => typeof value === 'string')) {
    return labelsFromObject(metric as Record<string, string>);
  }
  throw new AgentFailure('protocol', 'the labels of a series are not strings');
}

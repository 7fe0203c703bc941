import {
  evaluateFragment,
  labelValue,
  type Distribution,
  type FragmentRequest,
  type FragmentResult,
} from '../../promql/index.ts';
import { MemorySource } from './memory-source.ts';
import type { RandomSeries } from './random-series.ts';

/** Series spread over nodes by a label, each node computing its share of a query: a distribution without a network. */
export class SplitNodes implements Distribution {
  readonly partitionLabel: string;
  /** All series together, as a central evaluation reads them. */
  readonly whole = new MemorySource();
  /** Fragments that were run, for tests to look at. */
  readonly ran: FragmentRequest[] = [];
  readonly #nodes = new Map<string, MemorySource>();

  constructor(partitionLabel: string, series: readonly RandomSeries[]) {
    this.partitionLabel = partitionLabel;
    for (const { labels, samples } of series) {
      const node = labelValue(labels, partitionLabel);
      let source = this.#nodes.get(node);
      if (source === undefined) this.#nodes.set(node, (source = new MemorySource()));
      source.load(labels, samples);
      this.whole.load(labels, samples);
    }
  }

  async run(...[request, steps, settings, signal]: Parameters<Distribution['run']>): Promise<FragmentResult[]> {
    this.ran.push(request);
    const limits = { settings, maxSamples: 50_000_000, ...(signal === undefined ? {} : { signal }) };
    // Back to front: the order in which nodes answer must not show.
    const sources = [...this.#nodes.values()].reverse();
    return Promise.all(sources.map((source) => evaluateFragment(request, source, steps, limits)));
  }
}

import {
  compileMatcher,
  evaluateFragment,
  fragmentDemands,
  labelValue,
  type Distribution,
  type FragmentRequest,
  type FragmentResult,
  type SelectRequest,
} from '../../promql/index.ts';
import { MemorySource } from './memory-source.ts';
import type { RandomSeries } from './random-series.ts';

/** Series spread over nodes by a label. Each node computes its part of a query: a distribution without a network. */
export class SplitNodes implements Distribution {
  readonly partitionLabel: string;
  /** All series together, as a central evaluation reads them. */
  readonly whole = new MemorySource();
  /** The fragments that were run, for tests to check. */
  readonly ran: FragmentRequest[] = [];
  readonly #nodes = new Map<string, MemorySource>();
  readonly #mayBeWhole: boolean;

  /** With `mayBeWhole`, a node computes all of a query whose selectors match series of that node only. */
  constructor(partitionLabel: string, series: readonly RandomSeries[], mayBeWhole = false) {
    this.partitionLabel = partitionLabel;
    this.#mayBeWhole = mayBeWhole;
    for (const { labels, samples } of series) {
      const node = labelValue(labels, partitionLabel);
      let source = this.#nodes.get(node);
      if (source === undefined) this.#nodes.set(node, (source = new MemorySource()));
      source.load(labels, samples);
      this.whole.load(labels, samples);
    }
  }

  together(requests: readonly SelectRequest[]): boolean {
    return this.#mayBeWhole && this.#matching(requests).length === 1;
  }

  async run(...[request, steps, settings, signal]: Parameters<Distribution['run']>): Promise<FragmentResult[] | null> {
    this.ran.push(request);
    const limits = { settings, maxSamples: 50_000_000, ...(signal === undefined ? {} : { signal }) };
    // Reversed, because the order in which nodes answer must not matter.
    const sources = this.#matching(fragmentDemands(request, steps, settings).requests).reverse();
    if (sources.length === 0) return null;
    return Promise.all(sources.map((source) => evaluateFragment(request, source, steps, limits)));
  }

  /** The nodes that may have series for any of the requests. */
  #matching(requests: readonly SelectRequest[]): MemorySource[] {
    const filters = requests.map(({ matchers }) =>
      matchers.filter(({ name }) => name === this.partitionLabel).map(compileMatcher),
    );
    const may = (node: string): boolean => filters.some((all) => all.every((one) => one.test(node)));
    return [...this.#nodes].filter(([node]) => may(node)).map(([, source]) => source);
  }
}

import { QueryError } from '../../promql/index.ts';
import type { Series } from '../../promql/index.ts';
import { decodeXorChunk, labelsKey, labelValue, SampleBuffer } from '../../tsdb/index.ts';
import type { ChunkedSeries, Labels } from '../../tsdb/index.ts';
import { AgentFailure } from './failure.ts';

/** The label that says on which node a series was captured; agents add it where it is absent. */
export const nodeLabel = 'k8s_node_name';

export type ReadSeries = Series;

/** Samples that a query may still load; shared by all its agents. */
export interface SampleBudget {
  left: number;
}

/**
 * Checks and decodes one agent's streamed answer.
 * Guarantees: every series carries the agent's own node name, times ascend strictly, chunks hold what they state.
 * Errors: AgentFailure `protocol`; QueryError `execution` when the budget is spent (`overBudget` tells it apart).
 */
export class SeriesCollector {
  readonly #node: string;
  readonly #results: Map<string, { labels: Labels; samples: SampleBuffer }>[];
  readonly #budget: SampleBudget;
  overBudget = false;

  constructor(node: string, queries: number, budget: SampleBudget) {
    this.#node = node;
    this.#results = Array.from({ length: queries }, () => new Map());
    this.#budget = budget;
  }

  add({ labels, chunks, queryIndex }: ChunkedSeries): void {
    const result = this.#results[queryIndex];
    if (!result) throw new AgentFailure('protocol', `answer to query ${queryIndex}, which was not asked`);
    const node = labelValue(labels, nodeLabel);
    if (node !== this.#node) {
      throw new AgentFailure(
        'protocol',
        `series with ${nodeLabel}=${JSON.stringify(node)} from the agent of ${this.#node}`,
      );
    }
    const key = labelsKey(labels);
    let series = result.get(key);
    if (!series) {
      const expected = chunks.reduce((n, c) => n + c.count, 0);
      result.set(key, (series = { labels, samples: new SampleBuffer(Math.min(expected, 100_000)) }));
    }
    for (const chunk of chunks) this.#addChunk(series.samples, chunk.bytes);
  }

  /** Each query's series. */
  finish(): ReadSeries[][] {
    return this.#results.map((result) =>
      [...result.values()].map(({ labels, samples }) => ({ labels, ...samples.slice() })),
    );
  }

  #addChunk(samples: SampleBuffer, bytes: Uint8Array): void {
    const from = samples.length;
    this.#budget.left -= decodeXorChunk(bytes, samples);
    if (this.#budget.left < 0) {
      this.overBudget = true;
      throw new QueryError('execution', 'query processing would load too many samples into memory in query execution');
    }
    const times = samples.times;
    for (let i = Math.max(1, from); i < samples.length; i++) {
      if (times[i]! <= times[i - 1]!) throw new AgentFailure('protocol', 'samples of a series are not in time order');
    }
  }
}

import { Engine } from '../engine.ts';
import type { QueryOptions } from '../query-options.ts';
import type { QueryResult } from '../types.ts';
import { MadeUpSeries, lastSample } from './made-up-series.ts';
import { OwnNode } from './own-node.ts';

const perApp = 'sum by (app) (rate(requests_total[5m]))';

/** The most common queries of dashboards. */
const queries = [
  'sum(up)',
  'up',
  perApp,
  'histogram_quantile(0.99, sum by (le, app) (rate(seconds_bucket[5m])))',
  `topk(2, ${perApp})`,
  `sum by (app) (rate(requests_total{code=~"5.."}[5m])) / ${perApp}`,
  'avg by (instance) (avg_over_time(up[10m]))',
  'max_over_time(sum(rate(requests_total[5m]))[10m:1m])',
  'count(up == 1)',
];

/** Step and span of the range queries. Milliseconds. */
const rangeStep = 60_000;
const rangeSpan = 600_000;

export interface WarmUpOptions {
  /** No query starts after this time has passed; 0 means no query at all. Milliseconds. */
  readonly budgetMs: number;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Called with each answer, to warm up the code that turns answers into text. */
  readonly use?: (result: QueryResult) => void;
}

/**
 * Answers ordinary queries over synthetic series until the time is over, so that the code of a new process is compiled
 * before the first user's query. It covers local evaluation, and the encoding, evaluation and decoding of fragments
 * (the parts of a query that agents compute). No answer is kept.
 * Returns the number of queries.
 */
export async function warmUp({ budgetMs, monotonic, use }: WarmUpOptions): Promise<number> {
  const until = monotonic() + budgetMs;
  const engine = new Engine({ monotonic });
  const source = new MadeUpSeries();
  const ways: readonly QueryOptions[] = [{ source }, { source, distribution: new OwnNode(source) }];
  for (let asked = 0; ; asked++) {
    if (monotonic() >= until) return asked;
    const query = queries[asked % queries.length]!;
    const round = Math.floor(asked / queries.length);
    const options = ways[round % ways.length]!;
    // Three of four rounds are instant queries: they are short, so the overhead that does not depend on samples matters
    // most.
    const isRange = round % 8 >= 6;
    use?.(
      isRange
        ? await engine.range(query, lastSample - rangeSpan, lastSample, rangeStep, options)
        : await engine.instant(query, lastSample, options),
    );
    if (asked % queries.length === 0) await new Promise<void>((done) => setImmediate(done));
  }
}

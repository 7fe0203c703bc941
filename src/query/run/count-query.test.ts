import { parse } from '../../promql/index.ts';
import type { QueryResult } from '../../promql/index.ts';
import type { LostNode } from '../fanout/failure.ts';
import { countQuery } from './count-query.ts';

const steps = { start: 1_000, step: 500, count: 4 };
const span = { start: 1_000, end: 2_500, step: 500 };
const answer = (timestamps: number[], values: number[]): QueryResult => ({
  value: {
    type: 'matrix',
    series: [
      { labels: [], timestamps: Float64Array.from(timestamps), values: Float64Array.from(values), histograms: [] },
    ],
  },
  warnings: [],
  infos: [],
  stats: { samplesRead: 0, peakSamples: 0, evaluationMs: 0, sortMs: 0 },
});

test('steps without an answer count nothing', async () => {
  const run = async () => ({ result: answer([1_500, 2_500], [7, 9]), lost: new Map<string, LostNode>() });
  const { samples, warnings } = await countQuery(parse('up'), span, steps, run);
  expect([[...samples.queryable], warnings]).toEqual([[0, 7, 0, 9], []]);
});

test('a node that had answered the query and does not answer its count is named', async () => {
  const gone: LostNode = { node: 'node-2', reason: 'unreachable', message: '', elapsedMs: 0 };
  const run = async () => ({ result: answer([], []), lost: new Map([['node-2', gone]]) });
  const { warnings } = await countQuery(parse('up + down'), span, steps, run);
  expect(warnings).toEqual(['the samples in "stats" lack those of node-2, which did not answer again']);
});

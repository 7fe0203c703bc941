import type { Clock } from '../base/clock.ts';
import { Engine, evaluateFragment } from '../promql/index.ts';
import type { SeriesSource } from '../promql/index.ts';
import { fixedDirectory } from '../testing/query/fixed-directory.ts';
import { QueryRunner } from './run/query-runner.ts';
import { AgentFailure } from './fanout/failure.ts';
import type { PartialReader } from './fanout/readers/partial-reader.ts';
import type { ExecutionPath } from './fanout/pushdown-report.ts';
import { queryTimings } from './timings.ts';

test('a total is the sum of its parts, and all time beyond evaluation and sorting is preparation', () => {
  expect(queryTimings({ queue: 2, evaluation: 1 }, { evaluationMs: 250, sortMs: 125 })).toEqual({
    evalTotalTime: 1,
    resultSortTime: 0.125,
    queryPreparationTime: 0.625,
    innerEvalTime: 0.25,
    execQueueTime: 2,
    execTotalTime: 3,
  });
});

test('all time of a failed query is preparation', () => {
  const { evalTotalTime, queryPreparationTime, innerEvalTime } = queryTimings({ queue: 0, evaluation: 1 });
  expect([evalTotalTime, queryPreparationTime, innerEvalTime]).toEqual([1, 1, 0]);
});

/**
 * Two nodes on a manual clock. Each takes 30 ms to answer, and its series takes the reader 5 ms to decode.
 */
function stage(fails: { times: number } = { times: 0 }) {
  let time = 0;
  const clock: Clock = { now: () => 0, monotonic: () => time, setTimeout: () => () => {} };
  const seriesOf = (node: string) => ({
    labels: [
      ['__name__', 'up'],
      ['k8s_node_name', node],
    ] as const,
    read: () => {
      time += 5;
      return { timestamps: Float64Array.of(1_000), values: Float64Array.of(1) };
    },
  });
  const answer = (): void => {
    time += 30;
    if (fails.times-- > 0) throw new AgentFailure('unreachable', 'away');
  };
  const partialReader: PartialReader = async ({ node }, call) => {
    answer();
    const source: SeriesSource = { select: async () => ({ series: [seriesOf(node)] }) };
    const { fragment, steps, settings } = call;
    const result = await evaluateFragment(fragment, source, steps, { settings, maxSamples: 1e6 });
    return { result, stats: { waitMs: 0, evaluateMs: 0 }, bytes: 1, heldBytes: 0, groupBytes: [] };
  };
  const runner = new QueryRunner({
    directory: fixedDirectory(['a', 'b'].map((node) => ({ node, address: node, absence: undefined, nodeReady: true }))),
    reader: async ({ node }, queries) => {
      answer();
      return queries.map(() => [{ ...seriesOf(node), heldBytes: 16 }]);
    },
    partialReader,
    engine: new Engine({ monotonic: () => time, turns: { due: () => true, next: async () => void (time += 1) } }),
    clock,
    agentTimeoutMs: 5_000,
    queryTimeoutMs: 10_000,
    maxSamples: 1e6,
    maxConcurrency: 1,
    memoryBytes: 2 ** 30,
  });
  return { runner, pass: (ms: number) => void (time += ms) };
}

const request = { signal: new AbortController().signal, partialResponse: true };

async function timings(run: ReturnType<typeof stage>, query: string, pushdown: ExecutionPath) {
  const {
    result,
    seconds,
    pushdown: report,
    missingNodes,
  } = await run.runner.instant(query, 1_000, { ...request, pushdown });
  const { queryPreparationTime, innerEvalTime, evalTotalTime } = queryTimings(seconds, result.stats);
  const ms = (value: number): number => Math.round(value * 1000);
  return {
    path: report.path,
    missingNodes,
    prepared: ms(queryPreparationTime),
    inner: ms(innerEvalTime),
    total: ms(evalTotalTime),
  };
}

test.each([
  ['off', 'sum(up)', { prepared: 60, inner: 10, total: 70 }],
  ['series', 'sum(up)', { prepared: 70, inner: 0, total: 70 }],
  ['agg', 'sum(up)', { prepared: 70, inner: 0, total: 70 }],
  ['whole', 'sum(up{k8s_node_name="a"})', { prepared: 35, inner: 0, total: 35 }],
] as const)('on the execution path %s, the work of the nodes counts as preparation', async (path, query, expected) => {
  expect(await timings(stage(), query, path)).toEqual({ path, missingNodes: [], ...expected });
});

test('a failed attempt counts as preparation', async () => {
  const told = await timings(stage({ times: 1 }), 'up', 'off');
  expect(told).toEqual({ path: 'off', missingNodes: ['a'], prepared: 60, inner: 5, total: 65 });
});

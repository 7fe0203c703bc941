import { systemClock } from '../../base/clock.ts';
import { MemoryPool } from '../../base/memory-pool.ts';
import { Engine } from '../../promql/index.ts';
import type { QueryOptions, QueryResult, SelectRequest, Series } from '../../promql/index.ts';
import { fixedDirectory } from '../../testing/query/fixed-directory.ts';
import { QueryRunner } from '../run/query-runner.ts';
import type { RunnerOptions } from '../run/runner-options.ts';
import type { AgentReader } from './readers/agent-reader.ts';
import { AgentFailure } from './failure.ts';
import { QueryScope } from './query-scope.ts';

/** A result of the engine that is a text. */
const textResult = (text: string): QueryResult => ({
  value: { type: 'string', timestamp: 0, value: text },
  warnings: [],
  infos: [],
  omittedWarnings: 0,
  omittedInfos: 0,
  stats: { samplesRead: 0, peakSamples: 0, evaluationMs: 0, sortMs: 0 },
});

const request = { signal: new AbortController().signal, partialResponse: true };

function runner(
  reader: AgentReader,
  limits: { queryTimeoutMs?: number; maxConcurrency?: number } = {},
  engine: RunnerOptions['engine'] = new Engine({ experimentalFunctions: true }),
): QueryRunner {
  const agents = ['a', 'b'].map((node) => ({ node, address: node, absence: undefined, nodeReady: node === 'a' }));
  return new QueryRunner({
    directory: fixedDirectory(agents),
    reader,
    engine,
    clock: systemClock,
    agentTimeoutMs: 5_000,
    queryTimeoutMs: 10_000,
    maxSamples: 1e6,
    maxConcurrency: 20,
    memoryBytes: 2 ** 30,
    ...limits,
  });
}

const series = (node: string, name: string): Series => ({
  labels: [
    ['__name__', name],
    ['k8s_node_name', node],
  ],
  timestamps: Float64Array.of(1000),
  values: Float64Array.of(1),
});

const selectByName = (value: string): SelectRequest => ({
  matchers: [{ type: '=', name: '__name__', value }],
  mint: 0,
  maxt: 1000,
  hints: { start: 0, end: 1000, step: 0, range: 0, func: '', grouping: [], by: false },
});

test('a node that answers one part of a query and fails a later one is in no part of the answer', async () => {
  const asked: string[] = [];
  const reader: AgentReader = async (agent, queries) => {
    asked.push(agent.node);
    if (agent.node === 'b' && queries.some((q) => q.matchers[0]!.value === 'info'))
      throw new AgentFailure('protocol', 'broke');
    return queries.map((q) => [series(agent.node, q.matchers[0]!.value)]);
  };
  // Two reads in sequence, as the engine makes them for functions that look up series during evaluation.
  const engine = {
    instant: async (_query: unknown, _time: unknown, { source }: QueryOptions): Promise<QueryResult> => {
      const first = await source.select(selectByName('up'));
      const second = await source.select(selectByName('info'));
      return textResult(`${first.series.length} ${second.series.length}`);
    },
    reads: () => [],
    range: () => Promise.reject(new Error('not used')),
    settings: () => new Engine().settings(),
  };
  const answer = await runner(reader, {}, engine).instant('', 0, request);
  expect(answer.result.value).toMatchObject({ value: '1 1' });
  expect(answer.missingNodes).toEqual(['b']);
  expect(asked).toEqual(['a', 'b', 'a', 'b', 'a', 'a']);
});

test('the samples of a selector are charged to the engine alone from the hand-over on, also those that are decoded', async () => {
  const pool = new MemoryPool({ limitBytes: 1e6, freeBytes: 0 });
  await pool.open('user').run(request.signal, async ({ part }) => {
    const memory = part();
    const reader: AgentReader = async (agent, queries) => {
      memory.take(16 * queries.length);
      return queries.map(() => [series(agent.node, 'up')]);
    };
    const scope = new QueryScope({
      agents: ['a', 'b'].map((node) => ({ node, address: node, absence: undefined, nodeReady: true })),
      ...{ reader, clock: systemClock, agentTimeoutMs: 5_000, deadline: systemClock.monotonic() + 10_000 },
      ...{ signal: request.signal, maxSamples: 1e6, memory, lost: new Map() },
    });
    const { series: found, heldBytes } = await scope.select(selectByName('up'));
    expect([found.length, heldBytes, pool.heldBytes]).toEqual([2, 0, 0]);
  });
});

test('the deadline of an agent is one second if its node is not ready, and the agent timeout otherwise', async () => {
  const deadlines: Record<string, number> = {};
  const run = runner(async (agent, queries, { deadlineMs }) => {
    deadlines[agent.node] = deadlineMs;
    return queries.map(() => []);
  });
  await run.instant('up', 1000, request);
  expect(deadlines).toEqual({ a: 5_000, b: 1_000 });
});

test('a query that runs out of time fails as timeout, and one whose client left as canceled', async () => {
  const hang: AgentReader = (_a, _q, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  await expect(runner(hang, { queryTimeoutMs: 20 }).instant('up', 1000, request)).rejects.toMatchObject({
    errorType: 'timeout',
  });
  const left = new AbortController();
  const canceled = runner(hang).instant('up', 1000, { ...request, signal: left.signal });
  left.abort(new Error('client went away'));
  await expect(canceled).rejects.toMatchObject({ errorType: 'canceled' });
});

test('queries above the limit of concurrency wait for their turn', async () => {
  let running = 0;
  let most = 0;
  const run = runner(
    async (_agent, queries) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return queries.map(() => []);
    },
    { maxConcurrency: 2 },
  );
  await Promise.all(Array.from({ length: 8 }, () => run.instant('up{k8s_node_name="a"}', 1000, request)));
  expect(most).toBe(2);
});

test('neither an autoscaler nor a list of labels waits for the queries of users', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const run = runner(
    async (_agent, queries) => {
      if (queries[0]!.matchers.some(({ value }) => value === 'slow')) await held;
      return queries.map(() => []);
    },
    { maxConcurrency: 1 },
  );
  const slow = run.instant('slow', 1000, request);
  const waiting = run.instant('up', 1000, request);
  await run.instant('up', 1000, { ...request, forAutoscaler: true });
  await run.labelTexts('pod', [], 0, 1000, request);
  expect(run.running).toBe(1);
  release();
  await Promise.all([slow, waiting]);
});

test('the autoscalers of one namespace run two queries at a time, and do not delay those of another', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let asked = 0;
  const run = runner(async (_agent, queries) => {
    asked++;
    if (queries[0]!.matchers.some(({ value }) => value === 'slow')) await held;
    return queries.map(() => []);
  });
  const of = (namespace: string) => ({ ...request, forAutoscaler: true, caller: `autoscalers ${namespace}` });
  const slow = Array.from({ length: 9 }, () => run.instant('slow{k8s_node_name="a"}', 1000, of('bank')));
  await run.instant('up{k8s_node_name="a"}', 1000, of('shop'));
  expect([run.running, asked]).toEqual([2, 3]);
  release();
  await Promise.all(slow);
});

test('a caller waits for their own queries, but not for the queued queries of another caller', async () => {
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const engine = {
    instant: async (query: unknown): Promise<QueryResult> => {
      order.push(query as string);
      await new Promise<void>((done) => ends.push(done));
      return textResult('');
    },
  } as unknown as RunnerOptions['engine'];
  const gated = runner(async () => [], { maxConcurrency: 1 }, engine);
  const ask = (query: string, caller: string) => gated.instant(query, 0, { ...request, caller });
  const all = [ask('a1', 'a'), ask('a2', 'a'), ask('a3', 'a'), ask('b1', 'b')];
  for (let i = 1; i <= all.length; i++) {
    while (ends.length < i) await new Promise((done) => setImmediate(done));
    ends[i - 1]!();
  }
  await Promise.all(all);
  expect(order).toEqual(['a1', 'b1', 'a2', 'a3']);
});

import { Engine } from '../../promql/index.ts';
import type { QueryRead } from '../../promql/index.ts';
import { askApi } from '../../testing/query/api-client.ts';
import type { ApiAnswer, ApiParams } from '../../testing/query/api-client.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';
import type { DepartedNode } from '../agents/directory.ts';
import { lackingNodes } from './departed.ts';

const minute = 60_000;
/** The ways in which a query is executed, from no work of the agents to all of it. */
const paths = ['off', 'series', 'agg', 'whole'] as const;
const end = Math.floor(Date.now() / minute) * minute;
const ago = (minutes: number): number => end - minutes * minute;
/** This node was in the cluster from three hours ago until 30 minutes ago. */
const left: DepartedNode = { node: 'node-9', fromMs: ago(180), leftMs: ago(30) };

describe('which reads lack a departed node', () => {
  const all: QueryRead = { matchers: [], mint: 0, maxt: Infinity };
  const at = (from: number, to: number): QueryRead => ({ ...all, mint: from, maxt: to });
  const on = (type: '=' | '!=' | '=~' | '!~', value: string): QueryRead => ({
    ...all,
    matchers: [{ type, name: 'k8s_node_name', value }],
  });
  const node: DepartedNode = { node: 'a', fromMs: 100, leftMs: 200 };
  test.each<[string, DepartedNode[], QueryRead[], number, number[]]>([
    ['the times in which it was there', [node], [at(150, 160)], 0, [200]],
    ['its last millisecond', [node], [at(200, 300)], 0, [200]],
    ['its first millisecond', [node], [at(0, 100)], 0, [200]],
    ['the time before', [node], [at(0, 99)], 0, []],
    ['the time after', [node], [at(201, 300)], 0, []],
    ['the time before, and the time after', [node], [at(0, 50), at(250, 300)], 0, []],
    ['an earlier time, and one of its own time', [node], [at(0, 50), at(120, 130)], 0, [200]],
    ['all times', [node], [all], 0, [200]],
    ['nothing', [node], [], 0, []],
    ['an empty span', [node], [at(150, 149)], 0, []],
    ['times that a long-term store has', [node], [at(0, 300)], 201, []],
    ['times of which a long-term store lacks one millisecond', [node], [at(0, 300)], 200, [200]],
    ['its own series', [node], [on('=', 'a')], 0, [200]],
    ['series of another node', [node], [on('=', 'b')], 0, []],
    ['all nodes but itself', [node], [on('!=', 'a')], 0, []],
    ['itself and another node', [node], [on('=~', 'a|c')], 0, [200]],
    ['all nodes but itself and another', [node], [on('!~', 'a|c')], 0, []],
    ['another node in its time, and itself later', [node], [on('=', 'b'), { ...on('=', 'a'), mint: 201 }], 0, []],
    ['all times of two machines of one name', [node, { ...node, fromMs: 300, leftMs: 400 }], [all], 0, [400]],
    ['the time of the first of two machines', [node, { ...node, fromMs: 300, leftMs: 400 }], [at(0, 250)], 0, [200]],
    ['another node, while some departed nodes have no name', [{ ...node, note: 'three' }], [on('=', 'b')], 0, [200]],
  ])('a read of %s', (_, departed, reads, boundary, expected) => {
    expect(lackingNodes(departed, reads, boundary).map(({ leftMs }) => leftMs)).toEqual(expected);
  });
});

test.each<[string, { start: number; end: number; step: number }, [number, number][]]>([
  ['x', { start: 60, end: 60, step: 0 }, [[-4, 60]]],
  ['x', { start: 60, end: 120, step: 60 }, [[-4, 120]]],
  ['x', { start: 60, end: 119, step: 60 }, [[-4, 60]]],
  ['rate(x[2m])', { start: 60, end: 60, step: 0 }, [[58, 60]]],
  ['x offset 10m', { start: 60, end: 60, step: 0 }, [[-14, 50]]],
  ['x offset -10m', { start: 60, end: 60, step: 0 }, [[6, 70]]],
  ['x @ 600', { start: 60, end: 90, step: 1 }, [[-54, 10]]],
  ['rate(x[2m] @ end())', { start: 60, end: 90, step: 1 }, [[88, 90]]],
  ['max_over_time(rate(x[2m])[10m:1m])', { start: 60, end: 60, step: 0 }, [[49, 60]]],
  ['x[30m]', { start: 60, end: 60, step: 0 }, [[30, 60]]],
  ['1 + time()', { start: 60, end: 60, step: 0 }, []],
  [
    'x + y offset 1h',
    { start: 60, end: 60, step: 0 },
    [
      [-4, 60],
      [-64, 0],
    ],
  ],
  [
    'info(x offset 1h)',
    { start: 60, end: 60, step: 0 },
    [
      [-64, 0],
      [-64, 0],
    ],
  ],
  [
    'max_over_time(info(x)[10m:1m])',
    { start: 60, end: 60, step: 0 },
    [
      [-13, 60],
      [-13, 60],
    ],
  ],
])('%s over %j reads the spans %j, in minutes with an exclusive start', (query, span, spans) => {
  const engine = new Engine({ experimentalFunctions: true, lookbackDeltaMs: 64 * minute });
  const inMs = { start: span.start * minute, end: span.end * minute, step: span.step * minute };
  const reads = engine.reads(query, inMs);
  expect(reads.map(({ mint, maxt }) => [(mint - 1) / minute, maxt / minute])).toEqual(spans);
});

describe('answers', () => {
  let stage: QueryStage;
  let departed: DepartedNode[] = [];
  beforeAll(async () => {
    stage = await startQueryStage({ nodes: ['node-1', 'node-2'], departed: () => departed });
    for (const node of ['node-1', 'node-2']) {
      for (let t = ago(60); t <= end; t += 30_000) {
        stage.cluster.append(node, { __name__: 'c_total', pod: `p-${node}` }, t, (t - ago(60)) / 1000);
      }
      stage.cluster.append(node, { __name__: 'svc_agent_up' }, end, 1);
    }
  });
  afterAll(() => stage.close());
  beforeEach(() => (departed = [left]));

  const ask = (path: string, params: ApiParams, way = 'whole'): Promise<ApiAnswer> =>
    stage.ask(`/api/v1/${path}`, params, { headers: { 'x-svc-pushdown': way } });
  const seconds = (ms: number): string => String(ms / 1000);
  const since = (from: number, to = 0) => ({ start: seconds(ago(from)), end: seconds(ago(to)) });
  const missing = ({ json }: ApiAnswer): unknown[] => [json.degraded, json.missingNodes];

  const queries: [string, ApiParams, boolean][] = [
    ['sum(rate(c_total[5m]))', since(40), true],
    ['sum(rate(c_total[5m]))', since(24), false],
    ['sum(rate(c_total[5m]))', since(26), true],
    ['sum(rate(c_total{k8s_node_name="node-1"}[5m]))', since(40), false],
    ['sum(rate(c_total{k8s_node_name="node-9"}[5m]))', since(40), true],
    ['stddev(c_total{k8s_node_name="node-9"})', since(40), true],
    ['stddev(c_total{k8s_node_name="node-9"})', since(20), false],
    ['absent(c_total{k8s_node_name=~"node-9|node-8"})', since(40), true],
    ['topk(1, c_total) + on () group_left () vector(1)', since(40), true],
    ['quantile(0.5, c_total offset 20m)', since(16), true],
    ['quantile(0.5, c_total offset 20m)', since(4), false],
    ['count(c_total @ 0) or vector(1)', since(40), false],
    ['histogram_quantile(0.9, c_total)', since(24), false],
    ['max_over_time(sum(c_total)[20m:1m])', since(9), true],
    ['vector(1)', since(40), false],
  ];
  test.each(queries)('%s over %j is the same in all four ways; lacks a node: %p', async (query, span, isLacking) => {
    const answers = await Promise.all(paths.map((way) => ask('query_range', { query, ...span, step: '60' }, way)));
    expect(answers.map(({ text }) => text)).toEqual(paths.map(() => answers[0]!.text));
    expect(missing(answers[0]!)).toEqual(isLacking ? [true, ['node-9']] : [false, []]);
    expect(answers[0]!.headers['cache-control']).toBe(isLacking ? 'no-store' : undefined);
    // The data are the same as if the node had never existed.
    departed = [];
    const { json } = await ask('query_range', { query, ...span, step: '60' }, 'off');
    expect(answers[0]!.json.data).toEqual(json.data);
  });

  test('a warning and explain name the node and when it left; partial_response=false refuses the answer', async () => {
    const params = { query: 'sum(c_total)', ...since(40), step: '60' };
    const { json } = await ask('query_range', { ...params, explain: '1' });
    const [from, to] = [left.fromMs, left.leftMs].map((ms) => new Date(ms).toISOString());
    expect(json.warnings).toEqual([
      `node node-9 is missing from this answer: departed: it left at ${to}; its data since ${from} is gone`,
    ]);
    expect(json).toMatchObject({ explain: { departed: [{ node: 'node-9', from, left: to }] } });
    const strict = await ask('query_range', { ...params, partial_response: 'false' });
    expect([strict.status, strict.json.errorType]).toEqual([503, 'unavailable']);
    const metrics = await fetch(`http://127.0.0.1:${stage.server.healthPort}/metrics`);
    expect(await metrics.text()).toMatch(/svc_query_lost_nodes_total\{reason="departed"\} [1-9]/);
  });

  test('an instant query is complete again once its window or lookback begins after the departure', async () => {
    const at = async (query: string, minutes: number, more: ApiParams = {}): Promise<unknown> =>
      (await ask('query', { query, time: seconds(ago(30) + minutes * minute), ...more })).json.degraded;
    expect(await at('sum(rate(c_total[10m]))', 9)).toBe(true);
    expect(await at('sum(rate(c_total[10m]))', 10)).toBe(false);
    expect(await at('sum(c_total)', 4.9)).toBe(true);
    expect(await at('sum(c_total)', 5)).toBe(false);
    expect(await at('sum(c_total)', 5, { lookback_delta: '6m' })).toBe(true);
  });

  test('a departed node is named as missing although a new machine of its name answers', async () => {
    departed = [{ ...left, node: 'node-2' }];
    const { json } = await ask('query_range', { query: 'c_total', ...since(40), step: '60' });
    expect(json).toMatchObject({ degraded: true, missingNodes: ['node-2'] });
    expect((json.data as { result: unknown[] }).result).toHaveLength(2);
    const counted = await ask('query_range', { query: 'c_total', ...since(40), step: '60', stats: 'all' });
    expect(JSON.stringify(counted.json.data)).toMatch(/"totalQueryableSamples":82/);
  });

  test.each<[string, ApiParams, boolean]>([
    ['series', { 'match[]': 'c_total', ...since(40) }, true],
    ['series', { 'match[]': 'c_total', ...since(20) }, false],
    ['series', { 'match[]': 'c_total{k8s_node_name="node-1"}', ...since(40) }, false],
    ['series', { 'match[]': 'c_total' }, true],
    ['labels', since(40), true],
    ['labels', since(20), false],
    ['labels', {}, true],
    ['label/pod/values', since(40), true],
    ['label/pod/values', { 'match[]': 'c_total', ...since(20) }, false],
    ['query_exemplars', { query: 'rate(c_total[5m])', ...since(40) }, true],
    ['query_exemplars', { query: 'rate(c_total[5m])', ...since(20) }, false],
    ['query_exemplars', { query: 'c_total{k8s_node_name="node-1"}', ...since(40) }, false],
    ['status/tsdb', {}, false],
    ['targets', {}, false],
    ['metadata', {}, false],
  ])('%s of %j lacks the node: %p', async (path, params, isLacking) => {
    expect(missing(await ask(path, params))).toEqual(isLacking ? [true, ['node-9']] : [false, []]);
  });

  test('federation and status/tsdb lack a node while their lookback reaches back to its departure', async () => {
    departed = [{ ...left, leftMs: Date.now() - minute }];
    expect(missing(await ask('status/tsdb', {}))).toEqual([true, ['node-9']]);
    expect(missing(await ask('targets', {}))).toEqual([false, []]);
    const of = (params: ApiParams): Promise<ApiAnswer> => stage.ask('/federate', params);
    const answer = await of({ 'match[]': 'c_total' });
    expect([answer.headers['x-svc-missing-nodes'], answer.headers['cache-control']]).toEqual(['node-9', 'no-store']);
    expect((await of({ 'match[]': 'c_total{k8s_node_name="node-1"}' })).headers['x-svc-missing-nodes']).toBeUndefined();
  });

  test('data that a long-term store covers is not missing', async () => {
    const server = await stage.replica({
      flags: { longTermUrl: 'http://127.0.0.1:1', longTermAfter: '20m', queryTimeout: '5s' },
    });
    const over = async (from: number): Promise<ApiAnswer> =>
      askApi({ port: server.port, ca: stage.cluster.ca.cert }, '/api/v1/query_range', {
        ...{ query: 'sum(c_total)', ...since(from), step: '60' },
      });
    // The store itself is missing, because it cannot be reached.
    expect(missing(await over(40))).toEqual([true, ['long-term-store']]);
    departed = [{ ...left, leftMs: ago(10) }];
    expect(missing(await over(40))).toEqual([true, ['long-term-store', 'node-9']]);
  });
});

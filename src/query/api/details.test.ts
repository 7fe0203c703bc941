import { labelsFromObject } from '../../tsdb/index.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';

/** Exemplars and metadata, which agents have besides samples. */

const duration = 'http_server_request_duration';
const bucket = (le: string, namespace = 'shop') =>
  labelsFromObject({ __name__: `${duration}_bucket`, k8s_namespace_name: namespace, le });
const exemplar = (second: number, traceId: string, value = 0.2) => ({
  timeNs: (1_700_000_000 + second) * 1e9,
  value,
  traceId,
  spanId: 'b'.repeat(16),
});
let stage: QueryStage;

beforeEach(async () => {
  stage = await startQueryStage({ nodes: ['node-1', 'node-2'] });
});
afterEach(() => stage.close());

const params = {
  query: `histogram_quantile(0.9, sum by (le) (rate(${duration}_bucket{k8s_namespace_name="shop"}[5m])))`,
  start: '1700000000',
  end: '1700000100',
};

test('exemplars of the series that the query selects come from every agent, within the requested times', async () => {
  const [one, two] = stage.cluster.agents;
  one!.exemplars.add({ labels: bucket('0.25') }, exemplar(20, 'later'));
  one!.exemplars.add({ labels: bucket('0.25') }, exemplar(10, 'first'));
  one!.exemplars.add({ labels: bucket('0.25') }, exemplar(200, 'too late'));
  one!.exemplars.add({ labels: bucket('0.25', 'bank') }, exemplar(10, 'of another namespace'));
  two!.exemplars.add({ labels: bucket('0.25') }, exemplar(30, 'elsewhere', Infinity));
  for (const form of [true, false]) {
    const { status, json } = await stage.ask('/api/v1/query_exemplars', params, { form });
    const labels = { __name__: `${duration}_bucket`, k8s_namespace_name: 'shop', le: '0.25' };
    const of = (second: number, trace_id: string, value = '0.2') => ({
      labels: { trace_id, span_id: 'b'.repeat(16) },
      value,
      timestamp: 1_700_000_000 + second,
    });
    expect([status, json.degraded, json.data]).toEqual([
      200,
      false,
      [
        { seriesLabels: { ...labels, k8s_node_name: 'node-1' }, exemplars: [of(10, 'first'), of(20, 'later')] },
        { seriesLabels: { ...labels, k8s_node_name: 'node-2' }, exemplars: [of(30, 'elsewhere', '+Inf')] },
      ],
    ]);
  }
});

test('an answer lacks the exemplars of a node that does not answer, or whose agent names another node', async () => {
  const [one, two] = stage.cluster.agents;
  one!.exemplars.add({ labels: bucket('1') }, exemplar(10, 'here'));
  await two!.stop();
  const { json, headers } = await stage.ask('/api/v1/query_exemplars', params);
  expect(json).toMatchObject({ degraded: true, missingNodes: ['node-2'], data: [{ exemplars: [{ value: '0.2' }] }] });
  expect(json.warnings).toEqual([expect.stringMatching(/^node node-2 is missing from this answer: unreachable/)]);
  expect(headers['cache-control']).toBe('no-store');
  expect((await stage.ask('/api/v1/query_exemplars', { ...params, partial_response: 'false' })).status).toBe(503);
  const lie = { status: 'success', data: [{ seriesLabels: { k8s_node_name: 'node-9' }, exemplars: [] }] };
  one!.misbehave = (_req, res) => void res.end(JSON.stringify(lie));
  const lied = await stage.ask('/api/v1/query_exemplars', params);
  expect(lied.json).toMatchObject({ data: [], missingNodes: ['node-1', 'node-2'] });
});

test('nodes that the matchers exclude are not asked for exemplars and metadata, and are not missing', async () => {
  const [one, two] = stage.cluster.agents;
  one!.exemplars.add({ labels: bucket('1') }, exemplar(10, 'here'));
  await two!.stop();
  const of = (...nodes: string[]) => nodes.map((node) => `${duration}_bucket{k8s_node_name="${node}"}`).join(' + ');
  const exemplars = (query: string) => stage.ask('/api/v1/query_exemplars', { ...params, query });
  const whole = { degraded: false, data: [{ exemplars: [{ value: '0.2' }] }] };
  expect((await exemplars(of('node-1'))).json).toMatchObject(whole);
  expect((await exemplars(of('node-1', 'node-2'))).json).toMatchObject({ degraded: true, missingNodes: ['node-2'] });
  const asked = one!.requests;
  expect((await exemplars(of('node-7'))).json).toMatchObject({ degraded: false, data: [] });
  expect((await exemplars('1')).json).toMatchObject({ degraded: false, data: [] });
  const metadata = (match: string) => stage.ask('/api/v1/targets/metadata', { match_target: match });
  expect((await metadata('{instance="node-7"}')).json).toMatchObject({ degraded: false, data: [] });
  expect(one!.requests).toBe(asked);
  expect((await metadata('{job="svc-agent", instance!="node-2"}')).json).toMatchObject({ degraded: false });
  expect((await metadata('{job="svc-agent"}')).json).toMatchObject({ degraded: true, missingNodes: ['node-2'] });
});

test('bad requests for exemplars are refused before an agent is asked', async () => {
  const bad = await stage.ask('/api/v1/query_exemplars', { ...params, query: 'x(' });
  expect([bad.status, bad.json.errorType]).toEqual([400, 'bad_data']);
  const turned = await stage.ask('/api/v1/query_exemplars', { ...params, start: '20', end: '10' });
  expect(turned.json.error).toBe('end timestamp must not be before start timestamp');
  expect(stage.cluster.agents.map(({ requests }) => requests)).toEqual([0, 0]);
});

test('metadata has each entry of the agents once, and entries for metrics of the agents themselves', async () => {
  const family = (name: string, help: string) => ({
    name,
    type: 'counter' as const,
    help,
    unit: 'By',
    groups: new Map(),
    names: new Map(),
  });
  const [one, two] = stage.cluster.agents;
  one!.families.push(family('custom_total', 'Bytes of ours.'), family('rpc_total', 'Calls.'));
  two!.families.push(family('custom_total', 'Bytes of ours.'), family('rpc_total', 'Calls of yore.'));
  const { json } = await stage.ask('/api/v1/metadata');
  const entry = (help: string) => ({ type: 'counter', help, unit: 'bytes' });
  expect(json.data).toMatchObject({
    custom_total: [entry('Bytes of ours.')],
    rpc_total: [entry('Calls.'), entry('Calls of yore.')],
    svc_agent_up: [{ type: 'gauge' }],
  });
  const narrow = await stage.ask('/api/v1/metadata', { metric: 'rpc_total', limit_per_metric: '1' });
  expect(narrow.json.data).toEqual({ rpc_total: [entry('Calls.')] });
  expect(Object.keys((await stage.ask('/api/v1/metadata', { limit: '2' })).json.data as object)).toHaveLength(2);
  const target = (node: string) => ({ instance: node, job: 'svc-agent', k8s_node_name: node });
  const ofTarget = await stage.ask('/api/v1/targets/metadata', { match_target: '{instance="node-2"}' });
  expect(ofTarget.json.data).toEqual([
    { target: target('node-2'), metric: 'custom_total', ...entry('Bytes of ours.') },
    { target: target('node-2'), metric: 'rpc_total', ...entry('Calls of yore.') },
  ]);
  const ofMetric = await stage.ask('/api/v1/targets/metadata', { metric: 'rpc_total', limit: '1' });
  expect(ofMetric.json.data).toEqual([{ target: target('node-1'), ...entry('Calls.') }]);
  await two!.stop();
  expect((await stage.ask('/api/v1/metadata')).json).toMatchObject({ degraded: true, missingNodes: ['node-2'] });
});

test('an agent that sends very many entries for one metric is missing from the metadata', async () => {
  const [one, two] = stage.cluster.agents;
  const answer = (count: number): string => {
    const entries = Array.from({ length: count }, (_, i) => ({ type: 'gauge', help: String(i), unit: '' }));
    return JSON.stringify({ status: 'success', data: { many: entries } });
  };
  one!.misbehave = (_req, res) => void res.end(answer(16));
  two!.misbehave = (_req, res) => void res.end(answer(17));
  for (const path of ['/api/v1/metadata', '/api/v1/targets/metadata']) {
    const { json } = await stage.ask(path);
    expect(json).toMatchObject({ degraded: true, missingNodes: ['node-2'] });
    expect(json.warnings).toEqual([
      expect.stringMatching(/node-2 is missing from this answer: protocol.*metadata of "many"/),
    ]);
    expect(JSON.stringify(json.data).match(/"gauge","help":"\d+"/g)).toHaveLength(16);
  }
});

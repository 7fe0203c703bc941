import { labelsFromObject } from '../../tsdb/index.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';
import type { ApiParams } from '../../testing/query/api-client.ts';

/** The requests that Grafana's Prometheus data source sends, in the forms it sends them. */

const end = Math.floor(Date.now() / 60_000) * 60_000;
const seconds = (ms: number): string => String(ms / 1000);
const window = { start: seconds(end - 3_600_000), end: seconds(end) };
const headers = { 'x-grafana-org-id': '1', 'user-agent': 'Grafana/12.0.0', accept: 'application/json' };
let stage: QueryStage;

beforeAll(async () => {
  stage = await startQueryStage({ nodes: ['node-1'] });
  for (let k = 0; k <= 20; k++) {
    stage.cluster.append('node-1', { __name__: 'svc_agent_up', job: 'a' }, end - (20 - k) * 15_000, 1);
  }
  const exemplar = { timeNs: (end - 60_000) * 1e6, value: 0.7, traceId: 'abc', spanId: 'def' };
  stage.cluster.agents[0]!.exemplars.add({ labels: labelsFromObject({ __name__: 'lat_bucket', le: '1' }) }, exemplar);
});
afterAll(() => stage.close());

test.each<[what: string, path: string, form: boolean, params: ApiParams, data: unknown]>([
  [
    'the health check',
    '/api/v1/query',
    true,
    { query: '1+1', time: seconds(end) },
    { resultType: 'scalar', result: [end / 1000, '2'] },
  ],
  ['build information', '/api/v1/status/buildinfo', false, {}, expect.objectContaining({ version: '3.15.0' })],
  ['label names', '/api/v1/labels', true, window, ['__name__', 'job', 'k8s_node_name']],
  [
    'label names of a metric',
    '/api/v1/labels',
    true,
    { ...window, 'match[]': '{__name__="svc_agent_up"}', limit: '40000' },
    ['__name__', 'job', 'k8s_node_name'],
  ],
  ['metric names', '/api/v1/label/__name__/values', false, { ...window, limit: '40000' }, ['svc_agent_up']],
  ['values of a variable', '/api/v1/label/job/values', false, { ...window, 'match[]': 'svc_agent_up{job!=""}' }, ['a']],
  [
    'series of a variable',
    '/api/v1/series',
    true,
    { ...window, 'match[]': 'svc_agent_up' },
    [{ __name__: 'svc_agent_up', job: 'a', k8s_node_name: 'node-1' }],
  ],
  [
    'metadata',
    '/api/v1/metadata',
    false,
    { limit: '40000' },
    expect.objectContaining({ svc_agent_up: [expect.objectContaining({ type: 'gauge' })] }),
  ],
  ['the rules of the alert list', '/api/v1/rules', false, {}, { groups: [] }],
  ['alerts of the alert list', '/api/v1/alerts', false, {}, { alerts: [] }],
  [
    'exemplars, over the panel’s own expression',
    '/api/v1/query_exemplars',
    true,
    { ...window, query: 'histogram_quantile(0.9, sum by (le) (rate(lat_bucket[1m0s])))' },
    [
      {
        seriesLabels: { __name__: 'lat_bucket', k8s_node_name: 'node-1', le: '1' },
        exemplars: [{ labels: { trace_id: 'abc', span_id: 'def' }, value: '0.7', timestamp: end / 1000 - 60 }],
      },
    ],
  ],
  ['exemplars of a metric without any', '/api/v1/query_exemplars', true, { ...window, query: 'svc_agent_up' }, []],
  [
    'metadata of one metric',
    '/api/v1/metadata',
    false,
    { metric: 'svc_agent_up' },
    { svc_agent_up: [expect.objectContaining({ type: 'gauge' })] },
  ],
  ['values of a label with a dot', '/api/v1/label/U__a_2e_b/values', false, window, []],
  [
    'a panel by GET, as the data source’s method setting allows',
    '/api/v1/query_range',
    false,
    { query: 'svc_agent_up', start: seconds(end - 15_000), end: seconds(end), step: '15s', timeout: '60s' },
    expect.objectContaining({ resultType: 'matrix' }),
  ],
  [
    'a panel',
    '/api/v1/query_range',
    true,
    { query: 'sum(svc_agent_up)', start: seconds(end - 30_000), end: seconds(end), step: '15' },
    { resultType: 'matrix', result: [{ metric: {}, values: [-30, -15, 0].map((s) => [end / 1000 + s, '1']) }] },
  ],
  [
    'a table',
    '/api/v1/query',
    true,
    { query: 'svc_agent_up', time: `${end / 1000}.000` },
    {
      resultType: 'vector',
      result: [{ metric: { __name__: 'svc_agent_up', job: 'a', k8s_node_name: 'node-1' }, value: [end / 1000, '1'] }],
    },
  ],
])('%s', async (_, path, form, params, data) => {
  const { status, json } = await stage.ask(path, params, { form, headers });
  expect([status, json.status, json.data]).toEqual([200, 'success', data]);
});

test('an error has the `status`, `errorType` and `error` that Grafana shows', async () => {
  const { status, json } = await stage.ask(
    '/api/v1/query_range',
    { query: 'sum(', ...window, step: '15' },
    { form: true },
  );
  expect([status, json.status, json.errorType]).toEqual([400, 'error', 'bad_data']);
  expect(json.error).toMatch(/parse error/);
});

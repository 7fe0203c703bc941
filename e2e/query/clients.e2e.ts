import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import type { QueryStage } from '../../src/testing/query/query-stage.ts';
import { until } from '../../src/testing/until.ts';
import { findPrometheus } from '../prometheus/programs.ts';
import { startConfigured } from './configured-prometheus.ts';
import type { ConfiguredPrometheus } from './configured-prometheus.ts';

/** Clients of the Prometheus API query our API, over TLS and with a token. */

const now = Math.floor(Date.now() / 1000) * 1000;
const at = String(now / 1000);
let dir: string;
let stage: QueryStage;
let promtool: string;
let prometheus: ConfiguredPrometheus;
let http: string;
let url: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'svc-clients-'));
  stage = await startQueryStage({
    flags: { loopbackExempt: 'false' },
    reviews: {
      reviewToken: async (token) => ({ username: token }),
      mayAccessPath: async ({ username }) => username === 'reader',
    },
  });
  for (const [i, node] of ['node-1', 'node-2', 'node-3'].entries()) {
    for (let k = 0; k <= 40; k++) {
      const t = now - (40 - k) * 15_000;
      stage.cluster.append(node, { __name__: 'svc_agent_up' }, t, 1);
      const labels = { __name__: 'http_server_request_duration_count', service_name: 'shop' };
      stage.cluster.append(node, labels, t, k * (i + 1) * 15);
    }
  }
  url = `https://localhost:${stage.server.port}`;
  const ca = join(dir, 'ca.crt');
  writeFileSync(ca, stage.cluster.ca.cert);
  const access = `{tls_config: {ca_file: ${ca}}, authorization: {credentials: reader}`;
  http = join(dir, 'http.yml');
  writeFileSync(http, `${access}}\n`);
  promtool = (await findPrometheus()).promtool;
  prometheus = await startConfigured(`
global: {scrape_interval: 1s}
remote_read:
  - ${access}, url: '${url}/api/v1/read', read_recent: true}
scrape_configs:
  - ${access}, job_name: federate, scheme: https, metrics_path: /federate, honor_labels: true,
      params: {'match[]': ['http_server_request_duration_count']}, metric_relabel_configs: [{target_label: __name__, replacement: federated}],
      static_configs: [{targets: ['localhost:${stage.server.port}']}]}
`);
});
afterAll(async () => {
  await prometheus.stop();
  await stage.close();
  rmSync(dir, { recursive: true });
});

const tool = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(promtool, ['query', args[0]!, '--http.config.file', http, ...args.slice(1)])).stdout;

test('promtool query: instant, range, series and labels', async () => {
  expect(await tool('instant', '--time', at, url, 'sum(svc_agent_up)')).toBe(`{} => 3 @[${at}]\n`);
  const start = String(now / 1000 - 60);
  const range = await tool('range', '--start', start, '--end', at, '--step', '30s', url, 'sum(svc_agent_up)');
  expect(range.match(/^3 @\[\d+\]$/gm)).toHaveLength(3);
  const series = await tool('series', '--match', 'svc_agent_up', url);
  expect(series.trimEnd().split('\n')).toHaveLength(3);
  expect(await tool('labels', url, 'k8s_node_name')).toBe('node-1\nnode-2\nnode-3\n');
  await expect(tool('instant', url, 'sum(')).rejects.toThrow(/parse error/);
});

test('a Prometheus that reads from us by remote_read computes the same answers as we do', async () => {
  for (const query of [
    'svc_agent_up',
    'sum by (service_name) (rate(http_server_request_duration_count[2m]))',
    'topk(2, http_server_request_duration_count)',
    'absent(nothing_of_this_name)',
  ]) {
    const theirs = await prometheus.query(query, at);
    const ours = await stage.ask('/api/v1/query', { query, time: at }, { headers: { authorization: 'Bearer reader' } });
    const sorted = (data: unknown): string[] =>
      (data as { result: { metric: Record<string, string>; value: unknown }[] }).result
        .map(({ metric, value }) => JSON.stringify([Object.entries(metric).sort(), value]))
        .sort();
    expect([query, sorted(theirs)]).toEqual([query, sorted(ours.json.data)]);
  }
});

test('a Prometheus that federates from us stores our series with their own times', async () => {
  const found = await until('federated series', async () => {
    const { result } = (await prometheus.query('timestamp(federated{k8s_node_name="node-2"})', at)) as {
      result: { metric: Record<string, string>; value: [number, string] }[];
    };
    return result.length > 0 ? result : undefined;
  });
  expect(found[0]).toMatchObject({
    metric: { service_name: 'shop', k8s_node_name: 'node-2' },
    value: [now / 1000, at],
  });
});

test('a parsed query has the same tree as in Prometheus', async () => {
  for (const query of [
    'sum by (a) (rate(x{b="c"}[5m] offset 1m))',
    'topk(3, x) / on (z) group_left (y) b',
    'a == bool 1',
    '-x @ 10',
    '"s"',
    'max_over_time(x[30m:1m] @ end())',
    'a and b or round(x) unless on (q) {"foo.bar"}',
    '1e-7 + (2)',
    'x[5m*2]',
    'label_replace(x, "a", "b", "c", "d")',
    'x offset -5m',
    'sum(x) without (a)',
    'x[step() + 5m]',
  ]) {
    const params = new URLSearchParams({ query });
    const theirs = (await (await fetch(`${prometheus.url}/api/v1/parse_query?${params}`)).json()) as { data: unknown };
    const headers = { authorization: 'Bearer reader' };
    expect([query, (await stage.ask('/api/v1/parse_query', { query }, { headers })).json.data]).toEqual([
      query,
      theirs.data,
    ]);
  }
});

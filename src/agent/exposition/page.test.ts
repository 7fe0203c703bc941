import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { HistogramPoint, Metric } from '../otlp/model.ts';
import { SeriesMapper } from '../mapping/mapper.ts';
import { defaultPolicy } from '../mapping/policy.ts';
import { capturedFamilies } from './captured.ts';
import type { ExpositionFormat } from './negotiate.ts';
import { ownFamilies } from './own.ts';
import { type PageFamily, writePage } from './page.ts';

const wall = 1_795_258_170_000;

function captured(metrics: readonly Metric[], format: ExpositionFormat): string {
  const mapper = new SeriesMapper(defaultPolicy('n1'));
  const sink = { append: () => {}, stale: () => {}, start: () => {}, stored: () => NaN };
  const resources = [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics }] }];
  mapper.add({ resources }, { wall, mono: 0 }, sink);
  mapper.flush(sink);
  return pageOf(capturedFamilies(mapper.table.families.values(), format), format);
}

function pageOf(families: Iterable<PageFamily>, format: ExpositionFormat): string {
  return chunksOf(families, format).join('');
}

function chunksOf(families: Iterable<PageFamily>, format: ExpositionFormat): string[] {
  return Array.from(writePage(families, format), (chunk) => Buffer.from(chunk).toString());
}

const base = { attributes: [], startNs: 1e18, timeNs: wall * 1e6, noValue: false };
const exemplar = {
  timeNs: wall * 1e6,
  value: 0.7,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
};
const duration: HistogramPoint = {
  ...base,
  count: 3,
  sum: 1.5,
  min: null,
  max: null,
  bounds: [0.5, 1],
  bucketCounts: [1, 2, 0],
  exemplars: [exemplar],
};
const histogram: Metric = {
  name: 'http.server.request.duration',
  description: 'How "long"\nit took',
  unit: 's',
  data: { kind: 'histogram', temporality: 'cumulative', points: [duration] },
};
const counter = (name: string, unit: string): Metric => ({
  name,
  description: '',
  unit,
  data: {
    kind: 'sum',
    temporality: 'cumulative',
    monotonic: true,
    points: [{ ...base, value: 5, exemplars: [exemplar] }],
  },
});

test('OpenMetrics carries exemplars on buckets, bounds with a decimal point, escaped help and an EOF line', () => {
  expect(captured([histogram], 'openmetrics')).toBe(
    [
      '# TYPE http_server_request_duration histogram',
      '# HELP http_server_request_duration How \\"long\\"\\nit took',
      'http_server_request_duration_bucket{k8s_node_name="n1",le="0.5"} 1',
      `http_server_request_duration_bucket{k8s_node_name="n1",le="1.0"} 3 # {trace_id="${exemplar.traceId}",span_id="${exemplar.spanId}"} 0.7 1795258170.000`,
      'http_server_request_duration_bucket{k8s_node_name="n1",le="+Inf"} 3',
      'http_server_request_duration_count{k8s_node_name="n1"} 3',
      'http_server_request_duration_sum{k8s_node_name="n1"} 1.5',
      '# EOF',
      '',
    ].join('\n'),
  );
});

test('plain text carries neither exemplars nor units nor an EOF line', () => {
  const text = captured([histogram], 'text');
  expect(text).toContain('# HELP http_server_request_duration How "long"\\nit took\n# TYPE');
  expect(text).toContain('http_server_request_duration_bucket{k8s_node_name="n1",le="1"} 3\n');
  expect(text).not.toMatch(/#(?! HELP| TYPE)/);
});

test('a counter keeps its name in both formats; without _total it is of unknown type in OpenMetrics', () => {
  const metrics = [counter('obi.network.flow.bytes', '{bytes}'), counter('calls_total', '')];
  const text = captured(metrics, 'text');
  expect(text).toContain('# TYPE ebpf_network_flow_bytes counter\nebpf_network_flow_bytes{k8s_node_name="n1"} 5\n');
  expect(text).toContain('# TYPE calls_total counter\n');
  const open = captured(metrics, 'openmetrics');
  expect(open).toContain(
    '# TYPE ebpf_network_flow_bytes unknown\n# UNIT ebpf_network_flow_bytes bytes\nebpf_network_flow_bytes{k8s_node_name="n1"} 5\n',
  );
  expect(open).toMatch(/# TYPE calls counter\ncalls_total\{k8s_node_name="n1"\} 5 # \{trace_id=/);
});

test('the agent’s own metrics are on the same page in either format, with units taken from their names', async () => {
  const registry = new Registry();
  registry.setDefaultLabels({ k8s_node_name: 'n1' });
  const registers = [registry];
  new Counter({ name: 'svc_x_total', help: 'x', registers }).inc(2);
  new Gauge({ name: 'svc_lag_seconds', help: 'lag', registers }).set(0.5);
  new Histogram({ name: 'svc_h', help: 'h', buckets: [1], registers }).observe(3);
  const families = await ownFamilies(registry);
  const open = pageOf(families, 'openmetrics');
  expect(open).toContain('# TYPE svc_x counter\n# HELP svc_x x\nsvc_x_total{k8s_node_name="n1"} 2\n');
  expect(open).toContain('# TYPE svc_lag_seconds gauge\n# UNIT svc_lag_seconds seconds\n');
  expect(open).toContain('svc_h_bucket{le="1",k8s_node_name="n1"} 0\n');
  expect(pageOf(families, 'text')).toContain('# TYPE svc_x_total counter\nsvc_x_total{');
});

test('a large page comes in many chunks, none of them cut inside a line', () => {
  const points = Array.from({ length: 10_000 }, (_, i) => ({
    ...base,
    attributes: [{ key: 'i', value: i }],
    value: i,
    exemplars: [],
  }));
  const metric: Metric = { name: 'm', description: '', unit: '', data: { kind: 'gauge', points } };
  const mapper = new SeriesMapper(defaultPolicy('n1'));
  const sink = { append: () => {}, stale: () => {}, start: () => {}, stored: () => NaN };
  mapper.add(
    { resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics: [metric] }] }] },
    { wall, mono: 0 },
    sink,
  );
  mapper.flush(sink);
  const chunks = chunksOf(capturedFamilies(mapper.table.families.values(), 'text'), 'text');
  expect(chunks.length).toBeGreaterThan(1);
  for (const chunk of chunks) expect(chunk.endsWith('\n')).toBe(true);
  const series = chunks.join('').match(/^m\{.*\} \d+$/gm);
  expect(new Set(series).size).toBe(10_000);
});

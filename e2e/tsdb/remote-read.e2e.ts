import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conformanceData, conformanceDir, needing } from '../../src/testing/needs.ts';
import type { GoldenFile } from '../../src/testing/promql/goldens.ts';
import { parseOpenMetrics } from '../../src/testing/promql/open-metrics.ts';
import { labelsFromObject, labelValue } from '../../src/tsdb/index.ts';
import type { Labels } from '../../src/tsdb/index.ts';
import { ask, difference, readGzip, startOracle } from './oracle.ts';
import type { LoadedSeries, Oracle } from './oracle.ts';
import { startPeer } from '../prometheus/server.ts';
import { writeStores } from '../prometheus/write-stores.ts';

let dir = '';
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'svc-oracle-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('a real Prometheus that reads agents over mutual TLS', () => {
  test('answers as a Prometheus that holds the same small data set itself', async () => {
    const { series, start, end } = ownData();
    const oracle = await startOracle(join(dir, 'reader'), series, 3, byNode);
    const holder = await startPeer({ dir: join(dir, 'holder') });
    try {
      await writeStores(oracle.stores, holder.url, start, end);
      const problems: string[] = [];
      let asked = 0;
      for (const query of ownQueries) {
        for (const [path, params] of timesOf(query, start / 1000 + 3600, end / 1000)) {
          const want = await ask(holder.url, path, params);
          expect([query, want.code]).toEqual([query, 200]);
          asked++;
          const problem = difference(await ask(oracle.prometheus.url, path, params), want);
          if (problem) problems.push(`${path} ${query}: ${problem}`);
        }
      }
      expect(problems).toEqual([]);
      expect(asked).toBe(2 * ownQueries.length);
    } finally {
      await holder.stop();
      await oracle.stop();
    }
  }, 120_000);

  const recorded = [
    ['svc', byNode],
    ['demo', byInstance],
  ] as const;
  const recordedAnswers = 'gives the recorded answers of the conformance data, instant and range';
  needing(conformanceData).test(
    recordedAnswers,
    async () => {
      let asked = 0;
      const problems: string[] = [];
      for (const [name, agentOf] of recorded) {
        const golden = JSON.parse(
          await readGzip(join(conformanceDir, 'golden', `${name}.golden.json.gz`)),
        ) as GoldenFile;
        const series = parseOpenMetrics(await readGzip(join(conformanceDir, 'input', `${name}.om.gz`)));
        const oracle: Oracle = await startOracle(join(dir, name), series, 3, agentOf);
        try {
          for (const { query, instant, range } of golden.cases) {
            const [first, second] = timesOf(query, golden.rangeStart, golden.end);
            asked++;
            const now = difference(await ask(oracle.prometheus.url, ...first), instant);
            const then = difference(await ask(oracle.prometheus.url, ...second), range);
            if (now) problems.push(`${name} instant ${query}: ${now}`);
            if (then) problems.push(`${name} range ${query}: ${then}`);
          }
        } finally {
          await oracle.stop();
        }
      }
      expect(asked).toBeGreaterThanOrEqual(500);
      expect(problems).toEqual([]);
    },
    300_000,
  );
});

type Asked = readonly [path: string, params: Readonly<Record<string, string>>];

function timesOf(query: string, start: number, end: number): readonly [Asked, Asked] {
  return [
    ['query', { query, time: String(end) }],
    ['query_range', { query, start: String(start), end: String(end), step: '60' }],
  ];
}

function byNode(labels: Labels): number {
  return Number(/\d+$/.exec(labelValue(labels, 'k8s_node_name'))?.[0] ?? 0) % 3;
}

function byInstance(labels: Labels): number {
  return [...labelValue(labels, 'instance')].reduce((sum, c) => sum + c.charCodeAt(0), 0) % 3;
}

/** Two and a half hours of counters, buckets, and a gauge with gaps, on three nodes; in blocks and in the head. */
function ownData(): { series: LoadedSeries[]; start: number; end: number } {
  const start = Date.UTC(2026, 2, 1, 0, 10);
  const end = start + 2.5 * 3_600_000;
  const series: LoadedSeries[] = [];
  const add = (labels: Record<string, string>, value: (k: number) => number | undefined): void => {
    const samples: { time: number; value: number }[] = [];
    for (let k = 0; start + k * 15_000 <= end; k++) {
      const at = value(k);
      if (at !== undefined) samples.push({ time: start + k * 15_000, value: at });
    }
    series.push({ labels: labelsFromObject(labels), samples });
  };
  for (let node = 0; node < 3; node++) {
    for (let pod = 0; pod < 4; pod++) {
      const labels = {
        k8s_node_name: `node-${node}`,
        k8s_pod_name: `pod-${node}-${pod}`,
        service_name: `service-${pod}`,
      };
      add({ ...labels, __name__: 'requests_total' }, (k) => (k % 400) * (pod + 1) + (k % 7));
      add({ ...labels, __name__: 'temperature' }, (k) => (k % 50 < 40 ? 20 + Math.sin(k / 9) * pod : undefined));
      for (const [i, le] of ['0.1', '1', '+Inf'].entries()) {
        add({ ...labels, __name__: 'duration_bucket', le }, (k) => k * (i + 1) * (pod + 1));
      }
    }
  }
  return { series, start, end };
}

const ownQueries = [
  'requests_total',
  'sum(rate(requests_total[5m]))',
  'sum by (service_name) (increase(requests_total[10m]))',
  'avg_over_time(temperature[7m])',
  'max by (k8s_node_name) (temperature)',
  'quantile_over_time(0.9, temperature[30m])',
  'histogram_quantile(0.9, sum by (le, service_name) (rate(duration_bucket[5m])))',
  'topk(3, requests_total)',
  'requests_total{service_name=~"service-[12]", k8s_node_name!="node-1"}',
  'absent(requests_total{service_name="none"})',
  'count(temperature offset 20m)',
  'max_over_time(sum(rate(requests_total[5m]))[30m:1m])',
  'deriv(temperature[10m]) > 0',
  'requests_total @ end()',
  'resets(requests_total[1h])',
];

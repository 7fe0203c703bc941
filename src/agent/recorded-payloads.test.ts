import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Labels, SeriesRef } from '../tsdb/index.ts';
import { capturedFamilies } from './exposition/captured.ts';
import { writePage } from './exposition/page.ts';
import { SeriesMapper } from './mapping/mapper.ts';
import { defaultPolicy } from './mapping/policy.ts';
import { admitMetrics } from './otlp/admit.ts';
import { decodeMetricsRequest } from './otlp/protobuf/metrics.ts';

/** When the payloads were recorded, give or take minutes. */
const recorded = { wall: 1_795_258_300_000, mono: 0 };
const dir = join(import.meta.dirname, 'testdata/otlp');
const names = readdirSync(dir)
  .filter((name) => name.endsWith('.bin') && name.includes('metrics'))
  .map((name) => name.slice(0, -4));

interface Sample {
  labels: Labels;
  tMs: number;
  value: number;
}

function ingest(name: string): { mapper: SeriesMapper; samples: Sample[] } {
  const raw = readFileSync(join(dir, `${name}.bin`));
  const mapper = new SeriesMapper(defaultPolicy('node-1'));
  const samples: Sample[] = [];
  const sink = {
    append: ({ labels }: SeriesRef, tMs: number, value: number) => void samples.push({ labels, tMs, value }),
    stale: () => {
      throw new Error('nothing ends here');
    },
  };
  const request = decodeMetricsRequest(raw[0] === 0x1f ? gunzipSync(raw) : raw);
  const admitted = admitMetrics(request, recorded.wall);
  expect(admitted).toMatchObject({ rejected: 0, reason: '' });
  mapper.add(admitted.request, recorded, sink);
  mapper.flush(sink);
  return { mapper, samples };
}

test.each(names)('%s becomes exactly the golden exposition', (name) => {
  const text = Buffer.concat([
    ...writePage(capturedFamilies(ingest(name).mapper.table.families.values(), 'text'), 'text'),
  ]).toString();
  const golden = join(dir, `${name}.exposition.txt`);
  if (process.argv.includes('-u')) writeFileSync(golden, text);
  expect(text).toBe(readFileSync(golden, 'utf8'));
});

test.each(names)('%s gives each series once, sorted labels, this node and the time of its point', (name) => {
  const { mapper, samples } = ingest(name);
  expect(new Set(samples.map((s) => JSON.stringify(s.labels))).size).toBe(samples.length);
  expect(samples).toHaveLength(mapper.table.size);
  for (const { labels, tMs, value } of samples) {
    const keys = labels.map(([key]) => key);
    expect(keys).toEqual(keys.toSorted());
    expect(labels).toContainEqual(['k8s_node_name', 'node-1']);
    expect(Math.abs(tMs - recorded.wall)).toBeLessThan(300_000);
    expect(Number.isFinite(value)).toBe(true);
  }
});

test('the info metrics leave nothing behind', () => {
  expect(ingest('06-patched-http-metrics-go-targetinfo').samples).toEqual([]);
});

test('http_server_request_duration has the names, labels and 18 series of the specification', () => {
  const { samples } = ingest('07-patched-http-metrics-go-red-sizes-spanmetrics');
  const of = (name: string): Sample[] =>
    samples.filter((s) => {
      const own = Object.fromEntries(s.labels);
      return own.__name__ === name && own.http_route === '/api/users/{id}';
    });
  expect(of('http_server_request_duration_bucket')).toHaveLength(16);
  expect(of('http_server_request_duration_sum')).toHaveLength(1);
  const [count] = of('http_server_request_duration_count');
  expect(Object.fromEntries(count!.labels)).toEqual({
    __name__: 'http_server_request_duration_count',
    http_request_method: 'GET',
    http_response_status_code: '200',
    http_route: '/api/users/{id}',
    k8s_node_name: 'node-1',
    server_port: '8080',
    service_name: 'go-shop',
    service_namespace: 'demo',
    url_scheme: 'http',
  });
});

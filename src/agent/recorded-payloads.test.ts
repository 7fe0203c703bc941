import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Labels, SeriesRef } from '../tsdb/index.ts';
import { capturedFamilies } from './exposition/captured.ts';
import { writePage } from './exposition/page.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { aPod, nodePods } from '../testing/node-pods.ts';
import type { Identity } from './identity/identity.ts';
import { SeriesMapper } from './mapping/mapper.ts';
import { defaultPolicy } from './mapping/policy.ts';
import { admitMetrics } from './otlp/admit.ts';
import type { Attribute, MetricsRequest } from './otlp/model.ts';
import { decodeMetricsRequest, decodeTracesRequest } from './otlp/protobuf/decode.ts';
import { SpanPipeline } from './spans/span-pipeline.ts';
import { StreamRing } from './spans/stream-ring.ts';

/** The time when a payload was recorded, accurate to minutes. */
const recordedAt = (name: string) => ({ wall: name < '20' ? 1_795_258_300_000 : 1_795_361_150_000, mono: 0 });
const dirOf = (name: string): string => join(import.meta.dirname, 'testdata', name < '20' ? 'otlp' : 'kernel');
const names = [dirOf('01'), dirOf('20')]
  .flatMap((dir) => readdirSync(dir))
  .filter((name) => name.endsWith('.bin') && name.includes('metrics'))
  .map((name) => name.slice(0, -4));

/** The pods of the recordings 20 to 31. */
const pods = nodePods(...['client', 'node', 'tls', 'go', 'py', 'grpc'].map((name) => `shop/${name}`));

interface Sample {
  labels: Labels;
  tMs: number;
  value: number;
}

function ingest(name: string): { mapper: SeriesMapper; samples: Sample[] } {
  const raw = readFileSync(join(dirOf(name), `${name}.bin`));
  const mapper = new SeriesMapper(defaultPolicy('node-1'), pods);
  const samples: Sample[] = [];
  const sink = {
    append: ({ labels }: SeriesRef, tMs: number, value: number) => void samples.push({ labels, tMs, value }),
    stale: () => {
      throw new Error('nothing ends here');
    },
    start: () => {},
    stored: () => NaN,
  };
  const recorded = recordedAt(name);
  const request = decodeMetricsRequest(raw[0] === 0x1f ? gunzipSync(raw) : raw);
  const admitted = admitMetrics(request, recorded.wall);
  expect(admitted).toMatchObject({ rejected: 0, reason: '' });
  mapper.add(admitted.request, recorded, sink);
  mapper.flush(sink);
  return { mapper, samples };
}

test.each(names)('%s becomes exactly the golden exposition', (name) => {
  const page = writePage(capturedFamilies(ingest(name).mapper.table.families.values(), 'text'), 'text');
  const text = Array.from(page, (chunk) => Buffer.from(chunk).toString()).join('');
  const golden = join(dirOf(name), `${name}.exposition.txt`);
  if (process.argv.includes('-u')) writeFileSync(golden, text);
  expect(text).toBe(readFileSync(golden, 'utf8'));
});

test.each(names)('%s gives each series once, with sorted labels, this node and the time of its point', (name) => {
  const { mapper, samples } = ingest(name);
  expect(new Set(samples.map((s) => JSON.stringify(s.labels))).size).toBe(samples.length);
  expect(samples).toHaveLength(mapper.table.size);
  for (const { labels, tMs, value } of samples) {
    const keys = labels.map(([key]) => key);
    expect(keys).toEqual(keys.toSorted());
    expect(labels).toContainEqual(['k8s_node_name', 'node-1']);
    expect(Math.abs(tMs - recordedAt(name).wall)).toBeLessThan(300_000);
    expect(Number.isFinite(value)).toBe(true);
  }
});

test('info metrics, such as target_info, give no samples', () => {
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
    k8s_pod_name: 'unknown',
    server_port: '8080',
    service_name: 'go-shop',
    service_namespace: 'demo',
    url_scheme: 'http',
  });
});

const labelsOf = (name: string, metric: string): Record<string, string>[] =>
  ingest(name)
    .samples.map((s) => Object.fromEntries(s.labels))
    .filter((labels) => labels['__name__'] === metric);

test('series of a recorded pod carry the names that the API server has for that pod', () => {
  for (const [file, pod, metric] of [
    ['20-kernel-http-metrics-client', 'client', 'http_client_request_duration_count'],
    ['23-kernel-http-metrics-go', 'go', 'http_server_request_duration_count'],
    ['25-kernel-http-metrics-grpc', 'grpc', 'rpc_server_call_duration_count'],
  ] as const) {
    const found = labelsOf(file, metric);
    expect(found.length).toBeGreaterThan(0);
    for (const labels of found) {
      expect(labels).toMatchObject({ k8s_namespace_name: 'shop', k8s_pod_name: pod, k8s_container_name: 'main' });
    }
    expect(ingest(file).mapper.counts).toMatchObject({ unknownPods: 0 });
  }
});

const names20 = names.filter((name) => name >= '20' && name < '26');
const decoded = (name: string): MetricsRequest => decodeMetricsRequest(readFileSync(join(dirOf(name), `${name}.bin`)));
const uidOf = (resource: readonly Attribute[]): string => String(resource.find((a) => a.key === 'k8s.pod.uid')?.value);
/** The pods of which both points and spans were recorded. */
const recordedNames = ['client', 'go', 'grpc'];

/** The pods of the recordings with the uids that they had. */
function recordedPods(): Identity {
  const resources = names20.flatMap((name) => decoded(name).resources);
  const uids = resources.map(({ attributes }) => [
    String(attributes.find((a) => a.key === 'k8s.pod.name')?.value),
    uidOf(attributes),
  ]);
  return nodePods(...recordedNames.map((name) => aPod(`shop/${name}`, { uid: Object.fromEntries(uids)[name] })));
}

test('spans of recorded pods get the names of their pods after the recorded metric points have arrived', () => {
  const ring = new StreamRing({ maxBytes: 1e9, maxAgeMs: 1e9 });
  const unknown: number[] = [];
  const identity = recordedPods();
  const spans = new SpanPipeline({
    ring,
    clock: new FakeClock(recordedAt('28').wall),
    identity,
    onUnknown: (n) => unknown.push(n),
  });
  const body = readFileSync(join(dirOf('28'), '28-kernel-http-traces-six-pods.bin'));
  expect(spans.take(decodeTracesRequest(body))).toBeGreaterThan(0);
  const named = (): string[] =>
    Array.from({ length: ring.next }, (_, i) => ring.at(i)!.span!)
      .filter((span) => span.namespace !== undefined)
      .map((span) => `${span.namespace}/${span.pod}/${span.container}`);
  spans.expire();
  expect(named()).toEqual([]);
  const strangers = unknown.length;
  const mapper = new SeriesMapper(defaultPolicy('node-1'), identity);
  const sink = { append: () => {}, stale: () => {}, start: () => {}, stored: () => NaN };
  for (const name of names20) mapper.add(decoded(name), recordedAt(name), sink);
  spans.expire();
  expect([...new Set(named())].toSorted()).toEqual(recordedNames.map((name) => `shop/${name}/main`).toSorted());
  expect(unknown).toHaveLength(strangers);
});

test('recorded flows name both ends and the port of the server, never that of a client', () => {
  const found = labelsOf('26-kernel-http-metrics-network-flows', 'ebpf_network_flow_bytes');
  const ports = found.map(({ direction, server_port, dst_port, src_port, k8s_src_owner_name, k8s_dst_owner_name }) =>
    [direction, k8s_src_owner_name, k8s_dst_owner_name, server_port, dst_port, src_port].map((t) => t ?? '-').join(' '),
  );
  expect([...new Set(ports)].toSorted()).toEqual([
    'request client go 8080 8080 -',
    'request client grpc 50051 50051 -',
    'request client node 8080 8080 -',
    'request client node 9000 9000 -',
    'request client py 8080 8080 -',
    'request client tls 8443 8443 -',
    'response go client - - -',
    'response grpc client - - -',
    'response node client - - -',
    'response py client - - -',
    'response tls client - - -',
  ]);
});

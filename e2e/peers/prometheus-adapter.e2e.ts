/** A real prometheus-adapter behind the query server: autoscalers get its metrics unchanged, beside ours. */
import { fileURLToPath } from 'node:url';
import { needing } from '../../src/testing/needs.ts';
import type { Values } from '../autoscaling/answers.ts';
import { passOnTo } from '../autoscaling/second-adapter.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';
import { ownImages } from '../node/container/images.ts';
import { peerNeed } from './programs.ts';
import { startPrometheusAdapter, type PrometheusAdapter } from './prometheus-adapter.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const custom = '/apis/custom.metrics.k8s.io';
let cluster: Cluster;
let adapter: PrometheusAdapter;
const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);
const raw = async <T>(path: string): Promise<T> => JSON.parse(await kubectl('get', '--raw', path)) as T;
/** A pod that never runs: the adapter looks up a pod's name before it queries Prometheus. */
const worker = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'worker-1', namespace: 'shop', labels: { app: 'worker' } },
  spec: { nodeSelector: { none: 'such' }, containers: [{ name: 'main', image: 'none:1' }] },
};

needing(peerNeed('prometheus-adapter')).describe('prometheus-adapter behind the query server', () => {
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1, images: ownImages() });
    adapter = await startPrometheusAdapter(cluster);
    await kubectl('create', 'namespace', 'shop');
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(worker) });
    await kubectl('apply', '--server-side', '-f', `${root}manifests/install.yaml`);
    await passOnTo(adapter, kubectl, ['--external-metrics=auto']);
    for (const name of ['v1beta1.custom', 'v1beta2.custom', 'v1beta1.external']) {
      const apiService = `apiservice/${name}.metrics.k8s.io`;
      await until(apiService, () => kubectl('wait', '--for=condition=Available', '--timeout=10s', apiService), {
        good: () => true,
        timeoutMs: 240_000,
      });
    }
  }, 500_000);

  afterAll(async () => {
    await adapter?.close();
    await cluster?.stop();
  }, 60_000);

  test.each(['v1beta1', 'v1beta2'])(
    'the aggregator serves in %s the metrics of pods and services that only the adapter has',
    async (version) => {
      for (const [resource, kind, name, query] of [
        ['services', 'Service', 'queue', ''],
        ['pods', 'Pod', 'worker-1', ''],
        ['pods', 'Pod', '*', '?labelSelector=app%3Dworker'],
      ] as const) {
        const list = await until(
          `${resource}/${name}`,
          () => raw<Values>(`${custom}/${version}/namespaces/shop/${resource}/${name}/queue_depth${query}`),
          { good: ({ items }) => items.length > 0, timeoutMs: 60_000 },
        );
        expect(list).toMatchObject({ kind: 'MetricValueList', apiVersion: `custom.metrics.k8s.io/${version}` });
        expect(list.items).toMatchObject([
          {
            describedObject: { kind, namespace: 'shop', name: name === '*' ? 'worker-1' : name },
            value: '4200m',
            ...(version === 'v1beta1' ? { metricName: 'queue_depth' } : { metric: { name: 'queue_depth' } }),
          },
        ]);
        expect(Math.abs(Date.now() - Date.parse(list.items[0]!.timestamp))).toBeLessThan(60_000);
      }
    },
    200_000,
  );

  test("discovery shows the adapter's metrics beside ours, each once", async () => {
    const { resources } = await until(
      'its metrics',
      () => raw<{ resources: { name: string }[] }>(`${custom}/v1beta2`),
      { good: (list) => list.resources.some(({ name }) => name === 'services/queue_depth'), timeoutMs: 90_000 },
    );
    const names = resources.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['pods/queue_depth', 'services/queue_depth', 'pods/http_requests_per_second']),
    );
    expect(new Set(names).size).toBe(names.length);
  }, 100_000);

  test("the adapter's external metrics are answered beside ours", async () => {
    const path = '/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue_length?labelSelector=queue%3Da';
    const { items } = await until('rows', () => raw<{ items: object[] }>(path), {
      good: (list) => list.items.length > 0,
    });
    expect(items).toMatchObject([{ metricName: 'queue_length', value: '7' }]);
  });

  test('an object or a metric that neither the query server nor the adapter has is not found', async () => {
    const of = (object: string): Promise<string> =>
      kubectl('get', '--raw', `${custom}/v1beta2/namespaces/shop/${object}`);
    await expect(of('services/queue/nothing')).rejects.toThrow(/could not find the metric nothing/);
    await expect(of('services/other/queue_depth')).rejects.toThrow(/could not find/);
  });

  test('once the adapter is gone, requests for its metrics get an error with its address, never a zero', async () => {
    await adapter.kill();
    const path = `${custom}/v1beta2/namespaces/shop/services/queue/queue_depth`;
    await until('the failure', () => kubectl('get', '--raw', path).catch((error: Error) => error.message), {
      good: (text) => text.includes(`second adapter ${adapter.url}`),
    });
    const { resources } = await raw<{ resources: { name: string }[] }>(`${custom}/v1beta2`);
    expect(resources.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['pods/http_requests_per_second', 'services/queue_depth']),
    );
  }, 60_000);
});

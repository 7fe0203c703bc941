import { parse } from '../../../promql/index.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { runPluginHere } from '../../../testing/plugin/plugin-run.ts';
import type { RestClient } from '../../../kube/index.ts';
import { ClosedOutputError } from '../errors.ts';
import type { QueryRequest } from '../connect/query-server.ts';
import { topKinds } from './kinds.ts';
import { topQuery } from './top-query.ts';

const sample = (labels: Record<string, string>, figure: string, value: string): object => ({
  metric: { k8s_namespace_name: 'shop', ...labels, svc_top: figure },
  value: [1_700_000_000, value],
});
const catalog = { k8s_deployment_name: 'catalog' };
const cart = { k8s_statefulset_name: 'cart' };
const result = [
  sample(cart, 'requestsPerSecond', '1'),
  sample(cart, 'p99Seconds', 'NaN'),
  sample(catalog, 'requestsPerSecond', '1234.5'),
  sample(catalog, 'errorRatio', '0.0625'),
  sample(catalog, 'p50Seconds', '0.0004'),
  sample(catalog, 'p99Seconds', '1.25'),
  sample(catalog, 'inBytesPerSecond', '0'),
  sample(catalog, 'outBytesPerSecond', '4096'),
];
const answer = { data: { resultType: 'vector', result } };
const kubeWith = (pods: readonly string[]): { kube: () => RestClient; asked: object[] } => {
  const asked: object[] = [];
  const list = async (_resource: object, options: object): Promise<object> => {
    asked.push(options);
    return { items: pods.map((name) => ({ metadata: { name, namespace: 'shop' } })), resourceVersion: '1' };
  };
  return { asked, kube: () => ({ namespace: 'shop', list, close: async () => {} }) as unknown as RestClient };
};

test('workloads of the namespace are listed, the busiest first, with a dash where there is no number', async () => {
  const { code, stdout, stderr } = await runPluginHere(['top', '-n', 'shop'], { answer: () => answer });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.split('\n')).toEqual([
    'KIND          NAME      REQ/S   ERRORS     P50     P99   IN/S   OUT/S',
    'Deployment    catalog   1.23k     6.3%   400µs   1.25s     0B   4.1kB',
    'StatefulSet   cart          1        -       -       -      -       -',
    '',
  ]);
});

test('with -A the namespaces have a column; order and number of rows follow the flags', async () => {
  const args = ['top', 'wl', '-A', '--sort-by', 'name', '--limit', '1', '--no-headers'];
  const { stdout } = await runPluginHere(args, { answer: () => answer });
  expect(stdout).toBe('shop   StatefulSet   cart   1   -   -   -   -   -\n');
});

test('-o json has the unrounded numbers, and names missing nodes', async () => {
  const degraded = { ...answer, degraded: true, missingNodes: ['node-3'] };
  const { stdout, stderr } = await runPluginHere(['top', '-A', '-o', 'json'], { answer: () => degraded });
  expect(JSON.parse(stdout)).toEqual({
    kind: 'workloads',
    windowSeconds: 300,
    items: [
      {
        namespace: 'shop',
        kind: 'Deployment',
        name: 'catalog',
        requestsPerSecond: 1234.5,
        errorRatio: 0.0625,
        p50Seconds: 0.0004,
        p99Seconds: 1.25,
        inBytesPerSecond: 0,
        outBytesPerSecond: 4096,
      },
      { namespace: 'shop', kind: 'StatefulSet', name: 'cart', requestsPerSecond: 1 },
    ],
    degraded: true,
    missingNodes: ['node-3'],
    warnings: [],
  });
  expect(stderr).toBe('warning: degraded: the answer lacks 1 node: node-3\n');
});

test.each(Object.values(topKinds).map((kind) => [kind.name, kind] as const))(
  'the query for %s parses and has the given window, namespace and names',
  (_, kind) => {
    const selected = { names: ['a.b', 'c'], owners: ['a'] };
    const query = topQuery({ kind, namespace: 'shop', selected, windowMs: 90_000, wide: true });
    expect(() => parse(query)).not.toThrow();
    expect(query).toContain('[90000ms]');
    expect(query).toContain('k8s_namespace_name="shop"');
    expect(query).toContain(String.raw`a\\.b|c`);
  },
);

test('where no flows are captured the bytes are unknown, and a warning says so', async () => {
  const none = { data: { resultType: 'vector', result: [sample(catalog, 'requestsPerSecond', '1')] } };
  const { stdout, stderr } = await runPluginHere(['top', '-n', 'shop', '--no-headers'], { answer: () => none });
  expect(stdout).toBe('Deployment   catalog   1   -   -   -   -   -\n');
  expect(stderr).toMatch(/^warning: bytes in and out are unknown: .*network\.enabled/);
  const services = await runPluginHere(['top', 'services', '-n', 'shop'], { answer: () => none });
  expect(services.stderr).toBe('');
});

test('bytes in and out come from flows, and only a wide table has the bytes of bodies', () => {
  const query = (wide: boolean) =>
    topQuery({ kind: topKinds.workloads, namespace: 'shop', selected: undefined, windowMs: 60_000, wide });
  expect(query(false)).toMatch(/k8s_dst_owner_type="Deployment"[^]*k8s_src_owner_type="Job"/);
  expect([query(false), query(true)].map((text) => text.includes('body_size'))).toEqual([false, true]);
});

test('labels select pods; the namespace is that of the context', async () => {
  const asked: QueryRequest[] = [];
  const { kube, asked: lists } = kubeWith(['catalog-1']);
  await runPluginHere(['top', 'pods', '-l', 'app=catalog'], { answer: (r) => (asked.push(r), answer), kube });
  expect(lists).toEqual([
    expect.objectContaining({ labelSelector: 'app=catalog', namespace: 'shop', metadataOnly: true }),
  ]);
  expect(asked[0]!.form!.get('query')).toContain('k8s_pod_name=~"catalog-1"');
});

/** Names as the pods of Deployments have them. */
const podsOfDeployments = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `checkout-service-${n % 4}-7d9f8b6c5-${(n + 46_656).toString(36)}0`);

const owned = (kind: string, owner: string, name: string, namespace = 'shop'): object => ({
  name,
  namespace,
  labels: { 'pod-template-hash': '7d4' },
  ownerReferences: [{ kind, name: owner, controller: true }],
});
const kubeOf = (pods: readonly object[]) => (): RestClient => {
  const list = async (): Promise<object> => ({ items: pods.map((metadata) => ({ metadata })), resourceVersion: '1' });
  return { namespace: 'shop', list, close: async () => {} } as unknown as RestClient;
};

test('flows of workloads are found by the owners of the selected pods, because a flow need not name pods', async () => {
  const asked: QueryRequest[] = [];
  const pods = [
    owned('ReplicaSet', 'catalog-7d4', 'catalog-7d4-a'),
    owned('ReplicaSet', 'catalog-7d4', 'catalog-7d4-b'),
    owned('StatefulSet', 'cart', 'cart-0'),
    owned('Job', 'report-29012345', 'report-29012345-x'),
  ];
  const kube = kubeOf(pods);
  await runPluginHere(['top', '-l', 'app=catalog'], { answer: (r) => (asked.push(r), answer), kube });
  const flows = asked[0]!.form!.get('query')!.match(/ebpf_network_flow_bytes{[^}]*}/g)!;
  expect(flows).toHaveLength(16);
  for (const flow of flows)
    expect(flow).toMatch(
      /{k8s_(src|dst)_namespace="shop",k8s_\1_owner_name=~"catalog\|cart\|report-29012345",k8s_\1_owner/,
    );
});

test('workloads that only have the name of a selected one, in another namespace or of another kind, are left out', async () => {
  const kube = kubeOf([
    owned('ReplicaSet', 'catalog-7d4', 'catalog-7d4-a'),
    owned('StatefulSet', 'cart', 'cart-0'),
    owned('Job', 'report', 'report-x', 'pay'),
  ]);
  const rps = (labels: Record<string, string>): object => sample(labels, 'requestsPerSecond', '1');
  const result = [
    rps(catalog),
    rps({ ...catalog, k8s_namespace_name: 'pay' }),
    rps(cart),
    rps({ k8s_deployment_name: 'cart' }),
    rps({ k8s_job_name: 'report', k8s_namespace_name: 'pay' }),
    rps({ k8s_job_name: 'report' }),
    rps({ k8s_namespace_name: 'pay' }),
    rps({ k8s_namespace_name: 'web' }),
  ];
  const args = ['top', '-A', '-l', 'app=x', '--no-headers', '--sort-by', 'name'];
  const { stdout } = await runPluginHere(args, { answer: () => ({ data: { resultType: 'vector', result } }), kube });
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3).join(' '))).toEqual([
    'pay none pods without a workload',
    'pay Job report',
    'shop StatefulSet cart',
    'shop Deployment catalog',
    '',
  ]);
});

test('a Service of a namespace without a selected pod is left out', async () => {
  const kube = kubeOf([owned('StatefulSet', 'cart', 'cart-0')]);
  const result = ['shop', 'pay'].map((k8s_namespace_name) =>
    sample({ k8s_namespace_name, service_name: 'cart' }, 'requestsPerSecond', '1'),
  );
  const args = ['top', 'services', '-A', '-l', 'app=cart', '--no-headers'];
  const { stdout } = await runPluginHere(args, { answer: () => ({ data: { resultType: 'vector', result } }), kube });
  expect(stdout).toBe('shop   cart   1   -   -   -   -   -\n');
});

test('workloads of hundreds of selected pods are one query, and of too many pods wrong usage', async () => {
  const selected = { names: podsOfDeployments(400), owners: ['checkout-service-0', 'checkout-service-1'] };
  const query = topQuery({ kind: topKinds.workloads, namespace: 'shop', selected, windowMs: 60_000, wide: true });
  expect(() => parse(query)).not.toThrow();
  const { kube } = kubeWith(podsOfDeployments(3_000));
  const { code, stderr } = await runPluginHere(['top', '-l', 'team=pay'], { answer: () => answer, kube });
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^error: -l team=pay selects 3000 pods: too many .*\n {2}/),
  ]);
});

test('of very many selected pods no names are sent; the rows of the others are left out', async () => {
  const asked: QueryRequest[] = [];
  const { kube } = kubeWith([...podsOfDeployments(3_000), 'catalog-1']);
  const rows = ['catalog-1', 'cart-1'].map((k8s_pod_name) => sample({ k8s_pod_name }, 'requestsPerSecond', '1'));
  const elsewhere = sample({ k8s_pod_name: 'catalog-1', k8s_namespace_name: 'pay' }, 'requestsPerSecond', '2');
  const pods = { data: { resultType: 'vector', result: [...rows, elsewhere] } };
  const args = ['top', 'pods', '-A', '-l', 'team=pay', '--no-headers'];
  const { stdout } = await runPluginHere(args, { answer: (r) => (asked.push(r), pods), kube });
  expect(asked[0]!.form!.get('query')!.length).toBeLessThan(10_000);
  expect(stdout).toBe('shop   catalog-1   1   -   -   -   -   -\n');
});

test('without a selected object no query is sent, and the message says why the list is empty', async () => {
  const { kube } = kubeWith([]);
  const run = await runPluginHere(['top', 'pods', '-l', 'app=x'], {
    answer: () => Promise.reject(new Error('asked')),
    kube,
  });
  expect(run).toEqual({
    code: 0,
    stdout: '',
    stderr:
      'no pods with labels app=x served a request in namespace shop in the last 5m (-A looks at all namespaces)\n',
  });
});

test.each([
  [['top', 'gadgets', '-A'], 'none of workloads, pods, services, namespaces, nodes'],
  [['top', '-A', '--sort-by', 'size'], 'Allowed choices are name, rps'],
  [['top', '-A', '--limit', 'x'], 'whole number'],
  [['top', '-A', '--window', '5 minutes'], 'no duration'],
])('%j is wrong usage', async (args, message) => {
  const { code, stderr } = await runPluginHere(args, { answer: () => answer });
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test('--watch redraws in place, shows a failure without ending, and restores the screen at Ctrl-C', async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  let looks = 0;
  let drawn = 0;
  const run = runPluginHere(['top', '-A', '--watch', '--interval', '2s'], {
    answer: () => {
      if (++looks === 2) throw new Error('cut');
      return { ...answer, warnings: ['late\u009b2J'] };
    },
    clock,
    signal: abort.signal,
    terminal: 80,
    env: { NO_COLOR: '1' },
    onStdout: (text) => {
      if (!text.includes('\u001b[H')) return;
      if (++drawn === 3) abort.abort();
      else setImmediate(() => clock.advance(2_000));
    },
  });
  const { code, stdout } = await run;
  expect(code).toBe(0);
  const [begin, first, second, third] = stdout.split('\u001b[H');
  expect(begin).toBe('\u001b[?1049h\u001b[?25l\u001b[?7l');
  expect(first).toMatch(/\n\u001b\[KNAMESPACE +KIND .* OUT\/S\n\u001b\[Kshop +Deployment +catalog .*\n/);
  expect(first).toContain(String.raw`warning: late\u009b2J`);
  expect(second).toContain('error: cut');
  expect(second).toContain('catalog');
  expect(third!.endsWith('\u001b[J\u001b[?7h\u001b[?25h\u001b[?1049l')).toBe(true);
});

test('after a failed refresh, --watch asks a new query server, and no old figures are written as new ones', async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  const asked: number[] = [];
  const { code, stdout, stderr } = await runPluginHere(['top', '-A', '-w', '-o', 'json'], {
    answer: (_request, connection) => {
      asked.push(connection);
      if (asked.length === 4) abort.abort();
      else setImmediate(() => clock.advance(5_000));
      if (connection === 1 && asked.length > 1) throw new Error('the pod is gone');
      return { ...answer, warnings: [`answer ${asked.length}`] };
    },
    clock,
    signal: abort.signal,
  });
  expect(asked).toEqual([1, 1, 2, 2]);
  expect([...stdout.matchAll(/answer \d/g)].join()).toBe('answer 1,answer 3');
  expect(stderr).toContain('error: the pod is gone');
  expect(code).toBe(0);
});

test('--watch ends with the code of a closed pipe when its reader is gone', async () => {
  const abort = new AbortController();
  const onStdout = (): void => abort.abort(new ClosedOutputError());
  const run = runPluginHere(['top', '-A', '-w'], { answer: () => answer, signal: abort.signal, onStdout });
  expect(await run).toMatchObject({ code: 141, stderr: '' });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import type { RestClient } from '../../../kube/index.ts';
import { aComponentPod, aNode, anObject, aReadyPod, aView, viewTime } from '../../../testing/capture/cluster-view.ts';
import { fill, startApi } from '../../../testing/capture/plugin-run.ts';
import { aMonitor, aPolicy } from '../../../testing/capture/world.ts';
import { StatusError, type FakeApiServer } from '../../../testing/fake-api-server/index.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import type { PodWithStatus } from '../cluster/pod-fault.ts';
import { runPluginHere, type PluginResult, type PluginRunOptions } from '../../../testing/plugin/plugin-run.ts';

let api: FakeApiServer;
let dir: string;
beforeEach(async () => {
  api = await startApi();
  dir = await mkdtemp(join(tmpdir(), 'svc-bundle-'));
});
afterEach(async () => {
  await api.stop();
  await rm(dir, { recursive: true });
});

const forbidden = new StatusError(403, 'Forbidden', 'no');

async function make(
  args: readonly string[] = [],
  { metrics, ...more }: PluginRunOptions & { metrics?: number } = {},
): Promise<PluginResult & { file: string }> {
  const file = join(dir, 'bundle.tar.gz');
  const kube = (): RestClient =>
    Object.assign(api.restClient(), {
      portForward: async () => {
        if (metrics === undefined) throw new Error('no way in');
        return connect(metrics, '127.0.0.1');
      },
    });
  const result = await runPluginHere(['support-bundle', '-o', file, ...args], {
    clock: new FakeClock(viewTime),
    kube,
    answer: () => ({ data: { resultType: 'vector', result: [] } }),
    ...more,
  });
  return { ...result, file };
}

/** Every file of an archive, by its path without the leading folder. */
async function unpack(file: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const entries = createReadStream(file).pipe(createGunzip()).pipe(extract());
  for await (const entry of entries) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    files.set(entry.header.name.replace(/^[^/]*\//, ''), Buffer.concat(chunks).toString());
  }
  return files;
}

interface Index {
  files: { path: string; bytes: number; about: string }[];
  absent: { what: string; why: string }[];
  hidden: Record<string, number>;
}
const indexOf = (files: ReadonlyMap<string, string>): Index => JSON.parse(files.get('index.json')!) as Index;

test('the bundle has what a maintainer asks for, and its index lists every file', async () => {
  fill(
    api,
    aView({
      monitors: { items: [aMonitor('shop/checkout', { selector: {} })] as never[] },
      policies: { items: [aPolicy('default', {})] as never[] },
    }),
  );
  const { code, stdout, file } = await make();
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${file}\n` });
  const files = await unpack(file);
  for (const path of [
    'README.md',
    'status.txt',
    'versions.json',
    'objects/trafficmonitors.yaml',
    'objects/clustertrafficpolicies.yaml',
    'objects/minterdeployments.yaml',
    'parts/deployments.yaml',
    'parts/daemonsets.yaml',
    'parts/pods.yaml',
    'parts/leases.yaml',
    'cluster/nodes.yaml',
    'cluster/crds.yaml',
    'events.yaml',
    'explain/node/node-1.txt',
    'explain/monitor/shop/checkout.txt',
    'capture/nodes.json',
    'queries/agents.json',
    'logs/svc-system/svc-controller-a/main.log',
  ])
    expect([...files.keys()]).toContain(path);
  expect(indexOf(files).files.map(({ path }) => path)).toEqual([...files.keys()].slice(2));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test.each([
  [120, 1, 99, 1],
  [120, 70, 50, 50],
  [2, 120, 2, 98],
])('of %d nodes and %d monitors, %d nodes and %d monitors are explained', async (nodes, monitors, ...shown) => {
  const numbered = <T>(count: number, make: (n: number) => T): { items: T[] } => ({
    items: Array.from({ length: count }, (_, n) => make(n)),
  });
  fill(
    api,
    aView({
      nodes: numbered(nodes, (n) => aNode(`node-${n}`)),
      monitors: numbered(monitors, (n) => aMonitor(`shop/m-${n}`, { selector: {} }) as never),
    }),
  );
  const files = await unpack((await make()).file);
  const explained = (type: string): number => [...files.keys()].filter((p) => p.startsWith(`explain/${type}/`)).length;
  expect([explained('node'), explained('monitor')]).toEqual(shown);
  const lacking = indexOf(files).absent.filter(({ what }) => what.startsWith('explain/') && what.endsWith('in part'));
  expect(lacking.map(({ why }) => why)).toEqual([
    ...(shown[0]! < nodes ? [`of ${nodes} nodes the first ${shown[0]} are explained`] : []),
    ...(shown[1]! < monitors ? [`of ${monitors} monitors the first ${shown[1]} are explained`] : []),
  ]);
});

test('the series of every explained pod are asked for, however many there are', async () => {
  const podsOf = (namespace: string, count: number): PodWithStatus[] =>
    Array.from({ length: count }, (_, n) => aReadyPod(`${namespace}/p${n}`, 'node-1'));
  fill(
    api,
    aView({
      pods: { items: [...podsOf('pay', 60), ...podsOf('shop', 40)] },
      monitors: { items: [aMonitor('pay/m', { selector: {} }), aMonitor('shop/m', { selector: {} })] as never[] },
    }),
  );
  /** One series for each pod that a selector names. */
  const federated = (path: string): string =>
    new URLSearchParams(path.split('?')[1])
      .getAll('match[]')
      .flatMap((selector) => {
        const [, namespace, names = ''] = /^{k8s_namespace_name="(.*)",k8s_pod_name=~"(.*)"}$/.exec(selector) ?? [];
        return names.split('|').map((pod) => `http_requests{k8s_namespace_name="${namespace}",k8s_pod_name="${pod}"}`);
      })
      .map((series) => `${series} 1 ${viewTime}\n`)
      .join('');
  const { file } = await make([], {
    answer: ({ path }) =>
      path.startsWith('/federate') ? { text: federated(path) } : { data: { resultType: 'vector', result: [] } },
  });
  const files = await unpack(file);
  for (const namespace of ['pay', 'shop']) {
    const text = files.get(`explain/monitor/${namespace}/m.txt`);
    expect(text).toContain('1 series (http_requests 1)');
    expect(text).not.toContain('no series of the pod');
  }
  const lacking = indexOf(files).absent.find(({ what }) => what === 'explain/monitor/: pods');
  expect(lacking?.why).toBe('of each monitor the first 50 are explained, of 1 not all');
});

test('nodes with the same file of the instrument but different rules have separate files of rules', async () => {
  const ofPool = (pool: string, maxSeriesPerMonitor: number): unknown =>
    aPolicy(pool, { nodeSelector: { matchLabels: { pool } }, limits: { maxSeriesPerMonitor } });
  fill(
    api,
    aView({
      nodes: {
        items: [aNode('node-1', { pool: 'a' }), aNode('node-2', { pool: 'b' }), aNode('node-3', { pool: 'b' })],
      },
      policies: { items: [ofPool('a', 500), ofPool('b', 777)] as never[] },
    }),
  );
  const files = await unpack((await make()).file);
  const nodes = JSON.parse(files.get('capture/nodes.json')!) as { node: string; yamlHash: string; rules: string }[];
  expect(new Set(nodes.map(({ yamlHash }) => yamlHash)).size).toBe(1);
  const rulesOf = (name: string): string => files.get(nodes.find(({ node }) => node === name)!.rules)!;
  expect(rulesOf('node-1')).toContain('500');
  expect(rulesOf('node-2')).toContain('777');
  expect(rulesOf('node-3')).toBe(rulesOf('node-2'));
});

test('no secret, token or outside address that stands anywhere in the cluster is in any file', async () => {
  const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJlLW9mLWl0';
  const pat = 'ghs_16C7e42F292c6912E7710c838347Ae178B4a';
  const pem = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7'.repeat(2)}\n-----END PRIVATE KEY-----`;
  const outside = ['203.0.113.77', '2001:db8:77::9', '198.51.100.23'];
  const words = [
    'hunter2-in-env',
    'hunter2-in-annotation',
    'hunter2-in-extra',
    'hunter2-in-url',
    'hunter2-in-query',
    'hunter2-in-log',
  ];
  const [inEnv, inAnnotation, inExtra, inUrl, inQuery, inLog] = words;
  const leaks = `Bearer ${token}; ${pat}; password=${inLog}; https://u:${inUrl}@x.example/w?k=${inQuery}; ${outside.join(' ')}; ${pem}`;
  const metadata = {
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"p":"${inAnnotation}"}`, note: leaks },
    managedFields: [{ manager: 'kubectl', fieldsV1: { [`f:${inAnnotation}`]: {} } }],
  };
  const labels = { 'app.kubernetes.io/name': 'svc-operator', 'app.kubernetes.io/component': 'agent' };
  const spec = {
    nodeName: 'node-1',
    containers: [
      {
        name: 'agent',
        env: [
          { name: 'HTTPS_PROXY', value: inEnv },
          { name: 'SVC_X', value: leaks },
        ],
      },
    ],
  };
  const view = aView();
  fill(
    api,
    aView({
      nodes: {
        items: [
          aNode('node-1', {}),
          { ...aNode('node-2'), status: { conditions: [{ type: 'Ready', status: 'False', message: leaks }] } },
        ] as never[],
      },
      pods: {
        items: [
          aComponentPod('agent', 'svc-agent-a', 'node-1', {
            metadata: { ...metadata, labels },
            spec,
            status: {
              podIP: '10.0.0.1',
              containerStatuses: [
                { name: 'agent', restartCount: 1, lastState: { terminated: { exitCode: 1, message: leaks } } },
              ],
            },
          }),
        ],
      },
      deployments: {
        items: [
          ...(view.deployments as { items: never[] }).items,
          anObject('apps/v1', 'Deployment', 'svc-system/svc-minter', { metadata, spec: { template: { spec } } }),
        ],
      },
      monitors: {
        items: [
          {
            ...aMonitor('shop/checkout', { selector: {} }),
            metadata: { ...metadata, name: 'checkout', namespace: 'shop' },
          },
        ] as never[],
      },
      policies: {
        items: [
          aPolicy('default', {
            network: { cidrs: [{ cidr: '203.0.113.77/32', name: 'bank' }] },
            instrument: { extraConfig: { otel_traces_export: { headers: { 'x-team': inExtra }, secret: inExtra } } },
          } as never),
        ] as never[],
      },
      events: {
        items: [
          anObject('events.k8s.io/v1', 'Event', 'svc-system/e', {
            type: 'Warning',
            note: leaks,
            eventTime: '2026-06-01T11:59:00Z',
            regarding: { kind: 'Pod', namespace: 'svc-system', name: 'svc-agent-a' },
          }),
        ],
      },
    }),
  );
  const logs = `plain ${leaks}\n${JSON.stringify({ level: 'error', msg: leaks })}\n`;
  api.script((r) => r.subresource === 'log', { do: 'raw', status: 200, body: logs }, 99);
  const page = `# HELP svc_agent_up up\nsvc_agent_up{version="${pat}"} 1\nhttp_requests{server_address="${outside[0]}"} 1\n`;
  const server = createServer((_req, res) => res.end(page)).listen(0, '127.0.0.1');
  try {
    const { code, file, stdout, stderr } = await make([], {
      metrics: await new Promise<number>((resolve) =>
        server.on('listening', () => resolve((server.address() as AddressInfo).port)),
      ),
      answer: () => ({ data: { resultType: 'vector', result: [{ metric: { note: leaks }, value: [0, leaks] }] } }),
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const files = await unpack(file);
    for (const path of [
      'logs/svc-system/svc-agent-a/agent.log',
      'logs/svc-system/svc-agent-a/agent.previous.log',
      'events.yaml',
    ])
      expect(files.get(path)).toContain('outside-');
    expect(files.get('metrics/svc-system/svc-agent-a.txt')).toBe(
      '# HELP svc_agent_up up\nsvc_agent_up{version="[token]"} 1\n',
    );
    const secrets = [
      token,
      token.split('.')[1]!,
      pat,
      'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7',
      ...outside,
      ...words,
    ];
    const seen = [...files, ['stdout', stdout], ['stderr', stderr]].flatMap(([path, text]) =>
      secrets.filter((secret) => text!.includes(secret)).map((secret) => `${secret} in ${path}`),
    );
    expect(seen).toEqual([]);
    const { hidden } = indexOf(files);
    expect(Object.keys(hidden).length).toBeGreaterThan(3);
    expect(Object.entries(hidden).filter(([, count]) => count === 0)).toEqual([]);
    expect(api.seen({ plural: 'secrets' })).toEqual([]);
  } finally {
    server.close();
  }
});

test('what the caller may not read is listed as absent, and nothing else is missing', async () => {
  fill(api, aView());
  const whole = [...(await unpack((await make()).file)).keys()];
  await rm(join(dir, 'bundle.tar.gz'));
  for (const plural of ['nodes', 'trafficmonitors', 'events', 'services'])
    api.script({ plural }, { do: 'fail', error: forbidden }, 99);
  api.script((r) => r.subresource === 'log', { do: 'fail', error: forbidden }, 99);
  const { code, file, stderr } = await make([], { answer: () => Promise.reject(new Error('nobody is there')) });
  expect(code).toBe(0);
  const files = await unpack(file);
  const absent = indexOf(files).absent.map(({ what, why }) => `${what}: ${why}`);
  for (const line of [
    'cluster/nodes.yaml: you may not list nodes',
    'objects/trafficmonitors.yaml: you may not list trafficmonitors',
    'events.yaml: you may not list events',
    'addresses of Services, which are hidden now: you may not list services',
    'logs/svc-system/svc-agent-a/main.log: you may not get pods/log',
    'metrics/svc-system/svc-agent-a.txt: no way in',
    'queries/agents.json: nobody is there',
  ])
    expect(absent).toContainEqual(expect.stringContaining(line));
  // The files of explain/node and capture are computed from nodes and monitors.
  const gone = /^(objects\/trafficmonitors|cluster\/nodes|events)\.yaml$|^(explain\/node|capture|queries|logs)\//;
  expect(whole.filter((path) => !gone.test(path)).length).toBeGreaterThan(10);
  expect(whole.filter((path) => !files.has(path) && !gone.test(path))).toEqual([]);
  expect(files.get('README.md')).toContain('you may not list nodes');
  expect(stderr).toContain('warning: not in it: ');
});

describe('with -n', () => {
  beforeEach(() =>
    fill(
      api,
      aView({
        monitors: {
          items: ['shop/checkout', 'pay/ledger'].map((path) =>
            aMonitor(path, { selector: {}, ports: [{ port: path.startsWith('pay') ? 7777 : 9999 }] }),
          ) as never[],
        },
        pods: { items: [aReadyPod('shop/checkout-1', 'node-1'), aReadyPod('pay/ledger-1', 'node-1')] },
      }),
    ),
  );
  const nodesIn = (files: ReadonlyMap<string, string>): { hash: string; yamlHash: string; rules: string }[] =>
    JSON.parse(files.get('capture/nodes.json')!) as { hash: string; yamlHash: string; rules: string }[];

  test('each node has the config that it should run, and the specs of other namespaces’ monitors are only in its file', async () => {
    const whole = await unpack((await make()).file);
    await rm(join(dir, 'bundle.tar.gz'));
    const files = await unpack((await make(['-n', 'shop'])).file);
    const hashes = (of: typeof files): string[] => nodesIn(of).flatMap(({ hash, yamlHash }) => [hash, yamlHash]);
    expect(hashes(files)).toEqual(hashes(whole));
    expect(files.get(nodesIn(files)[0]!.rules)).toContain('checkout-1');
    expect(whole.get(nodesIn(whole)[0]!.rules)).toContain('ledger-1');
    const telling = [...files].filter(([, text]) => /ledger-1|\b7777\b/.test(text)).map(([path]) => path);
    expect(telling).toEqual([expect.stringMatching(/^capture\/[0-9a-f]+\/instrument\.yaml$/)]);
    expect([...files.keys()].filter((path) => path.startsWith('explain/monitor/'))).toEqual([
      'explain/monitor/shop/checkout.txt',
    ]);
    const absent = indexOf(files).absent.map(({ what, why }) => `${what}: ${why}`);
    expect(absent).toEqual(
      expect.arrayContaining([
        'objects/trafficmonitors.yaml, in part: only those of namespace shop',
        'capture/, in part: of the rules of monitors only those of namespace shop',
      ]),
    );
  });

  test('a user who may list the monitors of that namespace only gets a bundle with these', async () => {
    api.script((r) => r.plural === 'trafficmonitors' && r.namespace === undefined, { do: 'fail', error: forbidden }, 9);
    const files = await unpack((await make(['-n', 'shop'])).file);
    expect(files.get('objects/trafficmonitors.yaml')).toContain('name: checkout');
    expect(indexOf(files).absent.map(({ what }) => what)).toContain('capture/');
  });
});

test('a monitor and an event with a deeply nested text are in the bundle', async () => {
  const metadata = { annotations: { note: '['.repeat(5_000) + ']'.repeat(5_000) } };
  const event = anObject('events.k8s.io/v1', 'Event', 'svc-system/e', {
    type: 'Warning',
    note: metadata.annotations.note,
    eventTime: '2026-06-01T11:59:00Z',
    regarding: { kind: 'Pod', namespace: 'svc-system', name: 'svc-agent-a' },
  });
  const monitor = aMonitor('shop/checkout', { selector: {} });
  const monitors = [{ ...monitor, metadata: { ...monitor.metadata, ...metadata } }] as never[];
  fill(api, aView({ monitors: { items: monitors }, events: { items: [event] } }));
  const { code, stderr, file } = await make();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const files = await unpack(file);
  expect(files.get('objects/trafficmonitors.yaml')).toMatch(/name: checkout[^]*too deep/);
  expect(files.get('events.yaml')).toMatch(/note: .*too deep[^]*svc-agent-a/);
});

test('a part that fails is listed as absent, and the others are in the bundle', async () => {
  // A monitor of another version of the product may have a member of another shape.
  fill(
    api,
    aView({ monitors: { items: [aMonitor('shop/checkout', { selector: {}, ports: 3 } as never)] as never[] } }),
  );
  const { code, stderr, file } = await make();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const files = await unpack(file);
  for (const path of ['objects/trafficmonitors.yaml', 'logs/svc-system/svc-controller-a/main.log'])
    expect([...files.keys()]).toContain(path);
  const absent = indexOf(files).absent.find(({ what }) => what === 'explain/, capture/, or part of it');
  expect(absent?.why).toMatch(/^it failed: .*function/);
});

test('the counts of series are in the bundle without values of labels, which name hosts and routes of the traffic', async () => {
  const numbered = [{ name: 'http_requests', value: 7 }];
  const data = {
    headStats: { numSeries: 9 },
    seriesCountByMetricName: numbered,
    labelValueCountByLabelName: [{ name: 'server_address', value: 2 }],
    memoryInBytesByLabelName: [{ name: 'http_route', value: 40 }],
    seriesCountByLabelValuePair: [{ name: 'server_address=api.partner.example', value: 5 }],
  };
  fill(api, aView());
  const { file } = await make([], {
    answer: ({ path }) => ({ data: path.includes('/tsdb') ? data : { resultType: 'vector', result: [] } }),
  });
  const { seriesCountByLabelValuePair: _, ...shown } = data;
  const files = await unpack(file);
  expect((JSON.parse(files.get('queries/tsdb.json')!) as { data: unknown }).data).toEqual(shown);
});

test('at the size limit, whole files are left out and listed as absent', async () => {
  fill(api, aView());
  api.script((r) => r.subresource === 'log', { do: 'raw', status: 200, body: 'line\n'.repeat(60_000) }, 99);
  const { code, file } = await make(['--max-size', '400Ki']);
  expect(code).toBe(0);
  const files = await unpack(file);
  const { absent, files: listed } = indexOf(files);
  const logs = [...files].filter(([path]) => path.startsWith('logs/')).map(([, text]) => text.length);
  expect(logs).toEqual([5 * 60_000]);
  for (const { what } of absent) expect(files.has(what)).toBe(false);
  expect(listed.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(400 * 1024);
  expect(absent.filter(({ why }) => why.startsWith('the bundle has reached its size')).length).toBeGreaterThan(0);
});

test('current and previous logs are requested with limits of lines and bytes', async () => {
  fill(
    api,
    aView({
      pods: {
        items: [
          aComponentPod('agent', 'svc-agent-a', 'node-1', {
            status: {
              containerStatuses: [{ name: 'main', restartCount: 2, lastState: { terminated: { exitCode: 1 } } }],
            },
          }),
        ],
      },
    }),
  );
  await make(['--since', '90s']);
  const asked = api.seen((r) => r.subresource === 'log').map(({ query }) => Object.fromEntries(query));
  const bounds = { container: 'main', tailLines: '10000', limitBytes: String(8 * 1024 * 1024) };
  expect(asked).toEqual(
    expect.arrayContaining([
      { ...bounds, sinceSeconds: '90' },
      { ...bounds, previous: 'true' },
    ]),
  );
  expect(asked).toHaveLength(2);
});

test('an existing file is not overwritten, and wrong flags are reported', async () => {
  fill(api, aView());
  await writeFile(join(dir, 'bundle.tar.gz'), 'mine');
  expect(await make()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is there already\n  name another file'),
  });
  expect((await stat(join(dir, 'bundle.tar.gz'))).size).toBe(4);
  expect(await make(['--max-size', '3 apples'])).toMatchObject({ code: 2, stderr: expect.stringContaining('20Mi') });
  expect(await make(['--since', 'yesterday'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--since') });
});

test('an API server that does not answer is an error, and leaves no file', async () => {
  await api.stop();
  const { code, stdout } = await make();
  expect({ code, stdout, left: await readdir(dir) }).toEqual({ code: 1, stdout: '', left: [] });
});

test('the archive is written, with exit code 0, also when nobody reads the messages', async () => {
  fill(api, aView());
  const file = join(dir, 'bundle.tar.gz');
  const kubeconfig = join(dir, 'kubeconfig');
  const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
  const clusters = [{ name: 'c', cluster: { server: api.url, 'insecure-skip-tls-verify': true } }];
  const users = [{ name: 'u', user: { token: 't' } }];
  await writeFile(kubeconfig, JSON.stringify({ clusters, users, contexts, 'current-context': 'c' }));
  const program = join(import.meta.dirname, '../../kubectl-svc.ts');
  const child = spawn(process.execPath, [program, 'support-bundle', '-o', file, '--kubeconfig', kubeconfig]);
  const ended = once(child, 'exit');
  expect(String((await once(child.stderr, 'data'))[0])).toBe('reading objects\n');
  child.stderr.destroy();
  child.stdout.destroy();
  expect(await ended).toEqual([0, null]);
  expect(await readdir(dir)).toContain('bundle.tar.gz');
  expect([...(await unpack(file)).keys()]).toContain('logs/svc-system/svc-controller-a/main.log');
});

import { parse } from 'yaml';
import type { ClusterTrafficPolicySpec, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { aMonitor, aNamespace, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { captureHash, parseCaptureConfig, type CaptureConfig } from '../capture-config.ts';
import { zeroConfig } from '../seed.ts';
import { compile } from './compile.ts';
import { grpcNote } from './outcomes.ts';
import type { CompileInput, CompileResult } from './types.ts';

interface File {
  discovery: { instrument: Record<string, unknown>[]; exclude_instrument: Record<string, unknown>[] };
  metrics: { features: string[] };
  otel_metrics_export: { interval: string; instrumentations: string[] };
  otel_traces_export: { instrumentations: string[] };
  network?: Record<string, unknown>;
}
const fileOf = (result: CompileResult, node = 'node-1'): File =>
  parse(result.nodes.get(node)!.config.instrument.yaml) as File;
const entries = (more: Partial<CompileInput>, node = 'node-1'): Record<string, unknown>[] =>
  fileOf(compile(aWorld(more)), node).discovery.instrument;
const monitorRule = (more: Partial<CompileInput>, index = 0) =>
  compile(aWorld(more)).nodes.get('node-1')!.config.monitors[index];

const app = (name: string): TrafficMonitorSpec => ({ mode: 'Capture', selector: { matchLabels: { app: name } } });

test('without any policy or monitor every node gets exactly the config that the agent makes by itself', () => {
  const seed = zeroConfig({ node: 'node-2', ports: '80,443,8080,8443', instrumentVersion: 'v0.10.0' });
  expect(compile(aWorld()).nodes.get('node-2')!.config).toEqual(seed);
});

test('a policy and a monitor give two entries and three exclusions in the file of the instrument', () => {
  const result = compile(
    aWorld({
      policies: [
        aPolicy('default', {
          exclusions: [{ namespaces: ['istio-*'] }, { podLabels: { 'svc.dev/capture': 'off' } }],
          defaults: { protocols: ['HTTP', 'GRPC'], sampling: { ratio: '0.05' } },
        }),
      ],
      monitors: [
        aMonitor('shop/checkout', {
          selector: {
            matchLabels: { app: 'checkout' },
            matchExpressions: [{ key: 'tier', operator: 'In', values: ['web', 'api'] }],
          },
          ports: [{ port: 8080 }, { port: 9000, endPort: 9010 }],
          http: { routes: ['/users/{id}'], ignorePaths: ['/healthz'] },
          sampling: { ratio: '0.2', keepErrors: true },
          limits: { maxSeries: 5000 },
        }),
      ],
      pods: [aPod('shop/checkout-1', 'node-1', { labels: { app: 'checkout', tier: 'web' } })],
    }),
  );
  expect(fileOf(result).discovery.instrument).toEqual([
    {
      open_ports: '80,443,8080,8443',
      containers_only: true,
      exports: ['metrics', 'traces'],
      sampler: { name: 'parentbased_traceidratio', arg: '0.05' },
    },
    {
      k8s_namespace: 'shop',
      k8s_pod_labels: { app: 'checkout', tier: '{api,web}' },
      open_ports: '8080,9000-9010',
      exports: ['metrics', 'traces'],
      sampler: { name: 'always_on' },
      routes: { incoming: ['/users/{id}'] },
    },
  ]);
  expect(fileOf(result).discovery.exclude_instrument).toEqual([
    { k8s_namespace: 'svc-system' },
    { k8s_namespace: 'istio-*' },
    { k8s_pod_labels: { 'svc.dev/capture': 'off' } },
  ]);
  expect(result.nodes.get('node-1')!.config.monitors).toEqual([
    {
      namespace: 'shop',
      name: 'checkout',
      uid: 'uid-checkout',
      pods: ['checkout-1'],
      ports: '8080,9000-9010',
      protocols: ['GRPC', 'HTTP'],
      ignorePaths: ['/healthz'],
      maxSeries: 5000,
      tail: { ratio: '0.2', keepErrors: true },
    },
  ]);
  expect(result.nodes.get('node-1')!.config.generations).toEqual({
    'ClusterTrafficPolicy/default@uid-defa': 1,
    'TrafficMonitor/shop/checkout@uid-chec': 1,
  });
});

test('every config passes its own schema and its hash covers all of it', () => {
  const result = compile(
    aWorld({ policies: [aPolicy('p', { paused: true })], monitors: [aMonitor('shop/a', app('cart'))] }),
  );
  expect(result.nodes.size).toBe(3);
  for (const { config, hash } of result.nodes.values()) {
    expect(captureHash(parseCaptureConfig(JSON.parse(JSON.stringify(config))))).toBe(hash);
    const changed = eachChanged(config).map((other) => captureHash(other as CaptureConfig));
    expect(changed.length).toBeGreaterThan(10);
    expect(changed).not.toContain(hash);
  }
});

test('every text that the API server admits by its number of characters passes the schema of the configs', () => {
  const long = (length: number, before = ''): string => before + '😀'.repeat(length - before.length);
  const exports = (name: string) => [
    { name, type: 'OTLP', endpoint: long(512, 'https://a/'), labels: { a: long(256) } } as const,
  ];
  const spec: ClusterTrafficPolicySpec = {
    redaction: {
      queryParams: { add: [long(128)], remove: [long(128)] },
      paths: [{ pattern: long(256), replacement: long(128) }],
    },
    export: exports('of-policy'),
  };
  const { nodes, policies } = compile(aWorld({ policies: [aPolicy('p', spec)] }));
  expect(policies.get('p')!.accepted.ok).toBe(true);
  const { config } = nodes.get('node-1')!;
  const rule = { namespace: 'shop', name: 'm', uid: 'u', pods: ['a'] };
  const monitor = { ...rule, ignorePaths: [long(256, '/')], exports: exports('of-monitor') };
  expect(() => parseCaptureConfig({ ...config, monitors: [monitor] })).not.toThrow();
});

/** For each leaf of the value, the value with only that leaf changed. */
function eachChanged(value: unknown): unknown[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => eachChanged(item).map((other) => value.with(i, other)));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, own]) => eachChanged(own).map((other) => ({ ...value, [key]: other })));
  }
  if (typeof value === 'number') return [value + 1];
  return [typeof value === 'boolean' ? !value : `${String(value)}x`];
}

describe('scalars', () => {
  const ratio = (policies: ClusterTrafficPolicySpec[], own?: string): unknown => {
    const list = entries({
      policies: policies.map((spec, i) => aPolicy(`p${i}`, spec)),
      monitors: [aMonitor('shop/m', { ...app('checkout'), ...(own ? { sampling: { ratio: own } } : {}) })],
    });
    return (list.at(-1)!['sampler'] as { name: string; arg?: string }).arg ?? '1';
  };
  const override = (r: string, priority = 0): ClusterTrafficPolicySpec => ({
    priority,
    overrides: { sampling: { ratio: r } },
  });
  const fallback = (r: string, priority = 0): ClusterTrafficPolicySpec => ({
    priority,
    defaults: { sampling: { ratio: r } },
  });
  test.each<[string, ClusterTrafficPolicySpec[], string | undefined, string]>([
    ['the built-in value holds when no object sets it', [], undefined, '1'],
    ['a default fills in what the monitor leaves out', [fallback('0.5')], undefined, '0.5'],
    ['the monitor wins over a default', [fallback('0.5')], '0.25', '0.25'],
    ['an override wins over the monitor', [override('0.1')], '0.25', '0.1'],
    [
      'of two overrides the one with the higher priority holds',
      [override('0.1', 1), override('0.2', 2)],
      '0.25',
      '0.2',
    ],
    [
      'of two defaults the one with the higher priority holds',
      [fallback('0.1', 1), fallback('0.2', 2)],
      undefined,
      '0.2',
    ],
    ['of two equal policies the first by name holds', [override('0.3'), override('0.4')], undefined, '0.3'],
    [
      'an override of a weak policy wins over the default of a strong one',
      [fallback('0.1', 9), override('0.2')],
      undefined,
      '0.2',
    ],
    ['trailing zeros of a ratio make no difference', [override('0.500')], undefined, '0.5'],
  ])('%s', (_sentence, policies, own, expected) => expect(ratio(policies, own)).toBe(expected));

  test('an older policy wins over a younger one of equal priority', () => {
    const old = aPolicy('z', override('0.3'), { creationTimestamp: '2020-01-01T00:00:00Z' });
    const young = aPolicy('a', override('0.4'), { creationTimestamp: '2021-01-01T00:00:00Z' });
    const list = entries({ policies: [young, old] });
    expect(list[0]).toMatchObject({ sampler: { arg: '0.3' } });
  });
});

describe('several monitors on one pod', () => {
  const order = (a: ReturnType<typeof aMonitor>, b: ReturnType<typeof aMonitor>): string => {
    const result = compile(aWorld({ monitors: [a, b] }));
    return result.nodes.get('node-1')!.config.monitors[0]!.name;
  };
  const whole: Partial<TrafficMonitorSpec> = { selector: {} };
  test.each([
    ['the higher priority is stronger', aMonitor('shop/a', whole), aMonitor('shop/b', { ...whole, priority: 1 }), 'b'],
    [
      'labels are stronger than the whole namespace',
      aMonitor('shop/a', whole),
      aMonitor('shop/b', app('checkout')),
      'b',
    ],
    [
      'workloads are stronger than labels',
      aMonitor('shop/a', app('checkout')),
      aMonitor('shop/b', { workloads: [{ kind: 'Pod', name: 'checkout-*' }] }),
      'b',
    ],
    [
      'priority counts more than specificity',
      aMonitor('shop/a', { ...whole, priority: 5 }),
      aMonitor('shop/b', { workloads: [{ kind: 'Pod', name: 'checkout-*' }] }),
      'a',
    ],
    [
      'the older is stronger',
      aMonitor('shop/a', whole, { creationTimestamp: '2026-02-01T00:00:00Z' }),
      aMonitor('shop/b', whole),
      'b',
    ],
    ['of equal ones the first by name is stronger', aMonitor('shop/b', whole), aMonitor('shop/a', whole), 'a'],
  ])('%s', (_sentence, a, b, strongest) => expect(order(a, b)).toBe(strongest));

  test('the strongest monitor is last in the file, where the last entry wins', () => {
    const list = entries({
      monitors: [
        aMonitor('shop/strong', { ...app('checkout'), priority: 9, sampling: { ratio: '0.9' } }),
        aMonitor('shop/weak', { selector: {}, sampling: { ratio: '0.1' } }),
      ],
    });
    expect(list.slice(1).map((e) => (e['sampler'] as { arg: string }).arg)).toEqual(['0.1', '0.9']);
  });

  test('the stronger entry carries the routes of both, the weaker its own', () => {
    const list = entries({
      monitors: [
        aMonitor('shop/strong', { ...app('checkout'), http: { routes: ['/a'] } }),
        aMonitor('shop/weak', { selector: {}, http: { routes: ['/b'] } }),
        aMonitor('shop/apart', { ...app('cart'), http: { routes: ['/c'] } }),
      ],
    });
    expect(list.slice(1).map((e) => (e['routes'] as { incoming: string[] }).incoming)).toEqual([
      ['/b'],
      ['/a', '/b'],
      ['/b', '/c'],
    ]);
  });

  test('the weaker monitor reports which fields it lost, to which monitor and why', () => {
    const result = compile(
      aWorld({
        monitors: [
          aMonitor('shop/strong', { ...app('checkout'), sampling: { ratio: '0.9' } }),
          aMonitor('shop/weak', { selector: {}, sampling: { ratio: '0.1' }, protocols: ['HTTP'] }),
        ],
      }),
    );
    expect(result.monitors.get('shop/weak')!.conflicts).toEqual([
      {
        with: 'TrafficMonitor/shop/strong',
        fields: ['sampling.ratio'],
        resolution: 'shop/strong selects more specifically',
      },
    ]);
    expect(result.monitors.get('shop/strong')!.conflicts).toEqual([]);
  });

  test('a field is reported as lost if it is lost under the policies of one of the shared nodes', () => {
    const edge = { matchLabels: { pool: 'edge' } };
    const even = { overrides: { sampling: { ratio: '0.5' } } };
    const monitors = [
      aMonitor('shop/strong', { ...app('checkout'), sampling: { ratio: '0.9' }, metrics: { interval: '1m' } }),
      aMonitor('shop/weak', { selector: {}, sampling: { ratio: '0.1' }, metrics: { interval: '2m' } }),
    ];
    const lost = (...nodes: string[]) =>
      compile(
        aWorld({
          policies: [
            aPolicy('core', { nodeSelector: { matchLabels: { pool: 'core' } }, ...even }),
            aPolicy('edge', { nodeSelector: edge, overrides: { metrics: { interval: '3m' } } }),
          ],
          monitors,
          pods: nodes.map((node, i) => aPod(`shop/checkout-${i}`, node)),
        }),
      )
        .monitors.get('shop/weak')!
        .conflicts.find((c) => c.with === 'TrafficMonitor/shop/strong')!.fields;
    expect(lost('node-1')).toEqual(['metrics.interval']);
    expect(lost('node-3')).toEqual(['sampling.ratio']);
    expect(lost('node-1', 'node-3')).toEqual(['metrics.interval', 'sampling.ratio']);
    expect(lost('node-3', 'node-1')).toEqual(['metrics.interval', 'sampling.ratio']);
  });

  test('values that mean the same are not a conflict, however they are written', () => {
    const result = compile(
      aWorld({
        policies: [aPolicy('p', { overrides: { protocols: ['HTTP', 'SQL'], metrics: { interval: '1m' } } })],
        monitors: [
          aMonitor('shop/a', { ...app('checkout'), sampling: { ratio: '0.50' }, metrics: { interval: '60s' } }),
          aMonitor('shop/b', { selector: {}, sampling: { ratio: '0.5' }, protocols: ['SQL', 'HTTP'] }),
        ],
      }),
    );
    expect([...result.monitors.values()].map((m) => m.conflicts)).toEqual([[], []]);
  });

  test('monitors without a common pod have no conflict', () => {
    const result = compile(
      aWorld({
        monitors: [
          aMonitor('shop/a', { ...app('checkout'), sampling: { ratio: '0.9' } }),
          aMonitor('shop/b', { ...app('cart'), sampling: { ratio: '0.1' } }),
        ],
      }),
    );
    expect([...result.monitors.values()].map((m) => m.conflicts)).toEqual([[], []]);
  });

  test('two monitors that offer one autoscaling metric conflict in that metric', () => {
    const autoscaling = { metrics: [{ name: 'rps', preset: 'RequestsPerSecond' as const, resource: 'pods' }] };
    const result = compile(
      aWorld({
        monitors: [
          aMonitor('shop/a', { ...app('checkout'), autoscaling }),
          aMonitor('shop/b', { ...app('cart'), autoscaling }),
        ],
      }),
    );
    expect(result.monitors.get('shop/b')!.conflicts[0]!.fields).toEqual(['autoscaling.metrics[rps]']);
  });
});

describe('what a policy takes from a monitor', () => {
  const result = compile(
    aWorld({
      policies: [aPolicy('strict', { overrides: { protocols: ['HTTP'], signals: { spans: 'Disabled' } } })],
      monitors: [aMonitor('shop/m', { ...app('checkout'), protocols: ['SQL'], signals: { spans: 'Disabled' } })],
    }),
  );
  const outcome = result.monitors.get('shop/m')!;
  test('a replaced field is a conflict with the policy', () => {
    expect(outcome.conflicts).toEqual([
      { with: 'ClusterTrafficPolicy/strict', fields: ['protocols'], resolution: expect.any(String) as string },
    ]);
  });
  test('all fields that come from overrides are listed, also where the values agree', () => {
    expect(outcome.overriddenFields).toEqual(['protocols', 'signals.spans']);
    expect(outcome.policyRefs).toEqual(['strict']);
  });
});

describe('capture modes of a policy', () => {
  const base = (spec: ClusterTrafficPolicySpec): Record<string, unknown>[] =>
    entries({ policies: [aPolicy('p', spec)] });
  test('ByPort takes the ports of the policy', () => {
    expect(base({ capture: { ports: [{ port: 9000, endPort: 9010 }, { port: 80 }] } })[0]).toMatchObject({
      open_ports: '80,9000-9010',
    });
  });
  test('All selects any executable, in containers', () => {
    expect(base({ capture: { mode: 'All' } })[0]).toMatchObject({ exe_path: '*', containers_only: true });
  });
  test('AllowList leaves out the base entry; flows still give the instrument work', () => {
    const spec: ClusterTrafficPolicySpec = { capture: { mode: 'AllowList' }, network: { enabled: true } };
    const result = compile(aWorld({ policies: [aPolicy('p', spec)] }));
    expect(fileOf(result).discovery.instrument).toEqual([]);
    expect(fileOf(result).metrics.features).toEqual(['network']);
  });
  test('AllowList without flows keeps the instrument alive on a selection that is always excluded', () => {
    const spec: ClusterTrafficPolicySpec = { capture: { mode: 'AllowList' }, network: { enabled: false } };
    expect(base(spec)).toEqual([{ k8s_namespace: 'svc-system', exports: [] }]);
  });
  test('with AllowList for some namespaces, the entry for the other namespaces lists those others by name', () => {
    const critical = { matchLabels: { tier: 'critical' } };
    const list = base({ namespaceSelector: critical, capture: { mode: 'AllowList' } });
    expect(list.map((e) => e['k8s_namespace'])).toEqual(['shop']);
  });
  test('ports for some namespaces become an entry of their own', () => {
    const critical = { matchLabels: { tier: 'critical' } };
    const list = entries({
      policies: [
        aPolicy('all', { capture: { ports: [{ port: 80 }] } }),
        aPolicy('critical', { priority: 1, namespaceSelector: critical, capture: { ports: [{ port: 7000 }] } }),
      ],
    });
    expect(list.map((e) => [e['k8s_namespace'], e['open_ports']])).toEqual([
      ['pay', '7000'],
      ['shop', '80'],
    ]);
  });
  test('a paused policy captures no requests in its scope, and no flows if it sets network', () => {
    const result = compile(
      aWorld({
        policies: [aPolicy('stop', { paused: true, network: { enabled: true } })],
        monitors: [aMonitor('shop/m', app('checkout'))],
      }),
    );
    expect(fileOf(result).discovery.instrument).toEqual([{ k8s_namespace: 'svc-system', exports: [] }]);
    expect(fileOf(result).network).toBeUndefined();
    expect(result.nodes.get('node-1')!.config.monitors).toEqual([]);
    expect(result.monitors.get('shop/m')!.pausedBy).toBe('stop');
  });
  test('a paused policy of some nodes leaves the others alone', () => {
    const more = { policies: [aPolicy('stop', { paused: true, nodeSelector: { matchLabels: { pool: 'edge' } } })] };
    expect(entries(more, 'node-1')).toMatchObject([{ open_ports: '80,443,8080,8443' }]);
    expect(entries(more, 'node-3')).toEqual([{ k8s_namespace: 'svc-system', exports: [] }]);
  });
});

describe('a process with a monitor of some of its ports, whose sampler the instrument takes for all of them', () => {
  const ratio = (r: string): ClusterTrafficPolicySpec => ({ defaults: { sampling: { ratio: r } } });
  const ports = [{ port: 9000 }];
  const config = (policies: ClusterTrafficPolicySpec[], monitors: Partial<TrafficMonitorSpec>[]) =>
    compile(
      aWorld({
        policies: policies.map((spec, i) => aPolicy(`p${i}`, spec)),
        monitors: monitors.map((spec, i) => aMonitor(`shop/m${i}`, { selector: {}, ...spec })),
      }),
    ).nodes.get('node-1')!.config;
  const tails = (monitors: Partial<TrafficMonitorSpec>[]): Record<string, unknown> =>
    Object.fromEntries(config([ratio('0.05')], monitors).monitors.map(({ name, tail }) => [name, tail]));
  const ofPolicy = { ratio: '0.05', keepErrors: false };

  test.each<[string, Partial<TrafficMonitorSpec>, boolean]>([
    ['all, and leaves the choice to the agent', { ports, sampling: { ratio: '0.2', keepErrors: true } }, true],
    ['more than the policy', { ports, sampling: { ratio: '0.2' } }, true],
    ['as many as the policy', { ports }, false],
    ['more, on all ports', { sampling: { ratio: '1' } }, false],
    ['more, while it is suspended', { ports, sampling: { ratio: '1' }, suspend: true }, false],
  ])('the agent applies the ratio of the policies to the other ports if that monitor samples %s', (_how, spec, is) => {
    const rule = { namespaces: ['shop'], tail: ofPolicy };
    expect(config([ratio('0.05')], [spec]).fallback).toEqual(is ? [rule] : undefined);
    const capture = { mode: 'AllowList' as const };
    expect(config([{ capture, ...ratio('0.05') }], [spec]).fallback).toEqual(is ? [rule] : undefined);
  });

  test('only in its namespace, where the other rules of the policies still apply', () => {
    const both = { ...ratio('0.05'), defaults: { ...ratio('0.05').defaults, protocols: ['HTTP' as const] } };
    const sampled = { ports, sampling: { ratio: '1' } };
    const rules = { protocols: ['HTTP'] };
    expect(config([both], [sampled]).fallback).toEqual([{ namespaces: ['shop'], ...rules, tail: ofPolicy }, rules]);
    const critical = { namespaceSelector: { matchLabels: { tier: 'critical' } }, capture: { ports: [{ port: 1 }] } };
    expect(config([both, critical], [sampled]).fallback).toEqual([
      { namespaces: ['pay'], ...rules },
      { namespaces: ['shop'], ...rules, tail: ofPolicy },
    ]);
  });

  test('a policy that keeps failures, or everything, needs no such rule', () => {
    const failures: ClusterTrafficPolicySpec = { defaults: { sampling: { ratio: '0.05', keepErrors: true } } };
    const own = { ratio: '0.05', keepErrors: true };
    expect(config([failures], [{ ports }]).fallback).toEqual([{ tail: own }]);
    expect(config([ratio('1')], [{ ports, sampling: { ratio: '1', keepErrors: true } }]).fallback).toBeUndefined();
  });

  test('the agent applies the ratio of a weaker monitor, unless the two can share no pod', () => {
    const strong = { priority: 1, ports, sampling: { keepErrors: true } };
    const label = (app: string): Partial<TrafficMonitorSpec> => ({ selector: { matchLabels: { app } } });
    expect(tails([strong, {}])['m1']).toEqual(ofPolicy);
    expect(tails([{ ...strong, priority: -1 }, {}])).toMatchObject({ m1: undefined });
    expect(tails([{ ...strong, ...label('cart') }, label('checkout')])).toMatchObject({ m1: undefined });
    expect(tails([{ ...strong, ...label('checkout') }, label('checkout')])['m1']).toEqual(ofPolicy);
    expect(tails([strong, { sampling: { ratio: '1' } }])).toMatchObject({ m1: undefined });
  });
});

describe('flows', () => {
  const edge = { nodeSelector: { matchLabels: { pool: 'edge' } } };
  const on = { network: { enabled: true } };
  test.each<[string, Record<string, ClusterTrafficPolicySpec>, string, boolean]>([
    ['are off while no policy sets network', { p: { priority: 1 } }, 'NotEnabled', false],
    ['are on where a policy enables them', { p: on }, 'Enabled', true],
    ['are on where another policy of the nodes enables them', { p: { priority: 1 }, q: on }, 'Enabled', true],
    [
      'stay off under a policy that leaves enabled out',
      { p: { network: { direction: 'Ingress' } } },
      'NotEnabled',
      false,
    ],
    [
      'are off where the stronger policy switches them off',
      { p: { priority: 1, network: { enabled: false } }, q: on },
      'SwitchedOff',
      false,
    ],
    ['are off while the policy that enables them is paused', { p: { ...on, paused: true } }, 'Paused', false],
    ['are on for a part of the nodes in scope', { p: {}, q: { ...edge, ...on } }, 'PartlyEnabled', false],
  ])('%s', (_title, policies, state, onNode1) => {
    const result = compile(aWorld({ policies: Object.entries(policies).map(([name, spec]) => aPolicy(name, spec)) }));
    expect(result.policies.get('p')!.flows).toBe(state);
    expect(fileOf(result).metrics.features.includes('network')).toBe(onNode1);
  });
  test('are those of TCP unless a policy names protocols', () => {
    const protocols = (network: NonNullable<ClusterTrafficPolicySpec['network']>): unknown =>
      fileOf(compile(aWorld({ policies: [aPolicy('p', { network })] }))).network!['protocols'];
    expect(protocols({ enabled: true })).toEqual(['TCP']);
    expect(protocols({ enabled: true, protocols: ['UDP', 'TCP'] })).toEqual(['TCP', 'UDP']);
  });
});

describe('retention', () => {
  const retentionUnder = (retention: NonNullable<ClusterTrafficPolicySpec['retention']>) => {
    const result = compile(aWorld({ policies: [aPolicy('p', { retention })] }));
    return { config: result.nodes.get('node-1')!.config.retention, ...result.policies.get('p')!.accepted };
  };
  test('has only what a policy sets: a policy that sets the built-in value differs from one that sets none', () => {
    expect(retentionUnder({}).config).toEqual({ metrics: {}, spans: {} });
    expect(retentionUnder({ metrics: { time: '24h', size: '2Gi' } }).config.metrics).toEqual({
      timeMs: 24 * 3_600_000,
      sizeBytes: 2 * 1024 ** 3,
    });
  });
  test('of spans is lowered to what an agent can hold, and the condition of the policy says so', () => {
    expect(retentionUnder({ spans: { size: '65Mi' } })).toMatchObject({
      config: { spans: { sizeBytes: 64 * 1024 ** 2 } },
      ok: true,
      reason: 'LimitClamped',
      message: expect.stringMatching(/^spec\.retention\.spans\.size: 65Mi is lowered to 64Mi/) as string,
    });
    expect(retentionUnder({ spans: { size: '64Mi' } }).reason).toBe('Accepted');
  });
  test.each(['metrics', 'spans'] as const)(
    'of %s with a negative size is refused, and the compile goes on',
    (store) => {
      expect(retentionUnder({ [store]: { size: -1 } })).toEqual({
        config: { metrics: {}, spans: {} },
        ...{ ok: false, reason: 'Invalid' },
        message: `spec.retention.${store}.size: -1 is not a size such as 2Gi`,
      });
    },
  );
});

describe('sets, limits, exclusions', () => {
  test('protocols are united over the node, and each monitor keeps only its own', () => {
    const more = {
      policies: [aPolicy('p', { capture: { mode: 'AllowList' } })],
      monitors: [
        aMonitor('shop/a', { ...app('checkout'), protocols: ['SQL', 'HTTP'] }),
        aMonitor('shop/b', { ...app('cart'), protocols: ['Redis'] }),
      ],
    } as const;
    const result = compile(aWorld(more));
    expect(fileOf(result).otel_metrics_export.instrumentations).toEqual(['http', 'redis', 'sql']);
    expect(result.nodes.get('node-1')!.config.monitors.map((r) => r.protocols)).toEqual([['HTTP', 'SQL'], ['Redis']]);
  });
  test('pods without a monitor are captured with all protocols, so the union is all protocols', () => {
    const result = compile(aWorld({ monitors: [aMonitor('shop/a', { ...app('checkout'), protocols: ['DNS'] })] }));
    expect(fileOf(result).otel_metrics_export.instrumentations).toEqual(['*']);
    expect(fileOf(result).otel_traces_export.instrumentations).toContain('dns');
  });
  test('pods without a monitor keep to the defaults of the policy although a monitor asks for more', () => {
    const result = compile(
      aWorld({
        policies: [aPolicy('p', { defaults: { protocols: ['HTTP'] } })],
        monitors: [aMonitor('shop/a', { ...app('checkout'), protocols: ['SQL'] })],
      }),
    );
    expect(result.nodes.get('node-1')!.config.fallback).toEqual([{ protocols: ['HTTP'] }]);
  });
  test('TCP statistics are on only when a monitor wants them, and only that monitor keeps them', () => {
    const result = compile(
      aWorld({
        monitors: [
          aMonitor('shop/a', { ...app('checkout'), metrics: { families: ['HTTPServer', 'TCPStats'] } }),
          aMonitor('shop/b', app('cart')),
        ],
      }),
    );
    expect(fileOf(result).metrics.features).toEqual(['application', 'stats']);
    const [a, b] = result.nodes.get('node-1')!.config.monitors;
    expect(a!.families).toContain('TCPStats');
    expect(b!.families).not.toContain('TCPStats');
    expect(fileOf(compile(aWorld())).metrics.features).not.toContain('stats');
  });
  test.each<[string, ClusterTrafficPolicySpec, string[]]>([
    ['by port', {}, ['HTTPServer', 'HTTPClient', 'RPC', 'DB', 'Messaging', 'NetworkFlow']],
    [
      'under AllowList',
      { capture: { mode: 'AllowList' } },
      ['HTTPServer', 'HTTPClient', 'RPC', 'DB', 'Messaging', 'NetworkFlow'],
    ],
    [
      'under AllowList with defaults that monitors take them from',
      { capture: { mode: 'AllowList' }, defaults: { metrics: { families: ['TCPStats', 'HTTPServer'] } } },
      ['HTTPServer', 'NetworkFlow'],
    ],
  ])('pods without a monitor have no TCP statistics that a monitor asks for: %s', (_mode, policy, families) => {
    const asking = aMonitor('shop/a', { ...app('checkout'), metrics: { families: ['HTTPServer', 'TCPStats'] } });
    const result = compile(aWorld({ policies: [aPolicy('p', policy)], monitors: [asking] }));
    expect(result.nodes.get('node-1')!.config.fallback).toEqual([{ families }]);
  });
  test('families of a policy’s defaults do not decide about flows, which its network decides', () => {
    const fallback = (spec: ClusterTrafficPolicySpec) =>
      compile(aWorld({ policies: [aPolicy('p', { network: { enabled: true }, ...spec })] })).nodes.get('node-1')!.config
        .fallback;
    const defaults = { metrics: { families: ['HTTPServer' as const] } };
    expect(fallback({ defaults })).toEqual([{ families: ['HTTPServer', 'NetworkFlow'] }]);
    expect(fallback({ defaults: { signals: { metrics: 'Disabled' } } })).toEqual([{ families: [] }]);
  });
  test('under AllowList the defaults hold for what a process of a monitor does besides, as on another port', () => {
    const capture = { mode: 'AllowList' as const };
    const result = compile(aWorld({ policies: [aPolicy('p', { capture, defaults: { protocols: ['HTTP'] } })] }));
    expect(result.nodes.get('node-1')!.config.fallback).toEqual([{ protocols: ['HTTP'] }]);
  });
  test('the export interval is the shortest on the node; the agent thins out the samples of the others', () => {
    const more = {
      monitors: [
        aMonitor('shop/a', { ...app('checkout'), metrics: { interval: '5s' } }),
        aMonitor('shop/b', { ...app('cart'), metrics: { interval: '30s' } }),
      ],
    };
    expect(fileOf(compile(aWorld(more))).otel_metrics_export.interval).toBe('5s');
    expect(monitorRule(more, 0)!.intervalMs).toBeUndefined();
    expect(monitorRule(more, 1)!.intervalMs).toBe(30_000);
  });
  test('the instrument keeps a metric that no longer changes for two exports at least', () => {
    const exported = (exportInterval: string): unknown => {
      const result = compile(aWorld({ policies: [aPolicy('p', { instrument: { exportInterval } })] }));
      return fileOf(result).otel_metrics_export;
    };
    expect(exported('10s')).toMatchObject({ interval: '10s', ttl: '5m' });
    expect(exported('10m')).toMatchObject({ interval: '10m', ttl: '20m' });
  });

  test('of several limits the smallest holds, and the condition of a monitor that asks for more says so', () => {
    const more = {
      policies: [
        aPolicy('a', { limits: { maxSeriesPerNode: 500, maxSeriesPerMonitor: 100 } }),
        aPolicy('b', { priority: 5, limits: { maxSeriesPerNode: 900, maxSeriesPerMonitor: 300 } }),
      ],
      monitors: [aMonitor('shop/m', { ...app('checkout'), limits: { maxSeries: 5000 } })],
    };
    const result = compile(aWorld(more));
    expect(result.nodes.get('node-1')!.config.limits).toMatchObject({
      maxSeriesPerNode: 500,
      maxSeriesPerMonitor: 100,
    });
    expect(result.monitors.get('shop/m')!.accepted).toMatchObject({ ok: true, reason: 'LimitClamped' });
  });
  test('a monitor that names gRPC gets a note on what the instrument gets wrong about it', () => {
    const accepted = (spec: object) =>
      compile(aWorld({ monitors: [aMonitor('shop/m', { ...app('checkout'), ...spec })] })).monitors.get('shop/m')!
        .accepted;
    expect(accepted({ protocols: ['GRPC'] })).toMatchObject({ ok: true, reason: 'Accepted', message: grpcNote });
    expect(accepted({ protocols: ['HTTP'] })).toMatchObject({ ok: true, message: '' });
    expect(accepted({})).toMatchObject({ ok: true, message: '' });
  });
  test('an Exclude monitor excludes inside its own namespace only', () => {
    const result = compile(
      aWorld({ monitors: [aMonitor('shop/x', { mode: 'Exclude', selector: { matchLabels: { app: 'cart' } } })] }),
    );
    expect(fileOf(result).discovery.exclude_instrument).toEqual([
      { k8s_namespace: 'svc-system' },
      { k8s_namespace: 'shop', k8s_pod_labels: { app: 'cart' } },
    ]);
    expect(fileOf(result).discovery.instrument).toHaveLength(1);
  });
  test('exclusions of a policy of some namespaces stay inside them', () => {
    const spec: ClusterTrafficPolicySpec = {
      namespaceSelector: { matchLabels: { tier: 'critical' } },
      exclusions: [{ ports: [{ port: 22 }] }, { namespaces: ['shop'] }],
    };
    const result = compile(aWorld({ policies: [aPolicy('p', spec)] }));
    expect(fileOf(result).discovery.exclude_instrument).toEqual([
      { k8s_namespace: 'svc-system' },
      { k8s_namespace: 'pay', open_ports: '22' },
    ]);
  });
  test('a suspended monitor is in no file and no rule', () => {
    const result = compile(aWorld({ monitors: [aMonitor('shop/m', { ...app('checkout'), suspend: true })] }));
    expect(fileOf(result).discovery.instrument).toHaveLength(1);
    expect(result.nodes.get('node-1')!.config.monitors).toEqual([]);
  });
  test('label requirements that exclude each other select nothing at all', () => {
    const selector = {
      matchLabels: { app: 'a' },
      matchExpressions: [{ key: 'app', operator: 'In' as const, values: ['b'] }],
    };
    const result = compile(aWorld({ monitors: [aMonitor('shop/m', { selector })] }));
    expect(fileOf(result).discovery.instrument).toHaveLength(1);
    expect(result.monitors.get('shop/m')!.matchedPods).toBe(0);
  });
});

test('a pod that left lately is named by the rules of its node, but counts as no pod of the monitor', () => {
  const monitors = [aMonitor('shop/m', app('checkout'))];
  const pods = [aPod('shop/checkout-1', 'node-1')];
  const departed = [
    aPod('shop/checkout-3', 'node-3'),
    aPod('shop/checkout-0', 'node-1'),
    aPod('shop/cart-9', 'node-2'),
    aPod('pay/checkout-9', 'node-2'),
  ];
  const [before, result] = [compile(aWorld({ monitors, pods })), compile(aWorld({ monitors, pods, departed }))];
  const podsOn = (node: string) => result.nodes.get(node)!.config.monitors.map((rule) => rule.pods);
  expect(['node-1', 'node-2', 'node-3'].map(podsOn)).toEqual([[['checkout-0', 'checkout-1']], [], [['checkout-3']]]);
  expect(result.monitors).toEqual(before.monitors);
  expect(result.nodes.get('node-3')!.yamlHash).toBe(before.nodes.get('node-3')!.yamlHash);
});

test('a refused monitor counts in the policies that cover its namespace on some node', () => {
  const { policies } = compile(
    aWorld({
      policies: [
        aPolicy('all', {}),
        aPolicy('critical', { namespaceSelector: { matchLabels: { tier: 'critical' } } }),
        aPolicy('edge', { nodeSelector: { matchLabels: { pool: 'edge' } } }),
        aPolicy('nowhere', { nodeSelector: { matchLabels: { pool: 'none' } } }),
      ],
      monitors: [aMonitor('shop/refused', app('')), aMonitor('unlisted/refused', app(''))],
    }),
  );
  const rejected = [...policies].map(([name, { monitors }]) => [name, monitors.rejected]);
  expect(Object.fromEntries(rejected)).toEqual({ all: 2, critical: 0, edge: 2, nowhere: 0 });
});

describe('an installation in another namespace than svc-system', () => {
  const environment = { instrumentVersion: 'v0.10.0', ports: '80', namespace: 'observability' };
  const world = (more: Partial<CompileInput>): CompileInput =>
    aWorld({
      environment,
      namespaces: [aNamespace('observability'), aNamespace('shop'), aNamespace('svc-system')],
      ...more,
    });

  test('excludes its own namespace, as the seed of its agents does', () => {
    const seed = zeroConfig({ node: 'node-1', ...environment });
    const result = compile(world({}));
    expect(result.nodes.get('node-1')!.config).toEqual(seed);
    expect(fileOf(result).discovery.exclude_instrument).toEqual([{ k8s_namespace: 'observability' }]);
  });
  test('captures svc-system, but never its own namespace, where the base entries differ by namespace', () => {
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } };
    const policies = [aPolicy('p', { namespaceSelector, capture: { ports: [{ port: 7000 }] } })];
    const { instrument } = fileOf(compile(world({ policies }))).discovery;
    expect(instrument.map((e) => e['k8s_namespace'])).toEqual(['shop', 'svc-system']);
  });
  test('selects its own namespace when nothing is captured, and excludes it with systemNamespaces None', () => {
    const policies = [aPolicy('p', { systemNamespaces: 'None', capture: { mode: 'AllowList' } })];
    const { discovery } = fileOf(compile(world({ policies })));
    expect(discovery.instrument).toEqual([{ k8s_namespace: 'observability', exports: [] }]);
    expect(discovery).toMatchObject({ default_exclude_instrument: [{ k8s_namespace: 'observability' }] });
  });
  test('looks in its own namespace for the Secrets that policies name', () => {
    const endpoint = 'https://metrics.example/write';
    const item = { name: 'o', type: 'RemoteWrite' as const, endpoint, secretRef: { name: 's', key: 'k' } };
    const { config } = compile(world({ policies: [aPolicy('p', { export: [item] })] })).nodes.get('node-1')!;
    expect(config.exports).toMatchObject([{ secret: 'observability/s/k' }]);
  });
});

describe('pods', () => {
  test('pods that come and go never change the file, only the rules', () => {
    const monitors = [aMonitor('shop/m', app('checkout'))];
    const before = compile(aWorld({ monitors }));
    const after = compile(aWorld({ monitors, pods: [aPod('shop/checkout-9', 'node-3')] }));
    const files = (of: CompileResult): string[] => [...of.nodes.values()].map(({ yamlHash }) => yamlHash);
    expect(files(after)).toEqual(files(before));
    expect(before.nodes.get('node-1')!.config.monitors).toMatchObject([{ pods: ['checkout-1'] }]);
    expect(after.nodes.get('node-1')!.config.monitors).toEqual([]);
    expect(after.nodes.get('node-3')!.hash).not.toBe(before.nodes.get('node-3')!.hash);
  });
  test('a Deployment is found through the ReplicaSet that owns the pod', () => {
    const pods = [
      aPod('shop/checkout-6d4b9-x', 'node-1', {
        labels: { 'pod-template-hash': '6d4b9' },
        owner: { kind: 'ReplicaSet', name: 'checkout-6d4b9' },
      }),
    ];
    const by = (kind: 'Deployment' | 'ReplicaSet' | 'StatefulSet', name: string): number =>
      compile(aWorld({ pods, monitors: [aMonitor('shop/m', { workloads: [{ kind, name }] })] })).monitors.get('shop/m')!
        .matchedPods;
    expect([by('Deployment', 'check*'), by('ReplicaSet', 'checkout-6d4b9'), by('StatefulSet', '*')]).toEqual([1, 1, 0]);
  });
  test('the outcome has the matched pods and their nodes; containers narrow the match', () => {
    const result = compile(
      aWorld({
        monitors: [
          aMonitor('shop/m', app('checkout')),
          aMonitor('shop/sidecars', { selector: {}, containers: { include: ['envoy*'] } }),
        ],
      }),
    );
    expect(result.monitors.get('shop/m')).toMatchObject({ matchedPods: 2, nodes: ['node-1', 'node-2'] });
    expect(result.monitors.get('shop/sidecars')).toMatchObject({ matchedPods: 0, nodes: [] });
  });
});

import type { TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { aMonitor, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { parseCaptureConfig } from '../capture-config.ts';
import { hostMatches } from '../host-glob.ts';
import { compile, Compiler } from './compile.ts';
import { secretRefsOf } from './exports.ts';
import type { CompileInput } from './types.ts';

const checkout = { mode: 'Capture', selector: { matchLabels: { app: 'checkout' } } } satisfies TrafficMonitorSpec;
const remote = { name: 'mimir', type: 'RemoteWrite', endpoint: 'https://mimir.example.com/api/v1/push' } as const;
const withExport = (more: object = {}): TrafficMonitorSpec => ({ ...checkout, export: [{ ...remote, ...more }] });

test('the config has a monitor’s destination where a policy of its namespace allows the host', () => {
  const result = compile(
    aWorld({
      policies: [aPolicy('p', { exportAllowList: ['*.example.com', 'other.org'] })],
      monitors: [aMonitor('shop/m', withExport({ secretRef: { name: 's', key: 'token' }, labels: { team: 'a' } }))],
    }),
  );
  const { config } = result.nodes.get('node-1')!;
  expect(config.monitors[0]!.exports).toEqual([
    { ...remote, secret: 'shop/s/token', labels: { team: 'a' }, allow: ['*.example.com'] },
  ]);
  expect(secretRefsOf(config)).toEqual(['shop/s/token']);
  expect(parseCaptureConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
  expect(result.monitors.get('shop/m')!.exports).toEqual([
    { name: 'mimir', host: 'mimir.example.com', allowed: true, secret: 'shop/s/token' },
  ]);
});

test.each([
  ['no policy has an allow list', []],
  ['the allow list has other hosts', [aPolicy('p', { exportAllowList: ['*.example.org'] })]],
  [
    'the allow list is of another namespace',
    [aPolicy('p', { exportAllowList: ['*'], namespaceSelector: { matchLabels: { name: 'elsewhere' } } })],
  ],
])('nothing is sent where %s, and the outcome says so', (_, policies) => {
  const result = compile(aWorld({ policies, monitors: [aMonitor('shop/m', withExport())] }));
  expect(result.nodes.get('node-1')!.config.monitors[0]!.exports).toBeUndefined();
  expect(result.monitors.get('shop/m')!.exports).toEqual([
    { name: 'mimir', host: 'mimir.example.com', allowed: false },
  ]);
  expect(result.monitors.get('shop/m')!.accepted.ok).toBe(true);
});

test('a policy’s own destination needs no allow list, and its Secret is in the namespace of the operator', () => {
  const item = {
    name: 'o',
    type: 'OTLP',
    endpoint: 'https://otel.example.com',
    secretRef: { name: 's', key: 'k' },
  } as const;
  const { config } = compile(aWorld({ policies: [aPolicy('p', { export: [item] })] })).nodes.get('node-1')!;
  expect(config.exports).toEqual([
    { policy: 'p', name: 'o', type: 'OTLP', endpoint: item.endpoint, secret: 'svc-system/s/k', spans: true },
  ]);
});

test('spans are sent by OTLP, unless the monitor has switched them off', () => {
  const otlp = { name: 'o', type: 'OTLP', endpoint: 'https://o.example.com' } as const;
  const spansOf = (spec: TrafficMonitorSpec): boolean | undefined =>
    compile(
      aWorld({ policies: [aPolicy('p', { exportAllowList: ['*'] })], monitors: [aMonitor('shop/m', spec)] }),
    ).nodes.get('node-1')!.config.monitors[0]!.exports![0]!.spans;
  expect(spansOf({ ...checkout, export: [otlp] })).toBe(true);
  expect(spansOf({ ...checkout, export: [otlp], signals: { spans: 'Disabled' } })).toBeUndefined();
  expect(spansOf(withExport())).toBeUndefined();
});

const allowed = aPolicy('p', { exportAllowList: ['*'] });
const moved = { pods: [aPod('shop/checkout-1', 'node-2')] };
const unsentOnNode1 = (...names: string[]): NonNullable<CompileInput['unsent']> =>
  new Map([['node-1', names.map((name) => ({ owner: 'TrafficMonitor/shop/m', name }))]]);

test('where the last pod has left, a node keeps those destinations of its monitor that it has unsent data for', () => {
  const compiler = new Compiler();
  const other = { ...remote, name: 'other', secretRef: { name: 's', key: 'token' } };
  const monitors = [aMonitor('shop/m', { ...checkout, export: [remote, other] })];
  const kept = (more: Partial<CompileInput>): object[] => {
    const input = aWorld({ policies: [allowed], monitors, ...moved, ...more });
    const result = compiler.compile(input);
    expect([...result.nodes].map(([name, { json }]) => [name, json()])).toEqual(
      [...compile(input).nodes].map(([name, { json }]) => [name, json()]),
    );
    const { config } = result.nodes.get('node-1')!;
    expect(parseCaptureConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
    return config.monitors;
  };
  const ofMonitor = { namespace: 'shop', name: 'm', uid: 'uid-m', pods: [] };
  const [first, second] = [
    { ...remote, allow: ['*'] },
    { ...remote, name: 'other', secret: 'shop/s/token', allow: ['*'] },
  ];
  expect(kept({})).toEqual([]);
  expect(kept({ unsent: unsentOnNode1('mimir', 'other') })).toEqual([{ ...ofMonitor, exports: [first, second] }]);
  expect(kept({ unsent: unsentOnNode1('other') })).toEqual([{ ...ofMonitor, exports: [second] }]);
  expect(kept({ unsent: unsentOnNode1() })).toEqual([]);
  expect(kept({ unsent: unsentOnNode1('mimir'), monitors: [] })).toEqual([]);
  expect(kept({ unsent: unsentOnNode1('mimir'), policies: [] })).toEqual([]);
});

test.each([
  ['its policy is paused', { policies: [aPolicy('p', { exportAllowList: ['*'], paused: true })] }],
  ['it is suspended', { monitors: [aMonitor('shop/m', { ...withExport(), suspend: true })] }],
])('a node keeps the destination of a monitor with unsent data while %s, and captures nothing for it', (_, change) => {
  const world = aWorld({ policies: [allowed], monitors: [aMonitor('shop/m', withExport())], ...change });
  const rulesOf = (input: CompileInput): object[] => compile(input).nodes.get('node-1')!.config.monitors;
  expect(rulesOf(world)).toEqual([]);
  expect(rulesOf({ ...world, unsent: unsentOnNode1('mimir') })).toMatchObject([
    { name: 'm', pods: [], exports: [{ name: 'mimir' }] },
  ]);
  const both = [world, { ...world, unsent: unsentOnNode1('mimir') }].map((input) => compile(input));
  expect(both[1]!.nodes.get('node-1')!.yamlHash).toBe(both[0]!.nodes.get('node-1')!.yamlHash);
});

test('unsent data changes nothing on a node with pods of its monitor, whose rule is the same object as before', () => {
  const compiler = new Compiler();
  const world = aWorld({ policies: [allowed], monitors: [aMonitor('shop/m', withExport())] });
  const before = compiler.compile(world).nodes.get('node-1');
  expect(compiler.compile({ ...world, unsent: unsentOnNode1('mimir') }).nodes.get('node-1')).toBe(before);
});

test('a changed destination does not change the instrument’s file', () => {
  const yamlOf = (spec: TrafficMonitorSpec): string =>
    compile(
      aWorld({ policies: [aPolicy('p', { exportAllowList: ['*'] })], monitors: [aMonitor('shop/m', spec)] }),
    ).nodes.get('node-1')!.yamlHash;
  expect(yamlOf(withExport())).toBe(yamlOf(checkout));
});

test.each([
  ['*.example.com', 'a.b.example.com', true],
  ['*.example.com', 'example.com', false],
  ['*.example.com', 'example.com.evil.net', false],
  ['Mimir.Example.com', 'mimir.example.COM', true],
  ['a.b', 'axb', false],
  ['m?', 'm1', true],
])('the glob %s matches the host %s: %s', (glob, host, matches) => {
  expect(hostMatches(glob, host)).toBe(matches);
});

test('of many globs that allow a host, the config has as many as an agent takes', () => {
  const globs = Array.from({ length: 300 }, (_, i) => {
    const text = [...'examplecom'].map((letter, at) => ((i >> at) & 1 ? '?' : letter)).join('');
    return `*.${text.slice(0, 7)}.${text.slice(7)}`;
  });
  const policies = Array.from({ length: 10 }, (_, i) =>
    aPolicy(`p${i}`, { exportAllowList: globs.slice(i * 30, i * 30 + 30) }),
  );
  const { config } = compile(aWorld({ policies, monitors: [aMonitor('shop/m', withExport())] })).nodes.get('node-1')!;
  expect(config.monitors[0]!.exports![0]!.allow).toHaveLength(256);
  expect(() => parseCaptureConfig(config)).not.toThrow();
});

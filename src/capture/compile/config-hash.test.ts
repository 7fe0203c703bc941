import type { ClusterTrafficPolicySpec, TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { aMonitor, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { compile } from './compile.ts';
import type { CompileInput } from './types.ts';

const checkout: TrafficMonitorSpec = {
  mode: 'Capture',
  selector: { matchLabels: { app: 'checkout' } },
  export: [{ name: 'long', type: 'RemoteWrite', endpoint: 'https://store.example.com/push' }],
};
const hashes = (more: Partial<CompileInput>) => {
  const { policies, monitors, nodes } = compile(aWorld(more));
  return {
    policy: policies.get('p')?.configHash,
    monitor: monitors.get('shop/m')?.configHash,
    sent: nodes.get('node-1')!.hash,
    file: nodes.get('node-1')!.yamlHash,
  };
};

describe("a policy's hash changes with", () => {
  const base: ClusterTrafficPolicySpec = { capture: { mode: 'AllowList' } };
  const under = (spec: ClusterTrafficPolicySpec) =>
    hashes({ policies: [aPolicy('p', { ...base, ...spec })], monitors: [aMonitor('shop/m', checkout)] });

  test.each<[string, ClusterTrafficPolicySpec]>([
    ['destinations', { export: [{ name: 'long', type: 'OTLP', endpoint: 'https://otlp.example.com' }] }],
    ['redaction', { redaction: { dropClientAddress: false } }],
    ['bounds of histograms', { http: { histogram: { durationBuckets: ['10ms', '1s'] } } }],
    ['limits', { limits: { maxSeriesPerNode: 5 } }],
    ['retention', { retention: { metrics: { time: '1h' } } }],
    ['rules for pods without a monitor', { capture: {}, defaults: { metrics: { labels: { exclude: ['route'] } } } }],
    ['rules of its monitors', { overrides: { metrics: { labels: { exclude: ['route'] } } } }],
    ['destinations that it allows to monitors', { exportAllowList: ['*.example.com'] }],
    ["the instrument's file", { network: { enabled: true } }],
  ])('%s', (_what, spec) => {
    const [before, after] = [under({}), under(spec)];
    expect(after.sent).not.toBe(before.sent);
    expect(after.policy).not.toBe(before.policy);
  });

  test('an edit of a rule of a monitor in its scope', () => {
    const policies = [aPolicy('p', base)];
    const before = hashes({ policies, monitors: [aMonitor('shop/m', checkout)] });
    const after = hashes({ policies, monitors: [aMonitor('shop/m', { ...checkout, limits: { maxSeries: 7 } })] });
    expect(after.file).toBe(before.file);
    expect(after.policy).not.toBe(before.policy);
  });
});

describe('hashes stay the same', () => {
  const edge = { matchLabels: { pool: 'edge' } };
  const policies = [aPolicy('p', {}), aPolicy('q', { nodeSelector: edge, limits: { maxSeriesPerNode: 5 } })];
  const monitors = [aMonitor('shop/m', checkout)];
  const pods = [aPod('shop/checkout-1', 'node-1'), aPod('shop/checkout-2', 'node-3')];
  const nodes = aWorld().nodes;
  const { policy, monitor } = hashes({ policies, monitors, pods });

  test.each<[string, Partial<CompileInput>]>([
    [
      'when a new generation changes nothing',
      { policies: policies.map((o) => aPolicy(o.metadata.name!, o.spec, { generation: 9 })) },
    ],
    [
      'when a suspended monitor comes',
      { monitors: [...monitors, aMonitor('pay/off', { selector: {}, suspend: true })] },
    ],
    ['when a pod comes', { pods: [...pods, aPod('shop/checkout-3', 'node-2')] }],
    ['when nodes come', { nodes: [{ name: 'a', labels: { pool: 'edge' } }, ...nodes, { name: 'z', labels: {} }] }],
    ['when a pod is on nodes of one pool only', { pods: pods.slice(0, 1) }],
  ])('%s', (_when, more) => {
    expect(hashes({ policies, monitors, pods, ...more })).toMatchObject({ policy, monitor });
  });
});

test('a monitor with mode Exclude gets another hash when it is suspended', () => {
  const exclude = (suspend: boolean) =>
    hashes({ monitors: [aMonitor('shop/m', { mode: 'Exclude', selector: {}, suspend })] });
  expect(exclude(true).file).not.toBe(exclude(false).file);
  expect(exclude(true).monitor).not.toBe(exclude(false).monitor);
});

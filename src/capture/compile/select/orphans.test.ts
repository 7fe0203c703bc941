import type {
  ClusterTrafficPolicy,
  ClusterTrafficPolicySpec,
  TrafficMonitor,
  TrafficMonitorSpec,
} from '../../../api/v1alpha1/index.ts';
import { aMonitor, aPolicy } from '../../../testing/capture/world.ts';
import { orphanedMonitors, type CaptureObjects } from './orphans.ts';

const policy = (spec: ClusterTrafficPolicySpec, name = 'new'): ClusterTrafficPolicy => aPolicy(name, spec);
const monitor = (spec: Partial<TrafficMonitorSpec> = {}, name = 'checkout'): TrafficMonitor =>
  aMonitor(`shop/${name}`, { selector: {}, ...spec });
const objects = (over: Partial<CaptureObjects> = {}): CaptureObjects => ({
  policies: [],
  monitors: [monitor()],
  namespaces: [{ name: 'shop', labels: { team: 'red' } }],
  nodes: [
    { name: 'n1', labels: { pool: 'a' } },
    { name: 'n2', labels: { pool: 'b' } },
  ],
  environment: { instrumentVersion: 'v0.10.0' },
  ...over,
});
const off = { signals: { metrics: 'Disabled', spans: 'Disabled' } } as const;

test.each<[string, TrafficMonitor, ClusterTrafficPolicySpec, string | undefined]>([
  ['overrides switch off both signals', monitor(), { overrides: off }, 'neither metrics nor spans'],
  ['overrides leave one signal', monitor(), { overrides: { signals: { spans: 'Disabled' } } }, undefined],
  [
    'defaults switch off, the monitor may switch on',
    monitor({ signals: { metrics: 'Enabled' } }),
    { defaults: off },
    undefined,
  ],
  [
    'overrides leave none of the protocols',
    monitor({ protocols: ['Redis'] }),
    { overrides: { protocols: ['HTTP'] } },
    'none of Redis',
  ],
  [
    'overrides leave one of the protocols',
    monitor({ protocols: ['Redis', 'HTTP'] }),
    { overrides: { protocols: ['HTTP'] } },
    undefined,
  ],
  ['overrides narrow a monitor without protocols', monitor(), { overrides: { protocols: ['HTTP'] } }, undefined],
  [
    'overrides leave none of the families, but spans stay on',
    monitor({ metrics: { families: ['DB'] } }),
    { overrides: { metrics: { families: ['HTTPServer'] } } },
    undefined,
  ],
  [
    'overrides leave none of the families, and spans are off',
    monitor({ metrics: { families: ['DB'] }, signals: { spans: 'Disabled' } }),
    { overrides: { metrics: { families: ['HTTPServer'] } } },
    'none of DB',
  ],
  [
    'the policy allows no monitors in its namespace',
    monitor(),
    { monitorNamespaces: { matchLabels: { team: 'blue' } } },
    'may not have monitors',
  ],
  [
    'the policy is for other namespaces',
    monitor(),
    { namespaceSelector: { matchLabels: { team: 'blue' } }, overrides: off },
    undefined,
  ],
  [
    'the policy is for some of the nodes',
    monitor(),
    { nodeSelector: { matchLabels: { pool: 'a' } }, overrides: off },
    undefined,
  ],
  ['the monitor excludes pods', monitor({ mode: 'Exclude' }), { overrides: off }, undefined],
  ['the monitor is suspended', monitor({ suspend: true }), { overrides: off }, undefined],
])('whether a new policy ends the capture of a monitor: %s', (_name, one, spec, reason) => {
  const found = orphanedMonitors(objects({ monitors: [one] }), policy(spec));
  expect(found).toEqual(reason ? [{ monitor: 'shop/checkout', reason: expect.stringContaining(reason) }] : []);
});

test('a stronger policy decides, and a monitor that captured nothing before is not reported', () => {
  const strong = policy({ priority: 10, overrides: { signals: { metrics: 'Enabled', spans: 'Enabled' } } }, 'strong');
  expect(orphanedMonitors(objects({ policies: [strong] }), policy({ overrides: off }))).toEqual([]);
  const already = policy({ overrides: off }, 'already');
  expect(orphanedMonitors(objects({ policies: [already] }), policy({ overrides: off }))).toEqual([]);
  expect(orphanedMonitors(objects({ policies: [policy({})] }), policy({ overrides: off }))).toHaveLength(1);
});

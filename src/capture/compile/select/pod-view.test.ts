import { aMonitor, aNamespace, aPod, aPolicy, aWorld } from '../../../testing/capture/world.ts';
import { podView, type PodView } from './pod-view.ts';
import type { CompileInput } from '../types.ts';

const checkout = aPod('shop/checkout-1', 'node-1', {
  owner: { kind: 'ReplicaSet', name: 'checkout-7d4' },
  labels: { app: 'checkout', 'pod-template-hash': '7d4' },
});
const view = (more: Partial<CompileInput> = {}, pod = checkout): PodView => podView(aWorld(more), pod);
const setting = (of: PodView, path: string) => of.settings.find((s) => s.path === path);

test('without any policy or monitor the built-in ports apply', () => {
  expect(view()).toMatchObject({
    policies: [],
    base: { mode: 'ByPort', ports: '80,443,8080,8443', by: null },
    ports: '80,443,8080,8443',
    exclusions: [],
    monitors: [],
  });
});

test('for a policy that does not apply, the view says which of its selectors leaves the pod out', () => {
  const found = view({
    policies: [
      aPolicy('all', { priority: 1 }),
      aPolicy('edge', { nodeSelector: { matchLabels: { pool: 'edge' } } }),
      aPolicy('critical', { namespaceSelector: { matchLabels: { tier: 'critical' } } }),
    ],
  });
  expect(found.policies).toEqual(['all']);
  expect(found.otherPolicies).toEqual([
    { name: 'critical', why: 'namespaceSelector leaves out namespace shop' },
    { name: 'edge', why: 'nodeSelector leaves out node node-1' },
  ]);
});

test('monitors come strongest first; for the others, the view says which field leaves the pod out', () => {
  const found = view({
    monitors: [
      aMonitor('shop/whole', { selector: {}, ports: [{ port: 9000 }] }),
      aMonitor('shop/labels', { selector: { matchLabels: { app: 'checkout' } }, ports: [{ port: 9100 }] }),
      aMonitor('shop/cart', { selector: { matchLabels: { app: 'cart' } } }),
      aMonitor('shop/tier', { selector: { matchExpressions: [{ key: 'tier', operator: 'In', values: ['web'] }] } }),
      aMonitor('shop/member', { selector: { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] } }),
      aMonitor('shop/sets', { workloads: [{ kind: 'StatefulSet', name: '*' }] }),
      aMonitor('shop/named', { workloads: [{ kind: 'Deployment', name: 'cart*' }] }),
      aMonitor('shop/sidecar', { selector: {}, containers: { include: ['envoy'] } }),
      aMonitor('shop/asleep', { selector: {}, suspend: true }),
      aMonitor('pay/other', { selector: {} }),
    ],
  });
  expect(found.monitors).toEqual([
    { path: 'shop/labels', ports: '9100' },
    { path: 'shop/whole', ports: '9000' },
  ]);
  expect(found.ports).toBe('80,443,8080,8443,9000,9100');
  expect(found.otherMonitors.map(({ path, why }) => `${path}: ${why}`).toSorted()).toEqual([
    'shop/asleep: is suspended',
    'shop/cart: selector wants label app=cart, the pod has app=checkout',
    'shop/member: selector wants constructor Exists, the pod has no label constructor',
    'shop/named: workloads has Deployment/cart*, the pod is of Deployment/checkout',
    'shop/sets: workloads has StatefulSet/*, the pod is of none of these kinds',
    'shop/sidecar: containers.include has envoy, the pod has main',
    'shop/tier: selector wants tier In (web), the pod has no label tier',
  ]);
});

test('each setting names the object that it comes from', () => {
  const found = view({
    policies: [
      aPolicy('platform', {
        overrides: { sampling: { ratio: '0.1' } },
        defaults: { protocols: ['HTTP'] },
        limits: { maxSeriesPerMonitor: 500 },
      }),
    ],
    monitors: [
      aMonitor('shop/m', { selector: {}, sampling: { ratio: '0.5', keepErrors: true }, limits: { maxSeries: 900 } }),
    ],
  });
  expect(setting(found, 'sampling.ratio')).toMatchObject({
    value: '0.1',
    from: 'ClusterTrafficPolicy/platform (overrides)',
  });
  expect(setting(found, 'protocols')).toMatchObject({
    value: ['HTTP'],
    from: 'ClusterTrafficPolicy/platform (defaults)',
  });
  expect(setting(found, 'sampling.keepErrors')).toMatchObject({ value: true, from: 'TrafficMonitor/shop/m' });
  expect(setting(found, 'signals.spans')).toMatchObject({ value: undefined, from: 'built-in' });
  expect(setting(found, 'limits.maxSeries')).toMatchObject({
    value: 500,
    from: 'ClusterTrafficPolicy/platform (limits)',
  });
});

test('a policy of some namespaces cannot raise a ceiling of all namespaces; a policy of all namespaces can', () => {
  const limits = { maxSeriesPerMonitor: 50_000 };
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } };
  const found = (policy: object) =>
    setting(view({ policies: [aPolicy('p', { limits, ...policy })] }), 'limits.maxSeries');
  expect(found({ namespaceSelector })).toMatchObject({ value: 10_000, from: 'built-in' });
  expect(found({})).toMatchObject({ value: 50_000, from: 'ClusterTrafficPolicy/p (limits)' });
});

test('without a monitor, the view names the policy that sets the ports (ByPort), else the policy that sets the mode', () => {
  const ports = aPolicy('ports', { priority: 9, capture: { ports: [{ port: 1 }] } });
  const mode = (of: 'AllowList' | 'ByPort') => aPolicy('mode', { capture: { mode: of } });
  const by = (of: 'AllowList' | 'ByPort') => view({ policies: [ports, mode(of)] }).base.by;
  expect([by('AllowList'), by('ByPort')]).toEqual(['mode', 'ports']);
});

test('every source that excludes a pod is named: policies, monitors, the product and the instrument', () => {
  const policies = [
    aPolicy('p', {
      exclusions: [
        { namespaces: ['sh*'], ports: [{ port: 9000 }] },
        { podLabels: { app: 'check*' } },
        { podLabels: { constructor: '*' } },
        { workloads: [{ kind: 'Deployment', name: 'cart' }] },
      ],
    }),
  ];
  const monitors = [aMonitor('shop/not', { mode: 'Exclude', workloads: [{ kind: 'Deployment', name: 'checkout' }] })];
  expect(view({ policies, monitors }).exclusions).toEqual([
    { by: 'ClusterTrafficPolicy/p', ports: '9000' },
    { by: 'ClusterTrafficPolicy/p' },
    { by: 'TrafficMonitor/shop/not' },
  ]);
  expect(view({}, aPod('svc-system/x', 'node-1')).exclusions[0]?.by).toMatch(/the product itself/);
  const elsewhere = { environment: { ...aWorld().environment, namespace: 'observability' } };
  expect(view(elsewhere, aPod('svc-system/x', 'node-1')).exclusions).toEqual([]);
  expect(view(elsewhere, aPod('observability/x', 'node-1')).exclusions).toEqual([
    { by: 'the product itself: it never captures observability' },
  ]);
  const system = { namespaces: [aNamespace('kube-system')] };
  expect(view(system, aPod('kube-system/dns', 'node-1')).exclusions[0]?.by).toMatch(/the instrument's own list/);
  const opened = { ...system, policies: [aPolicy('p', { systemNamespaces: 'None' as const })] };
  expect(view(opened, aPod('kube-system/dns', 'node-1')).exclusions).toEqual([]);
});

test('an exclusion of one container of a pod names the container, and one of all of its containers does not', () => {
  const not = aMonitor('shop/not', { mode: 'Exclude', selector: {}, containers: { include: ['envoy*', 'side'] } });
  const found = (...containers: string[]) => view({ monitors: [not] }, { ...checkout, containers }).exclusions;
  const by = 'TrafficMonitor/shop/not';
  expect(found('main', 'envoy-1')).toEqual([{ by, containers: ['envoy-1'] }]);
  expect(found('envoy-1', 'side')).toEqual([{ by }]);
  expect(found('main')).toEqual([]);
});

test('a paused policy leaves no port; mode All and a monitor without ports leave every port', () => {
  expect(view({ policies: [aPolicy('p', { paused: true })] })).toMatchObject({ pausedBy: 'p', ports: '' });
  expect(view({ policies: [aPolicy('p', { capture: { mode: 'All' } })] }).ports).toBeNull();
  expect(view({ monitors: [aMonitor('shop/m', { selector: {} })] }).ports).toBeNull();
  expect(view({ policies: [aPolicy('p', { capture: { mode: 'AllowList' } })] })).toMatchObject({
    ports: '',
    base: { mode: 'AllowList', ports: null, by: 'p' },
  });
});

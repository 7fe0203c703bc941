import { aMonitor, aNamespace, aPod, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { compile } from './compile.ts';
import type { CompileInput, MonitorOutcome } from './types.ts';

/** What excludes pods of the monitor `m` of a namespace. */
function excluded(more: Partial<CompileInput>, namespace = 'shop'): MonitorOutcome['excluded'] {
  const monitors = [aMonitor(`${namespace}/m`, { selector: {} }), ...(more.monitors ?? [])];
  return compile(aWorld({ ...more, monitors })).monitors.get(`${namespace}/m`)!.excluded;
}
const list = "the instrument's own list of system namespaces (systemNamespaces: Inherit)";

test.each(['monitoring', 'cert-manager', 'gke-managed'])(
  'the pods of a monitor in %s are excluded by the list of the instrument, unless a policy of their node opens it',
  (namespace) => {
    const world = {
      namespaces: [aNamespace(namespace)],
      pods: [aPod(`${namespace}/a-1`, 'node-1'), aPod(`${namespace}/a-2`, 'node-3')],
    };
    expect(excluded(world, namespace)).toEqual({ pods: 2, by: [list] });
    const open = aPolicy('open', { systemNamespaces: 'None' });
    expect(excluded({ ...world, policies: [open] }, namespace)).toBeUndefined();
    const edge = aPolicy('open', { systemNamespaces: 'None', nodeSelector: { matchLabels: { pool: 'edge' } } });
    expect(excluded({ ...world, policies: [edge] }, namespace)).toEqual({ pods: 1, by: [list] });
  },
);

test('a pod counts as excluded if an exclusion of a policy or a monitor that excludes takes all of its processes', () => {
  const policy = aPolicy('p', {
    exclusions: [{ podLabels: { app: 'cart' } }, { namespaces: ['pay'] }, { workloads: [{ kind: 'Pod', name: 'x' }] }],
  });
  expect(excluded({ policies: [policy] })).toEqual({ pods: 1, by: ['ClusterTrafficPolicy/p'] });
  const not = aMonitor('shop/not', { mode: 'Exclude', selector: { matchLabels: { app: 'checkout' } } });
  const found = { pods: 3, by: ['ClusterTrafficPolicy/p', 'TrafficMonitor/shop/not'] };
  expect(excluded({ policies: [policy], monitors: [not] })).toEqual(found);
  const asleep = aMonitor('shop/not', { mode: 'Exclude', selector: {}, suspend: true });
  expect(excluded({ monitors: [asleep] })).toBeUndefined();
});

test('a pod does not count as excluded for some of its processes: those with a port, an executable or a container', () => {
  const policy = aPolicy('p', { exclusions: [{ ports: [{ port: 80 }] }, { executables: ['*/curl'] }] });
  const not = aMonitor('shop/not', { mode: 'Exclude', selector: {}, containers: { include: ['envoy'] } });
  const inContainers = (...containers: string[]) =>
    excluded({ policies: [policy], monitors: [not], pods: [aPod('shop/a-1', 'node-1', { containers })] });
  expect(inContainers('main', 'envoy')).toBeUndefined();
  expect(inContainers('envoy')).toEqual({ pods: 1, by: ['TrafficMonitor/shop/not'] });
});

test('a policy excludes pods on its nodes and in its namespaces only', () => {
  const exclusions = [{ namespaces: ['*'] }];
  const by = { by: ['ClusterTrafficPolicy/p'] };
  const core = aPolicy('p', { exclusions, nodeSelector: { matchLabels: { pool: 'edge' } } });
  const pods = [aPod('shop/a-1', 'node-1'), aPod('shop/a-2', 'node-3'), aPod('shop/a-3', 'unknown')];
  expect(excluded({ policies: [core], pods })).toEqual({ pods: 1, ...by });
  const critical = aPolicy('p', { exclusions, namespaceSelector: { matchLabels: { tier: 'critical' } } });
  expect(excluded({ policies: [critical] })).toBeUndefined();
  expect(excluded({ policies: [critical] }, 'pay')).toEqual({ pods: 1, ...by });
});

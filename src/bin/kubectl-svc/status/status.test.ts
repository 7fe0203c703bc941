import {
  clusterTrafficPolicyConditions,
  minterDeploymentConditions,
  trafficMonitorConditions,
} from '../../../api/v1alpha1/index.ts';
import type { KubeObject } from '../../../api/meta.ts';
import { issueLeaf, createCa } from '../../../net/ca.ts';
import { aComponentPod, aCondition, aNode, anObject, aView, viewTime } from '../../../testing/capture/cluster-view.ts';
import { aMonitor, aPolicy } from '../../../testing/capture/world.ts';
import { expectGolden } from '../../../testing/golden.ts';
import type { ClusterView } from '../cluster/view.ts';
import { styles } from '../output/style.ts';
import { isWell } from './check.ts';
import { ways } from './hints.ts';
import { nodeRows } from './node-rows.ts';
import { part, statusParts } from './parts.ts';
import { isGood } from './readiness.ts';
import { nodeTable, reportText } from './render.ts';
import { statusReport } from './report.ts';

const plain = styles({ isTerminal: false }, {});
const golden = (name: string, text: string): void => expectGolden(import.meta.dirname, name, text);

const readyMonitor = aMonitor(
  'shop/checkout',
  { selector: {} },
  {
    status: {
      observedGeneration: 1,
      matchedPods: 2,
      nodes: { desired: 1, updated: 1, capturing: 1, failed: 0 },
      activeSeries: 44,
      conditions: [
        aCondition('Ready', 'True', 'Ready'),
        aCondition('Accepted', 'True', 'Accepted'),
        aCondition('Programmed', 'True', 'Programmed', '1/1 nodes run generation 1'),
        aCondition('Capturing', 'True', 'TrafficSeen'),
        aCondition('Conflicted', 'False', 'NoConflicts'),
      ],
    } as never,
  },
);

const monitorWith = (path: string, conditions: object[], more: object = {}): typeof readyMonitor =>
  aMonitor(path, { selector: {} }, { status: { observedGeneration: 1, conditions, ...more } as never });

const lines = (view: ClusterView): string[] => reportText(statusReport(view), plain).split('\n');
const lineOf = (view: ClusterView, start: string): string =>
  lines(view).find((l) => l.trim().slice(2).startsWith(start)) ?? 'none';
const objects = (...items: object[]) => ({ items: items as never[] });

test('the report of a healthy cluster says so, and what was checked', () => {
  const view = aView({
    monitors: objects(readyMonitor),
    policies: objects(
      aPolicy(
        'default',
        {},
        {
          status: {
            observedGeneration: 1,
            nodes: { desired: 2, updated: 2, ready: 2, failed: 0, outdated: 0 },
            conditions: [
              aCondition('Ready', 'True', 'Ready'),
              aCondition('CertificateExpiring', 'False', 'CertificatesValid'),
            ],
          } as never,
        },
      ),
    ),
  });
  expect(statusReport(view).well).toBe(true);
  golden('well.txt', reportText(statusReport(view), plain));
});

test('the report of a faulty cluster names each fault with a hint', () => {
  const crash = {
    name: 'instrument',
    ready: false,
    restartCount: 4,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: {
      terminated: {
        exitCode: 1,
        reason: 'Error',
        message: 'time=x level=ERROR msg="the following capabilities are required: CAP_BPF, CAP_PERFMON"',
      },
    },
  };
  const view = aView({
    crds: { items: [] },
    nodes: objects(aNode('node-1'), aNode('node-2'), aNode('node-3'), aNode('node-4', {}, 'Unknown')),
    pods: objects(
      aComponentPod('agent', 'svc-agent-a', 'node-1'),
      aComponentPod('agent', 'svc-agent-b', 'node-2', {
        status: { phase: 'Running', conditions: [], containerStatuses: [crash] },
      }),
      aComponentPod('query', 'svc-query-a', 'node-1', {
        status: {
          phase: 'Pending',
          containerStatuses: [
            { name: 'query', image: 'nowhere/svc:1', state: { waiting: { reason: 'ImagePullBackOff' } } },
          ],
        },
      }),
    ),
    daemonSets: objects(
      anObject('apps/v1', 'DaemonSet', 'svc-system/svc-agent', {
        status: { observedGeneration: 1, desiredNumberScheduled: 3, numberReady: 1, updatedNumberScheduled: 2 },
      }),
    ),
    leases: objects(
      anObject('coordination.k8s.io/v1', 'Lease', 'svc-system/svc-controller', {
        spec: { holderIdentity: 'svc-controller-a_1', renewTime: '2026-06-01T11:00:00Z', leaseDurationSeconds: 15 },
      }),
    ),
    apiServices: objects(
      anObject('apiregistration.k8s.io/v1', 'APIService', 'v1beta1.custom.metrics.k8s.io', {
        spec: { service: { name: 'prometheus-adapter', namespace: 'monitoring' } },
      }),
      anObject('apiregistration.k8s.io/v1', 'APIService', 'v1beta1.external.metrics.k8s.io', {
        spec: { service: { name: 'svc-query', namespace: 'svc-system' } },
        status: { conditions: [{ type: 'Available', status: 'False', message: 'no endpoints' }] },
      }),
    ),
    monitors: objects(
      monitorWith('shop/bad', [
        aCondition('Ready', 'False', 'Invalid', 'spec.export[0].endpoint: no host'),
        aCondition('Accepted', 'False', 'Invalid', 'spec.export[0].endpoint: no host'),
        aCondition('Stalled', 'True', 'Invalid', 'spec.export[0].endpoint: no host'),
      ]),
      { ...readyMonitor, metadata: { ...readyMonitor.metadata, name: 'edited', generation: 2 } },
      monitorWith('shop/quiet', [
        aCondition('Ready', 'True', 'Ready'),
        aCondition('Capturing', 'False', 'NoTraffic', 'no sample'),
      ]),
      monitorWith('shop/excluded', [
        aCondition('Ready', 'True', 'Ready'),
        aCondition('Capturing', 'False', 'Excluded', 'none of the 3 matched pods is captured; excluded by X'),
      ]),
      monitorWith('shop/weaker', [
        aCondition('Ready', 'True', 'Ready'),
        aCondition('Conflicted', 'True', 'OverriddenByMonitor', 'sampling.ratio: TrafficMonitor/shop/a'),
      ]),
      monitorWith(
        'shop/failing',
        [
          aCondition('Ready', 'False', 'NodesFailed', '0/1 nodes run generation 1'),
          aCondition('Programmed', 'False', 'NodesFailed', '0/1 nodes run generation 1'),
        ],
        {
          failedNodes: [
            { name: 'node-1', reason: 'OutOfMemory', message: 'the instrument was ended at its memory limit' },
          ],
        },
      ),
    ),
    events: objects(
      anObject('events.k8s.io/v1', 'Event', 'shop/e1', {
        type: 'Warning',
        reason: 'Invalid',
        note: 'spec.export[0].endpoint:\nno host',
        eventTime: '2026-06-01T11:55:00Z',
        regarding: { apiVersion: 'svc.dev/v1alpha1', kind: 'TrafficMonitor', namespace: 'shop', name: 'bad' },
      }),
      anObject('events.k8s.io/v1', 'Event', 'other/e2', {
        type: 'Warning',
        reason: 'BackOff',
        regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'other', name: 'p' },
      }),
    ),
  });
  const report = statusReport(view);
  expect(report.well).toBe(false);
  const amiss = report.checks.filter(({ state }) => state === 'bad' || state === 'progressing');
  expect(amiss.length).toBeGreaterThan(5);
  expect(amiss.filter(({ hint = '' }) => !/\w{3}/.test(hint))).toEqual([]);
  golden('amiss.txt', reportText(report, plain));
  golden('nodes.txt', nodeTable(nodeRows(view), plain));
  golden('one-monitor.txt', reportText(part(view, 'trafficmonitors', 'failing'), plain));
});

test('a warning about a pod that is gone or has become ready since is left out; a later one is shown', () => {
  const unhealthy = (name: string, eventTime: string): KubeObject =>
    anObject('events.k8s.io/v1', 'Event', `svc-system/${name}-${eventTime}`, {
      type: 'Warning',
      reason: 'Unhealthy',
      note: 'Startup probe failed',
      eventTime,
      regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'svc-system', name },
    });
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-06-01T11:50:00Z' }];
  const status = { phase: 'Running', podIP: '10.0.0.1', conditions };
  const shown = (name: string, at: string): number => {
    const pods = objects(aComponentPod('agent', 'svc-agent-a', 'node-1', { status }));
    const view = aView({ pods, events: objects(unhealthy(name, at)) });
    return statusReport(view).checks.filter(({ section }) => section === 'events').length;
  };
  expect(shown('svc-agent-a', '2026-06-01T11:49:00Z')).toBe(0);
  expect(shown('gone', '2026-06-01T11:59:00Z')).toBe(0);
  expect(shown('svc-agent-a', '2026-06-01T11:51:00Z')).toBe(1);
});

describe('a fault that the operator reports in Events about its Deployment', () => {
  const events = (...told: [at: string, reason: string, note: string][]): ClusterView =>
    aView({
      operatorEvents: objects(
        ...told.map(([at, reason, note]) =>
          anObject('events.k8s.io/v1', 'Event', `svc-system/${reason}-${at}`, {
            ...{ reason, note, eventTime: `2026-06-01T${at}.000000Z` },
            regarding: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'svc-system', name: 'svc-controller' },
          }),
        ),
      ),
      leases: objects(
        anObject('coordination.k8s.io/v1', 'Lease', 'svc-system/svc-controller', {
          spec: {
            holderIdentity: 'svc-controller-a_1',
            acquireTime: '2026-06-01T11:40:00.000000Z',
            renewTime: '2026-06-01T11:59:58.000000Z',
          },
        }),
      ),
    });
  const refused = 'platform: apply DaemonSet svc-system/svc-agent: quota exceeded';
  const expectWell = (view: ClusterView): void => {
    expect(lineOf(view, 'platform')).toBe('none');
    expect(statusReport(view).well).toBe(true);
  };

  test('is a fault of the operator, with the way out of its reason', () => {
    const view = events(['11:45:00', 'Recovered', 'platform: all'], ['11:58:00', 'QuotaExceeded', refused]);
    expect(lineOf(view, 'platform')).toBe(
      '  ✗ platform: QuotaExceeded: apply DaemonSet svc-system/svc-agent: quota exceeded → raise the quota of the namespace',
    );
    expect(statusReport(view).well).toBe(false);
  });

  test('has ended with a later Recovered', () =>
    expectWell(events(['11:59:00', 'Recovered', 'platform: all'], ['11:58:00', 'QuotaExceeded', refused])));

  test('is that of the present leader only', () => expectWell(events(['11:39:00', 'QuotaExceeded', refused])));

  test('is past when it was not repeated', () => expectWell(events(['11:44:00', 'QuotaExceeded', refused])));

  test('is told apart from other Events about the Deployment', () =>
    expectWell(events(['11:59:00', 'ScalingReplicaSet', 'Scaled up replica set'])));

  test('counts by the clock of the leader, not by that of the user', () => {
    const view = events(['11:58:00', 'QuotaExceeded', refused]);
    expect(lineOf({ ...view, now: viewTime + 3_600_000 }, 'platform')).toContain('QuotaExceeded');
  });

  test('is unknown where Events cannot be read', () => {
    const fault = 'you may not list events in namespace svc-system';
    expect(lineOf(aView({ operatorEvents: { fault, code: 'ERR_API_FORBIDDEN' } }), 'platform')).toBe(
      `  ? platform: ${fault}`,
    );
  });
});

test('a policy that is on no node is a note, with the way to what is missing', () => {
  const none = aCondition('CapturingFlows', 'False', 'NoNodes', 'spec.nodeSelector matches no node that runs an agent');
  const conditions = [aCondition('Ready', 'True', 'Ready'), none];
  const policy = aPolicy('p', {}, { status: { observedGeneration: 1, conditions } as never });
  const view = aView({ policies: objects(policy) });
  expect(lineOf(view, 'p:')).toMatch(/^\s*! p: .*spec\.nodeSelector matches no node that runs an agent/);
  expect(lineOf(view, 'p:')).toContain('kubectl get nodes --show-labels: no node has what spec.nodeSelector asks for');
});

describe('flows that are off are not a fault, and are reported with a hint to turn them on', () => {
  const hint = 'set spec.network.enabled: true in a policy for flows; it puts the agents into the host network';
  const notEnabled = aCondition('CapturingFlows', 'False', 'NotEnabled', 'network.enabled is not set');
  const ready = aCondition('Ready', 'True', 'Ready');
  const policy = aPolicy('p', {}, { status: { observedGeneration: 1, conditions: [ready, notEnabled] } as never });

  test('without a policy', () => {
    const line = lineOf(aView(), 'flows');
    expect(line).toMatch(/^\s*! flows: off: no policy enables them/);
    expect(line).toContain(hint);
    expect(statusReport(aView()).well).toBe(true);
  });

  test('with a policy that does not enable them: only in the line of the policy', () => {
    const view = aView({ policies: objects(policy) });
    expect(lineOf(view, 'p:')).toContain(hint);
    expect(lineOf(view, 'flows')).toBe('none');
    expect(statusReport(view).well).toBe(true);
  });

  test('where policies cannot be read, nothing is reported about flows', () => {
    expect(lineOf(aView({ policies: { fault: 'forbidden', code: 'ERR_API_FORBIDDEN' } }), 'flows')).toBe('none');
  });
});

test('in the report of the cluster, a kind that may not be read is named, and is not a fault', () => {
  const fault = 'you may not list nodes of all namespaces';
  const unread = { fault, code: 'ERR_API_FORBIDDEN' } as const;
  const view = aView({ nodes: unread, apiServices: unread });
  expect(statusReport(view).well).toBe(true);
  expect(lineOf(view, 'apiservices')).toBe(`  ? apiservices: ${fault}`);
  expect(lineOf(view, 'nodes')).toBe(`  ? nodes: ${fault}`);
});

test('without the right to see agents they are not reported as missing', () => {
  const view = aView({
    ownPods: { fault: 'you may not list pods in namespace svc-system', code: 'ERR_API_FORBIDDEN' },
  });
  expect(statusReport(view).well).toBe(true);
  expect(lineOf(view, 'nodes')).toBe('  ? nodes: 2 Unknown');
  expect(nodeRows(aView({ monitors: { items: [], partial: true } }))[0]).toMatchObject({ monitors: null, file: '' });
});

test('a node that the DaemonSet leaves out is not reported as lacking an agent', () => {
  const pods = { items: [aComponentPod('agent', 'svc-agent-a', 'node-1')] };
  const template = { spec: { nodeSelector: { pool: 'core' } } };
  const status = { observedGeneration: 1, desiredNumberScheduled: 1, numberReady: 1, updatedNumberScheduled: 1 };
  const set = anObject('apps/v1', 'DaemonSet', 'svc-system/svc-agent', { spec: { template }, status });
  const view = aView({
    pods,
    daemonSets: { items: [set] },
    nodes: objects(aNode('node-1', { pool: 'core' }), aNode('node-2')),
  });
  expect(lineOf(view, 'nodes')).toBe('  ✓ nodes: 1 Running, 1 LeftOut');
});

test('readable certificates are shown with their end, and an overdue one is a fault', async () => {
  const day = 86_400_000;
  const ca = await createCa({ commonName: 'ca', now: viewTime - 100 * day });
  const secret = async (name: string, ageDays: number) => {
    const leaf = await issueLeaf(
      ca,
      { commonName: name, dnsNames: [name] },
      { now: viewTime - ageDays * day, days: 90 },
    );
    const data = { 'tls.crt': Buffer.from(leaf.cert).toString('base64') };
    return anObject('v1', 'Secret', `svc-system/${name}`, { data });
  };
  const items = [
    anObject('v1', 'Secret', 'svc-system/svc-ca', { data: { 'ca.crt': Buffer.from(ca.cert).toString('base64') } }),
    await secret('svc-agent-tls', 10),
    await secret('svc-query-tls', 80),
    await secret('svc-controller-tls', 100),
  ];
  const view = aView({ secrets: { items } });
  expect(lineOf(view, 'svc-agent-tls')).toMatch(/✓ svc-agent-tls: ends in 80 days/);
  expect(lineOf(view, 'svc-query-tls')).toMatch(
    /✗ svc-query-tls: ends in 10 days .*overdue for renewal → the operator renews/,
  );
  expect(lineOf(view, 'svc-controller-tls')).toMatch(/✗ svc-controller-tls: ended /);
  const elsewhere = aView({ secrets: { items }, namespace: 'monitoring' });
  for (const name of ['svc-query-tls', 'svc-controller-tls'])
    expect(lineOf(elsewhere, name)).toMatch(/: kubectl -n monitoring logs deployment\/svc-controller$/);
});

test.each([
  [
    'a missing Deployment',
    { deployments: { items: [] } },
    'svc-controller',
    /✗ .*no Deployment in svc-system → svc install/,
  ],
  ['a missing leader', { leases: { items: [] } }, 'leader', /✗ leader: no replica holds the Lease/],
  ['a missing agent DaemonSet', { daemonSets: { items: [] } }, 'svc-agent', /✗ .*no DaemonSet/],
  [
    'a node without an agent',
    { pods: { items: [] } },
    'node node-1',
    /✗ node node-1: no agent pod on this node → kubectl/,
  ],
  [
    'an unregistered metrics API',
    { apiServices: { items: [] } },
    'custom.metrics',
    /! custom.metrics.k8s.io: it is not registered/,
  ],
])('names %s', (_what, more, subject, expected) => expect(lineOf(aView(more as never), subject)).toMatch(expected));

test('a status of an older generation counts as in progress, whatever it says', () => {
  const edited = { ...readyMonitor, metadata: { ...readyMonitor.metadata, generation: 5 } };
  const view = aView({ monitors: objects(edited) });
  expect(lineOf(view, 'shop/checkout')).toMatch(
    /… .*generation 5 is not judged yet \(the last one judged is 1\).* → wait/,
  );
  expect(isWell(statusReport(view).checks)).toBe(false);
});

test('a name that does not exist is an error', () => {
  expect(() => part(aView(), 'trafficmonitors', 'nope')).toThrow('there is no nope');
});

test.each([
  [
    'ERR_API_FORBIDDEN',
    'you may not list trafficmonitors of all namespaces',
    ['-n NAMESPACE looks at one namespace only'],
  ],
  ['ERR_API_REQUEST', 'list trafficmonitors: 503 etcd is away', []],
  ['ERR_TIMEOUT', 'list trafficmonitors: no answer within 30000 ms', []],
] as const)('the report of a single kind that cannot be read is an error that says why: %s', (code, fault, hints) => {
  let thrown: unknown;
  try {
    part(aView({ monitors: { fault, code } }), 'trafficmonitors', undefined);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code, message: fault, hints });
});

test('kinds are named as kubectl names them', () => {
  expect([statusParts.get('tm'), statusParts.get('node'), statusParts.get('md')]).toEqual([
    'trafficmonitors',
    'nodes',
    'minterdeployments',
  ]);
});

test('every reason of a bad condition has a hint', () => {
  const tables = [trafficMonitorConditions, clusterTrafficPolicyConditions, minterDeploymentConditions];
  const reasons = tables.flatMap((table) => Object.values(table).flatMap((one) => Object.keys(one.reasons)));
  const wellReasons = new Set([
    ...[
      'Ready',
      'Accepted',
      'LimitClamped',
      'ResolvedRefs',
      'Programmed',
      'TrafficSeen',
      'NoConflicts',
      'WithinLimits',
    ],
    ...['Exporting', 'AllNodesReady', 'CertificatesValid', 'Available', 'Valid', 'Found', 'Enabled', 'Matches'],
    ...['SwitchedOff', 'InForce', 'Offered'],
    ...['NextMatches', 'MinimumReplicasAvailable', 'NewReplicaSetAvailable', 'ReplicaSetUpdated', 'Applied'],
  ]);
  expect(reasons.filter((reason) => !wellReasons.has(reason) && ways[reason] === undefined)).toEqual([]);
  expect([...wellReasons].filter((reason) => !reasons.includes(reason))).toEqual([]);
  expect(isGood({ type: 'Conflicted', status: 'False' } as never, trafficMonitorConditions)).toBe(true);
});

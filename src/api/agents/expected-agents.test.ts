import { expectedAgents } from './expected-agents.ts';
import type { NodeView, PodView } from './expected-agents.ts';

const linux = { 'kubernetes.io/os': 'linux' };
const node = (name: string, more: Partial<NodeView> = {}, ready = true): NodeView => ({
  metadata: { name, labels: linux },
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }] },
  ...more,
});
const pod = (
  name: string,
  nodeName: string,
  podIP: string | undefined,
  more: Partial<PodView['metadata']> = {},
  ready = true,
): PodView => ({
  metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
  spec: { nodeName },
  status: {
    phase: 'Running',
    ...(podIP ? { podIP } : {}),
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
  },
});
const daemonSet = (spec: object = {}) => ({ spec: { template: { spec: { nodeSelector: linux, ...spec } } } });

test('a node that should have an agent is expected even without an agent pod', () => {
  expect(expectedAgents([node('b'), node('a')], [daemonSet()], [pod('p', 'b', '10.0.0.2')])).toEqual([
    { node: 'a', address: undefined, absence: 'no agent pod', nodeReady: true },
    { node: 'b', address: '10.0.0.2', absence: undefined, nodeReady: true },
  ]);
});

test('a node that is not ready stays expected, so a dead node never vanishes from an answer', () => {
  expect(expectedAgents([node('a', {}, false)], [daemonSet()], [pod('p', 'a', '10.0.0.1')])).toEqual([
    { node: 'a', address: '10.0.0.1', absence: undefined, nodeReady: false },
  ]);
});

test('an agent pod without an address is absent, with the reason', () => {
  const [only] = expectedAgents([node('a')], [daemonSet()], [pod('p', 'a', undefined)]);
  expect(only).toMatchObject({ address: undefined, absence: 'agent pod p has no address yet' });
});

test('of two pods on a node a ready one is preferred, then one that is not being deleted, then the newer', () => {
  const pick = (...pods: PodView[]) => {
    const [found, turned] = [pods, pods.toReversed()].map((all) => expectedAgents([node('a')], [daemonSet()], all));
    expect(turned![0]!.address).toBe(found![0]!.address);
    return found![0]!.address;
  };
  expect(pick(pod('old', 'a', '1.1.1.1'), pod('new', 'a', '2.2.2.2', {}, false))).toBe('1.1.1.1');
  expect(pick(pod('old', 'a', '1.1.1.1', { deletionTimestamp: 'x' }), pod('new', 'a', '2.2.2.2'))).toBe('2.2.2.2');
  expect(
    pick(pod('new', 'a', '2.2.2.2', { creationTimestamp: '2026-01-02T00:00:00Z' }), pod('old', 'a', '1.1.1.1')),
  ).toBe('2.2.2.2');
  // Each criterion takes precedence over the later ones.
  const younger = { creationTimestamp: '2026-01-02T00:00:00Z' };
  expect(pick(pod('p', 'a', '1.1.1.1', { deletionTimestamp: 'x' }), pod('q', 'a', '2.2.2.2', younger, false))).toBe(
    '1.1.1.1',
  );
  expect(pick(pod('p', 'a', '1.1.1.1'), pod('q', 'a', '2.2.2.2', { ...younger, deletionTimestamp: 'x' }))).toBe(
    '1.1.1.1',
  );
});

test.each([
  ['Running', '1.1.1.1'],
  ['Succeeded', undefined],
  ['Failed', undefined],
])('the address of an agent whose pod is in the phase %s: %s', (phase, address) => {
  const one: PodView = { ...pod('p', 'a', '1.1.1.1'), status: { phase, podIP: '1.1.1.1' } };
  expect(expectedAgents([], [], [one]).map((agent) => agent.address)).toEqual(address ? [address] : []);
  expect(expectedAgents([node('a')], [daemonSet()], [one])).toMatchObject([{ node: 'a', address }]);
});

describe('which nodes the DaemonSet runs on', () => {
  const tainted = (key: string, effect = 'NoSchedule') =>
    node('a', { spec: { taints: [{ key, effect, value: 'v' }] } });
  const affinity = (operator: string, values?: string[], key = 'kubernetes.io/os') => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values ? { values } : {}) }] }],
        },
      },
    },
  });
  test.each<[title: string, node: NodeView, spec: object, runs: boolean]>([
    [
      'a node without the selected label does not run it',
      { ...node('a'), metadata: { name: 'a', labels: {} } },
      {},
      false,
    ],
    ['a taint that is not tolerated keeps it away', tainted('dedicated'), {}, false],
    ['a taint that does not stop scheduling lets it in', tainted('dedicated', 'PreferNoSchedule'), {}, true],
    ['a toleration of everything lets it in', tainted('dedicated'), { tolerations: [{ operator: 'Exists' }] }, true],
    [
      'a toleration of the key and value lets it in',
      tainted('dedicated'),
      { tolerations: [{ key: 'dedicated', value: 'v' }] },
      true,
    ],
    [
      'a toleration of another value keeps it away',
      tainted('dedicated'),
      { tolerations: [{ key: 'dedicated', value: 'w' }] },
      false,
    ],
    [
      'a toleration of another effect keeps it away',
      tainted('dedicated'),
      { tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] },
      false,
    ],
    [
      'an unreachable node is tolerated by every DaemonSet',
      tainted('node.kubernetes.io/unreachable', 'NoExecute'),
      {},
      true,
    ],
    ['an affinity with In lets it in', node('a'), affinity('In', ['linux']), true],
    ['an affinity with NotIn keeps it away', node('a'), affinity('NotIn', ['linux']), false],
    [
      'a label named as a member of every object keeps it away',
      node('a'),
      affinity('Exists', undefined, 'constructor'),
      false,
    ],
    ['an affinity with Exists lets it in', node('a'), affinity('Exists'), true],
    ['an affinity with DoesNotExist keeps it away', node('a'), affinity('DoesNotExist'), false],
  ])('%s', (_, one, spec, runs) => {
    expect(expectedAgents([one], [daemonSet(spec)], []).length).toBe(runs ? 1 : 0);
  });
});

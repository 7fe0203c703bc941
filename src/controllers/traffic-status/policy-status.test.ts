import { clusterTrafficPolicyConditions, type ClusterTrafficPolicySpec } from '../../api/v1alpha1/index.ts';
import { compile } from '../../capture/compile/compile.ts';
import { aPolicy, aWorld } from '../../testing/capture/world.ts';
import { NodeState } from '../capture/node-state.ts';
import { policyStatus } from './policy-status.ts';

/** The conditions of a policy whose nodes are all not Ready. */
function conditionsOf(spec: ClusterTrafficPolicySpec, world: Partial<Parameters<typeof compile>[0]> = {}) {
  const object = aPolicy('p', spec);
  const outcome = compile(aWorld({ policies: [object], ...world })).policies.get('p')!;
  const nodes = outcome.nodes.map((name) => new NodeState(name));
  const { conditions } = policyStatus({ object, outcome, nodes, now: 0 });
  const of = (type: 'CapturingFlows' | 'Programmed' | 'Ready') => conditions!.find((c) => c.type === type)!;
  expect(Object.keys(clusterTrafficPolicyConditions.CapturingFlows.reasons)).toContain(of('CapturingFlows').reason);
  return of;
}
const network = { enabled: true };
const typo = { matchLabels: { pool: 'egde' } };

test('a policy whose nodeSelector matches no node says so instead of asking for what it sets', () => {
  const of = conditionsOf({ network, nodeSelector: typo });
  expect(of('CapturingFlows')).toMatchObject({
    status: 'False',
    reason: 'NoNodes',
    message: 'spec.nodeSelector matches no node that runs an agent',
  });
  expect(of('Programmed')).toMatchObject({
    status: 'True',
    message: '0/0 nodes run generation 1; no node is in scope',
  });
  expect(of('Ready').status).toBe('True');
});

test('a policy without nodeSelector in a cluster without nodes is not sent to a selector', () => {
  expect(conditionsOf({ network }, { nodes: [] })('CapturingFlows')).toMatchObject({
    reason: 'NoNodes',
    message: 'no node runs an agent',
  });
});

test('a policy that was never accepted says that nothing of it is in force', () => {
  const of = conditionsOf({ network, instrument: { extraConfig: { a: 1 } } });
  expect(of('CapturingFlows')).toMatchObject({ reason: 'NotInForce', message: 'nothing of this policy is in force' });
});

test('a policy whose nodes are all not Ready says that it counts none of them', () => {
  const of = conditionsOf({ network });
  expect(of('CapturingFlows')).toMatchObject({ status: 'True', reason: 'Enabled' });
  expect(of('Programmed').message).toBe('0/0 nodes run generation 1; none of the 3 nodes in scope is Ready');
});

test('Degraded counts the nodes that it does not name', () => {
  const object = aPolicy('p', {});
  const outcome = compile(aWorld({ policies: [object] })).policies.get('p')!;
  const degraded = (count: number): string => {
    const nodes = Array.from({ length: count }, (_, i) => {
      const node = new NodeState(`node-${i}`);
      node.ready = true;
      node.lost(new Error('no route'));
      return node;
    });
    return policyStatus({ object, outcome, nodes, now: 0 }).conditions!.find((c) => c.type === 'Degraded')!.message;
  };
  expect(degraded(2)).toBe('node-0, node-1');
  expect(degraded(20)).toMatch(/^(node-\d+, ){15}node-\d+ and 4 more$/);
});

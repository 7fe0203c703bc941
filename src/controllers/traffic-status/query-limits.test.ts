import type { ClusterTrafficPolicySpec } from '../../api/v1alpha1/index.ts';
import { aPolicy } from '../../testing/capture/world.ts';
import { queryLimitsCondition } from './query-limits.ts';

const strict = aPolicy('strict', { priority: 1, query: { timeout: '10s' } });
const shop = { matchLabels: { team: 'shop' } };

test.each<[string, ClusterTrafficPolicySpec, string | undefined]>([
  ['has no query settings', {}, undefined],
  ['sets no field', { query: {} }, undefined],
  ['sets what no other sets', { query: { maxSeries: 5, maxSamples: 9 } }, 'True InForce: maxSamples, maxSeries'],
  [
    'sets a field that a stronger policy sets, too',
    { query: { timeout: '5s', maxSeries: 5 } },
    'True InForce: maxSeries; timeout is decided by policy strict',
  ],
  [
    'sets only what a stronger policy sets',
    { query: { timeout: '5s' } },
    'False Overridden: timeout is decided by policy strict',
  ],
  [
    'sets for some namespaces what a stronger policy sets for all',
    { namespaceSelector: shop, query: { timeout: '5s' } },
    'False Overridden: timeout is decided by policy strict',
  ],
  ['is the strongest', { priority: 2, query: { timeout: '5s' } }, 'True InForce: timeout'],
  [
    'sets more than the server allows',
    { query: { perAgentTimeout: '1m', maxConcurrency: 21, maxSamples: 50_000_000 } },
    "True InForce: perAgentTimeout, maxSamples, maxConcurrency; perAgentTimeout is above the query server's own 10s, which holds; maxConcurrency is above the query server's own 20, which holds",
  ],
  [
    'covers some nodes',
    { nodeSelector: { matchLabels: { pool: 'edge' } }, query: { maxSeries: 5 } },
    'False NodesSelected: a query reads all nodes: set spec.query in a policy without a nodeSelector',
  ],
])('the condition of a policy that %s', (_, spec, expected) => {
  const own = aPolicy('own', spec);
  const condition = queryLimitsCondition(own, [strict, own], {});
  expect(condition && `${condition.status} ${condition.reason}: ${condition.message}`).toBe(expected);
});

test('a policy for some namespaces does not override a policy for all', () => {
  const all = aPolicy('all', { query: { maxSeries: 5 } });
  const some = aPolicy('some', { priority: 5, namespaceSelector: shop, query: { maxSeries: 9 } });
  expect(queryLimitsCondition(all, [all, some], {})).toMatchObject({ status: 'True', message: 'maxSeries' });
});

test('the upper bound of a timeout is the flag that the query server is started with', () => {
  const own = aPolicy('own', { query: { timeout: '90s' } });
  expect(queryLimitsCondition(own, [own], { queryTimeout: '1m' })?.message).toContain("the query server's own 1m");
});

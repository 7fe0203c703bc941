import { kinds, type ClusterTrafficPolicySpec } from '../api/v1alpha1/index.ts';
import { aPolicy } from '../testing/capture/world.ts';
import { schemasOf } from '../testing/schema-walk.ts';
import { queryLimits, queryPolicies, type QueryPolicy } from './query-limits.ts';

const policy = (
  name: string,
  spec: ClusterTrafficPolicySpec,
  judged?: { accepted: boolean; last?: ClusterTrafficPolicySpec },
): QueryPolicy => {
  if (!judged) return aPolicy(name, spec);
  const accepted = {
    type: 'Accepted',
    status: judged.accepted ? ('True' as const) : ('False' as const),
    reason: 'x',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const last = judged.last ? { lastAcceptedSpec: judged.last } : {};
  return aPolicy(name, spec, { status: { conditions: [accepted], ...last } });
};
const shop = { matchLabels: { team: 'shop' } };
const namespaces = [
  { name: 'shop', labels: { team: 'shop' } },
  { name: 'bank', labels: { team: 'bank' } },
];
const limits = (all: readonly QueryPolicy[], of?: typeof namespaces): ReturnType<typeof queryLimits> =>
  queryLimits(queryPolicies(all), of);

test('a last accepted spec that the schema does not admit limits no query, and ends none', () => {
  const last = { query: { timeout: 'soon' } };
  expect(limits([policy('a', { query: { timeout: '9s' } }, { accepted: false, last })])).toEqual({});
});

test('without a policy with limits no query is limited', () => {
  expect(limits([])).toEqual({});
  expect(limits([policy('a', { priority: 3 })], namespaces)).toEqual({});
});

test('every field of spec.query is a limit', () => {
  const query = { timeout: '30s', perAgentTimeout: '2s', maxSamples: 7, maxSeries: 8, maxConcurrency: 3 };
  const whole = { ...query, partialResponse: 'Fail' as const };
  const schema = [...schemasOf(kinds.find(({ resource }) => resource.kind === 'ClusterTrafficPolicy')!)].find(
    ({ path }) => path === '.spec.query',
  )!.schema;
  expect(Object.keys(whole).toSorted()).toEqual(Object.keys(schema['properties'] as object).toSorted());
  expect(limits([policy('a', { query: whole })])).toEqual({
    timeoutMs: 30_000,
    agentTimeoutMs: 2_000,
    maxSamples: 7,
    maxSeries: 8,
    failPartial: true,
    places: { policy: 'a', limit: 3 },
  });
});

test('the strongest policy that sets a field decides it, even if another sets a lower value', () => {
  const weak = policy('weak', { query: { timeout: '1s', maxSamples: 5 } });
  const strong = policy('strong', { priority: 1, query: { timeout: '1m' } });
  expect(limits([weak, strong])).toEqual({ timeoutMs: 60_000, maxSamples: 5 });
});

test('a policy for namespaces holds for users who may read these namespaces, and not for users who may read all', () => {
  const all = [
    policy('all', { query: { maxSamples: 9 } }),
    policy('team', { priority: 1, namespaceSelector: shop, query: { maxSamples: 100 } }),
  ];
  expect(limits(all)).toEqual({ maxSamples: 9 });
  expect(limits(all, [namespaces[0]!])).toEqual({ maxSamples: 100 });
  expect(limits(all, [namespaces[1]!])).toEqual({ maxSamples: 9 });
});

test('a user who may read several namespaces gets the lowest of their limits', () => {
  const all = [
    policy('all', { query: { partialResponse: 'Warn', maxConcurrency: 9 } }),
    policy('team', {
      priority: 1,
      namespaceSelector: shop,
      query: { timeout: '5s', partialResponse: 'Fail', maxConcurrency: 2 },
    }),
  ];
  expect(limits(all, namespaces)).toEqual({
    timeoutMs: 5_000,
    failPartial: true,
    places: { policy: 'team', limit: 2 },
  });
  expect(limits(all, [])).toEqual({ failPartial: false, places: { policy: 'all', limit: 9 } });
});

test('a policy that selects nodes limits no query; a refused policy limits by its last accepted spec', () => {
  const query = { maxSamples: 5 };
  expect(limits([policy('a', { nodeSelector: { matchLabels: { a: 'b' } }, query })])).toEqual({});
  expect(limits([policy('a', { nodeSelector: {}, query })])).toEqual({ maxSamples: 5 });
  expect(limits([policy('a', { query }, { accepted: false })])).toEqual({});
  expect(limits([policy('a', { query }, { accepted: false, last: { query: { maxSamples: 6 } } })])).toEqual({
    maxSamples: 6,
  });
  expect(limits([policy('a', { query }, { accepted: true })])).toEqual({ maxSamples: 5 });
});

test('a last accepted spec that the schema does not admit limits no query, and keeps none from its limits', () => {
  const last = { priority: 1, query: { timeout: 5 } } as unknown as ClusterTrafficPolicySpec;
  const other = policy('b', { query: { maxSamples: 5 } });
  expect(limits([policy('a', {}, { accepted: false, last }), other])).toEqual({ maxSamples: 5 });
});

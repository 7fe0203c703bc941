import type { Labels } from '../../../promql/index.ts';
import { describedResource } from '../../../api/described-resources.ts';
import { readAdapterRules } from './rule.ts';
import { ruleProvider } from './rule-provider.ts';
import { ruleMetrics } from './rule-series.ts';

const config = `
rules:
  - seriesQuery: 'http_requests_total{kubernetes_namespace!="",kubernetes_pod_name!=""}'
    seriesFilters:
      - isNot: ".*_seconds_total"
    resources:
      overrides:
        kubernetes_namespace: {resource: namespace}
        kubernetes_pod_name: {resource: pod}
        deployment: {group: apps, resource: deployment}
    name: {matches: "^(.*)_total$", as: "\${1}_per_second"}
    metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[2m])) by (<<.GroupBy>>)'
  - seriesQuery: '{__name__=~"^jobs_.*"}'
    resources: {template: "k8s_<<.Resource>>_name"}
    metricsQuery: 'max(<<.Series>>{k8s_namespace_name="<<.LabelValuesByName.k8s_namespace_name>>"}) by (<<.GroupBy>>)'
  - seriesQuery: '{__name__=~"^jobs_.*"}'
    resources: {template: "k8s_<<.Resource>>_name"}
    name: {as: "jobs_named"}
    metricsQuery: 'max(<<.Series>>{k8s_deployment_name=~"<<.LabelValuesByName.k8s_deployment_name>>"}) by (<<.GroupBy>>)'
`;
const labels = (object: Record<string, string>): Labels => Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
const series = [
  labels({
    __name__: 'http_requests_total',
    kubernetes_namespace: 'shop',
    kubernetes_pod_name: 'a',
    deployment: 'web',
  }),
  labels({ __name__: 'http_wait_seconds_total', kubernetes_namespace: 'shop', kubernetes_pod_name: 'a' }),
];
const jobs = [labels({ __name__: 'jobs_waiting', k8s_namespace_name: 'shop', k8s_deployment_name: 'worker' })];
const { rules } = readAdapterRules(config);
const provider = ruleProvider({
  metrics: () => ({
    custom: [...ruleMetrics(rules[0]!, series), ...ruleMetrics(rules[1]!, jobs), ...ruleMetrics(rules[2]!, jobs)],
    external: [],
  }),
  notReady: () => undefined,
});
const find = (resource: string, metric: string, names?: string[]) =>
  provider.find({ resource: describedResource(resource)!, namespace: 'shop', metric, matchers: [], names });

test('series that a filter refuses give no metric; for other series, the rule names the metric and the kinds of objects', () => {
  expect(
    provider
      .names()
      .map(({ resource, metric }) => `${resource.name}/${metric}`)
      .sort(),
  ).toEqual([
    'deployments.apps/http_requests_per_second',
    'deployments.apps/jobs_named',
    'deployments.apps/jobs_waiting',
    'namespaces/http_requests_per_second',
    'namespaces/jobs_named',
    'namespaces/jobs_waiting',
    'pods/http_requests_per_second',
  ]);
});

test('the series, the matchers and the grouping are filled into the query', () => {
  expect(find('pods', 'http_requests_per_second', ['a', 'b'])).toEqual({
    value:
      'sum(rate(http_requests_total{kubernetes_namespace="shop",kubernetes_pod_name=~"a|b"}[2m])) by (kubernetes_pod_name)',
    times: ['timestamp(http_requests_total{kubernetes_namespace="shop",kubernetes_pod_name=~"a|b"})'],
    windowMs: 120_000,
    label: 'kubernetes_pod_name',
  });
});

test('a list of very many pods is left out of the query, unless the query inserts the names', () => {
  const many = Array.from({ length: 2_000 }, (_, i) => `${'checkout-'.repeat(4)}${i}`.padEnd(45, 'x'));
  const query = find('pods', 'http_requests_per_second', many);
  expect(query?.value).toBe(
    'sum(rate(http_requests_total{kubernetes_namespace="shop",kubernetes_pod_name!=""}[2m])) by (kubernetes_pod_name)',
  );
  expect(query?.times).toEqual(['timestamp(http_requests_total{kubernetes_namespace="shop",kubernetes_pod_name!=""})']);
  expect(find('deployments.apps', 'jobs_named', many)?.value).toContain(many.join('|'));
});

test('a resource template maps labels to kinds, and a query can insert a value by its label name', () => {
  expect(find('deployments.apps', 'jobs_waiting')?.value).toBe(
    'max(jobs_waiting{k8s_namespace_name="shop"}) by (k8s_deployment_name)',
  );
  expect(find('pods', 'jobs_waiting')).toBeUndefined();
});

/** The query of an external metric, for namespace `shop`, of a rule with these fields of `resources`. */
function externalQuery(resources: object): string | undefined {
  const fields = { metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})', resources };
  const rule = { seriesQuery: '{__name__=~"^jobs_.*"}', ...fields };
  const read = readAdapterRules(JSON.stringify({ externalRules: [rule] }));
  const external = ruleMetrics(read.externalRules[0]!, jobs);
  const { find: findExternal } = ruleProvider({ metrics: () => ({ custom: [], external }), notReady: () => undefined });
  const request = { resource: undefined, namespace: 'shop', metric: 'jobs_waiting', names: undefined };
  return findExternal({ ...request, matchers: [{ type: '=', name: 'queue', value: 'mail' }] })?.value;
}

test.each<[string, object, string]>([
  ['by default', {}, 'sum(jobs_waiting{k8s_namespace_name="shop",queue="mail"})'],
  ['where the rule says so', { namespaced: true }, 'sum(jobs_waiting{k8s_namespace_name="shop",queue="mail"})'],
  ['unless the rule says no', { namespaced: false }, 'sum(jobs_waiting{queue="mail"})'],
])('an external metric is that of the requested namespace %s', (_, more, value) => {
  expect(externalQuery({ template: 'k8s_<<.Resource>>_name', ...more })).toBe(value);
});

test('the keys that are not read are named with their places', () => {
  const filter = { is: 'a', isnot: 'b' };
  const resources = { namespaced: true, overrides: { pod: { resource: 'pod', version: 'v1' } }, Template: 'x' };
  const rule = {
    seriesQuery: 'a',
    metricsQuery: 'b',
    seriesFilters: [filter],
    resources,
    name: { As: 'c' },
    window: 1,
  };
  const { unread } = readAdapterRules(JSON.stringify({ rules: [rule], externalRules: [], resourceRules: {} }));
  expect(unread).toEqual([
    'resourceRules',
    'rules[0].window',
    'rules[0].resources.Template',
    'rules[0].name.As',
    'rules[0].seriesFilters[0].isnot',
    'rules[0].resources.overrides.pod.version',
  ]);
  expect(readAdapterRules(config).unread).toEqual([]);
});

test.each<[string, RegExp]>([
  ['rules: 5', /rules: must be a list/],
  ['rules: [{metricsQuery: x}]', /rules\[0\]\.seriesQuery/],
  ['rules: [{seriesQuery: "{", metricsQuery: x}]', /rules\[0\]\.seriesQuery/],
  ['rules: [{seriesQuery: a, metricsQuery: b, name: {matches: "("}}]', /rules\[0\]\.name\.matches/],
  ['rules: [{seriesQuery: a, metricsQuery: b, name: {matches: "(?=a)"}}]', /rules\[0\]\.name\.matches/],
  ['rules: [{seriesQuery: a, metricsQuery: b, seriesFilters: [{is: "(a{1000}){1000}"}]}]', /seriesFilters\[0\]\.is/],
  [
    'rules: [{seriesQuery: a, metricsQuery: b, resources: {template: "<<.Resource>>_<<.Resource>>"}}]',
    /rules\[0\]\.resources\.template: .*twice/,
  ],
  ['externalRules: [{seriesQuery: a, metricsQuery: b, resources: {namespaced: 1}}]', /resources\.namespaced: must be/],
  ['a: [', /not YAML/],
])('the rules "%s" are refused with the reason', (text, message) => {
  expect(() => readAdapterRules(text)).toThrow(message);
});

/** The metrics of a rule with these fields, for series of these names. */
function namesOf(fields: object, ...series: string[]): string[] {
  const rule = { seriesQuery: 'a', metricsQuery: '<<.Series>>', ...fields };
  const read = readAdapterRules(JSON.stringify({ rules: [rule] })).rules[0]!;
  return ruleMetrics(
    read,
    series.map((name) => labels({ __name__: name })),
  ).map(({ metric }) => metric);
}

test.each<[string, object, string[], string[]]>([
  ['flags', { seriesFilters: [{ is: '(?i)HTTP.*' }] }, ['http_a', 'grpc_a'], ['http_a']],
  ['classes', { seriesFilters: [{ isNot: '^[[:alpha:]]+$' }] }, ['jobs', 'jobs_1'], ['jobs_1']],
  ['a part of the name', { seriesFilters: [{ is: '_total' }] }, ['a_total_b', 'b'], ['a_total_b']],
  ['the first group', { name: { matches: '^(.*)_total$' } }, ['a_total', 'b'], ['a']],
  ['a numbered group', { name: { matches: '^(.*)_total$', as: '${1}_per_second' } }, ['a_total'], ['a_per_second']],
  ['a named group', { name: { matches: '^(?P<base>.*)_total$', as: 'x_$base' } }, ['a_total'], ['x_a']],
  ['the longest group name, as Go does, and no such group', { name: { matches: '(a)', as: '$1_b' } }, ['a'], []],
])('patterns of rules are those of RE2: %s', (_what, fields, series, metrics) => {
  expect(namesOf(fields, ...series)).toEqual(metrics);
});

test('no pattern of a rule takes more than linear time', () => {
  const started = performance.now();
  const name = `${'a'.repeat(28)}!`;
  expect(namesOf({ seriesFilters: [{ is: '^(([a-z]+)_?)*_total$' }] }, name)).toEqual([]);
  expect(namesOf({ name: { matches: '^(([a-z]+)_?)*_total$' } }, name)).toEqual([]);
  expect(performance.now() - started).toBeLessThan(1_000);
});

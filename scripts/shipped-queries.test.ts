import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { flowMetric, requestFamilies } from '../src/api/page/request-families.ts';
import { parseTarget } from '../src/bin/kubectl-svc/explain/target.ts';
import { parse } from '../src/promql/index.ts';
import { dashboards } from './generate/dashboards.ts';
import { registeredMetrics, type RegisteredMetric } from './generate/registered-metrics.ts';

/** Tests that the shipped alerts and dashboards use only metrics and labels that our programs and agents expose. */

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; description: string };
}

function rulesOf(file: string): Rule[] {
  const text = readFileSync(join(import.meta.dirname, '../config/prometheus', file), 'utf8');
  const { groups } = (parseYaml(text) as { spec: { groups: { rules: Rule[] }[] } }).spec;
  return groups.flatMap((group) => group.rules);
}

/** Labels that a scrape, a ServiceMonitor or a histogram adds. */
const targetLabels = ['namespace', 'pod', 'job', 'instance', 'le'];
const owned = ['k8s_namespace_name', 'k8s_owner_name', 'k8s_kind', 'k8s_pod_name', 'k8s_node_name'];
const peers = ['src', 'dst'].flatMap((end) => [`k8s_${end}_namespace`, `k8s_${end}_owner_name`]);

/**
 * Labels by metric: metrics of our own programs, metrics that a running server registers later, and captured metrics.
 */
const labelsOf = new Map<string, readonly string[]>([
  ...Object.entries(registeredMetrics()).flatMap(([part, metrics]) =>
    metrics.map(({ name, labels }: RegisteredMetric) => {
      const own = part === 'agent' ? ['k8s_node_name'] : [];
      return [name, [...labels, ...own, ...targetLabels]] as const;
    }),
  ),
  ['svc_controller_cert_expiry_timestamp_seconds', ['secret', ...targetLabels]],
  ['svc_custom_metrics_request_duration_seconds', ['api', 'code', ...targetLabels]],
  ...requestFamilies.map(({ metric, side }) => {
    const http = ['http_route', 'http_response_status_code', 'http_request_method'];
    return [metric, [...owned, ...http, ...(side === 'client' ? ['server_address'] : []), 'le']] as const;
  }),
  [flowMetric, [...peers, 'k8s_node_name']],
]);

/** The labels of a metric, or of the histogram that it is a part of; undefined for an unknown name. */
const known = (name: string): readonly string[] | undefined =>
  labelsOf.get(name) ?? labelsOf.get(name.replace(/_(bucket|count|sum)$/, ''));

interface Use {
  name: string;
  labels: string[];
}

/** Each selector of a query, with the labels that it names and the labels that enclosing aggregations group by. */
function usesIn(node: unknown, grouping: readonly string[] = []): Use[] {
  if (typeof node !== 'object' || node === null) return [];
  const { matchers, grouping: own } = node as { matchers?: { name: string; value: string }[]; grouping?: string[] };
  const inside = Array.isArray(own) ? [...grouping, ...own] : grouping;
  const nested = Object.values(node).flatMap((child) => usesIn(child, inside));
  if (!Array.isArray(matchers)) return nested;
  const name = matchers.find((matcher) => matcher.name === '__name__')?.value ?? '';
  const labels = matchers.map((matcher) => matcher.name).filter((label) => label !== '__name__');
  return [...nested, { name, labels: [...labels, ...grouping] }];
}

function expectKnown(expr: string): void {
  const uses = usesIn(parse(expr));
  expect(uses.length).toBeGreaterThan(0);
  for (const { name, labels } of uses) {
    expect([name, known(name) !== undefined]).toEqual([name, true]);
    expect([name, labels.filter((label) => !known(name)!.includes(label))]).toEqual([name, []]);
  }
}

/** The expression with values in place of Grafana's variables. */
const filled = (expr: string): string => expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$[a-z]+/g, 'shop');

const rules = ['alerts.yaml', 'minter-alerts.yaml'].flatMap((file) => rulesOf(file));
test.each(rules.map((rule) => [rule.alert, rule] as const))('the alert %s uses known metrics', (_alert, rule) => {
  expectKnown(rule.expr);
  expect(rule.annotations.summary).toMatch(/\.$/);
  expect(rule.annotations.description).toMatch(/\.$/);
  const texts = Object.values(rule.annotations).join(' ');
  const named = [...texts.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
  const there = usesIn(parse(rule.expr)).flatMap(({ name }) => known(name) ?? []);
  expect(named.filter((label) => !there.includes(label))).toEqual([]);
});

test('every `kubectl svc explain` that an alert advises names something that can be explained', () => {
  const commands = rules.flatMap(({ annotations }) =>
    Object.values(annotations).flatMap((text: string) =>
      [...text.replaceAll(/{{ \$labels\.(\w+) }}/g, '$1').matchAll(/`kubectl svc explain ([^`]*)`/g)].map(
        ([, target = '']) => target,
      ),
    ),
  );
  expect(commands).not.toHaveLength(0);
  for (const target of commands) expect(() => parseTarget(target.split(' '))).not.toThrow();
});

test('there is an alert for each way in which the product lets its users down', () => {
  expect(rules.map((rule) => rule.alert)).toEqual([
    ...['SvcAgentMissing', 'SvcCaptureStopped', 'SvcInstrumentRestarts', 'SvcSeriesLimited', 'SvcStoreCannotWrite'],
    ...['SvcIntakeRefused', 'SvcExportBehind', 'SvcAgentCertificateEnds', 'SvcAnswersDegraded', 'SvcQueriesFail'],
    'SvcNoQueryServer',
    ...['SvcConfigNotAcknowledged', 'SvcConfigFails', 'SvcReconcilesFail', 'SvcQueueGrows', 'SvcNoLeader'],
    ...['SvcCertificateEnds', 'MinterErrors', 'MinterSlow', 'MinterNotReady', 'MinterRulesFaulty', 'MinterNoMints'],
    'MinterPlatformQuotaLow',
  ]);
});

const panels = dashboards.flatMap(({ uid, panels: list }) =>
  list.map((panel) => [`${uid}: ${panel.title}`, panel] as const),
);
test.each(panels)('the panel %s uses only known metrics and labels', (_title, { targets, description }) => {
  expect(description).toMatch(/\.$/);
  expect(targets).not.toHaveLength(0);
  for (const { expr } of targets) expectKnown(filled(expr));
});

test('labels in legends and metrics of variables are known', () => {
  const queries = dashboards.flatMap(({ variables }) => Object.values(variables));
  expect(queries.length).toBeGreaterThan(2);
  for (const query of queries) {
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
    expectKnown(`count by (${label}) (${filled(selector)})`);
  }
  const targets = panels.flatMap(([, panel]) => panel.targets);
  expect(targets.length).toBeGreaterThan(panels.length);
  for (const { expr, legend = '' } of targets) {
    const there = usesIn(parse(filled(expr))).flatMap(({ name }) => known(name) ?? []);
    const named = [...legend.matchAll(/{{(\w+)}}/g)].map(([, label = '']) => label);
    expect(named.filter((label) => !there.includes(label))).toEqual([]);
  }
});

import { readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';
import { parse, type Expr } from '../promql/index.ts';
import { createMinterMetrics } from './metrics.ts';

/** The alerts that we ship ask only for what the minter exposes, in PromQL that our own engine takes. */

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; description: string };
}
const file = readFileSync(new URL('../../config/prometheus/minter-alerts.yaml', import.meta.url), 'utf8');
const { groups } = (parseYaml(file) as { spec: { groups: { rules: Rule[] }[] } }).spec;
const rules = groups.flatMap((group) => group.rules);

const { registry } = createMinterMetrics({ version: 'v', commit: 'c' }, () => null);
const exposed = new Map(registry.getMetricsAsArray().map((metric) => [metric.name, metric as unknown as Shape]));
interface Shape {
  labelNames: readonly string[];
}
/** What a scrape adds. */
const targetLabels = ['namespace', 'pod', 'job', 'le'];

function selectorsOf(node: unknown): { name: string; labels: string[] }[] {
  if (typeof node !== 'object' || node === null) return [];
  const matchers = (node as { matchers?: { name: string; value: string }[] }).matchers;
  const nested = Object.values(node).flatMap(selectorsOf);
  if (!Array.isArray(matchers)) return nested;
  const name = matchers.find((matcher) => matcher.name === '__name__')?.value ?? '';
  const labels = matchers.map((matcher) => matcher.name).filter((label) => label !== '__name__');
  return [...nested, { name, labels }];
}

test.each(rules.map((rule) => [rule.alert, rule] as const))('%s asks for what there is', (_alert, rule) => {
  const tree: Expr = parse(rule.expr);
  const selectors = selectorsOf(tree);
  expect(selectors.length).toBeGreaterThan(0);
  for (const { name, labels } of selectors) {
    const metric = exposed.get(name.replace(/_bucket$/, ''));
    expect([name, metric !== undefined]).toEqual([name, true]);
    expect(labels.filter((label) => ![...metric!.labelNames, ...targetLabels].includes(label))).toEqual([]);
  }
  expect(rule.annotations.summary).toMatch(/\.$/);
  expect(rule.annotations.description).toBeTruthy();
});

test('there is an alert for each way in which a minter lets its callers down', () => {
  expect(rules.map((rule) => rule.alert)).toEqual([
    'MinterErrors',
    'MinterSlow',
    'MinterNotReady',
    'MinterRulesFaulty',
    'MinterNoMints',
    'MinterPlatformQuotaLow',
  ]);
});

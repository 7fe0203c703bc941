import { escapedPattern } from '../../../base/text/texts.ts';
import { metricName, type Labels } from '../../../promql/index.ts';
import { describedResource, type DescribedResource } from '../resources.ts';
import { takesSeries } from './query-template.ts';
import type { AdapterRule } from './rule.ts';

/** A metric of the custom metrics API that an adapter rule makes from existing series. */
export interface RuleMetric {
  readonly rule: AdapterRule;
  readonly metric: string;
  /** The series' own name. */
  readonly series: string;
  /** Kind of object → the label that names the object. */
  readonly labels: ReadonlyMap<string, string>;
}

/**
 * The metrics that a rule makes from the found series that pass its filters. Each has its name, and the kinds of
 * objects that the labels name. Pure.
 */
export function ruleMetrics(rule: AdapterRule, found: Iterable<Labels>): RuleMetric[] {
  const metrics = new Map<string, { metric: string; labels: Map<string, string> }>();
  for (const labels of found) {
    const series = metricName(labels) ?? '';
    if (!rule.seriesFilters.every(({ is, isNot }) => (is?.test(series) ?? true) && !isNot?.test(series))) continue;
    if (!takesSeries(rule.metricsQuery, series)) continue;
    const metric = nameOf(rule, series);
    if (metric === undefined) continue;
    const known = metrics.get(series) ?? { metric, labels: new Map<string, string>() };
    metrics.set(series, known);
    for (const [label] of labels) {
      const resource = resourceOf(rule, label);
      if (resource) known.labels.set(resource.name, label);
    }
  }
  return [...metrics].map(([series, { metric, labels }]) => ({ rule, metric, series, labels }));
}

/** The metrics of both lists. A metric that is in both describes the kinds of both. */
export function unitedMetrics(some: readonly RuleMetric[], others: readonly RuleMetric[]): RuleMetric[] {
  const united = new Map(some.map((metric) => [metric.series, metric]));
  for (const other of others) {
    const known = united.get(other.series);
    united.set(other.series, known ? { ...known, labels: new Map([...known.labels, ...other.labels]) } : other);
  }
  return [...united.values()];
}

/**
 * The metric's name for a series' name; undefined if the rule does not match it. In `nameAs`, `$1` and `${1}` are
 * references to groups, as in Go's regular expressions.
 */
function nameOf({ nameMatches, nameAs }: AdapterRule, series: string): string | undefined {
  const match = nameMatches.exec(series);
  if (!match) return undefined;
  if (nameAs === undefined) return match[1] ?? series;
  return nameAs.replaceAll(/\$\{?(\w+)\}?/g, (_, group: string) =>
    /^\d+$/.test(group) ? (match[Number(group)] ?? '') : (match.groups?.[group] ?? ''),
  );
}

function resourceOf({ overrides, template }: AdapterRule, label: string): DescribedResource | undefined {
  const override = overrides.get(label);
  if (override !== undefined) return describedResource(override) ?? describedResource(withGroup(override));
  if (template === undefined) return undefined;
  const pattern = escapedPattern(template)
    .replaceAll(/<<\s*\\\.Resource\s*>>/g, '(?<resource>[a-z]+)')
    .replaceAll(/<<\s*\\\.Group\s*>>/g, '(?<group>[a-z.]*)');
  const { resource, group } = new RegExp(`^${pattern}$`).exec(label)?.groups ?? {};
  if (resource === undefined) return undefined;
  const plural = resource.endsWith('s') ? resource : `${resource}s`;
  return describedResource(group ? `${plural}.${group}` : plural) ?? describedResource(withGroup(plural));
}

/** Rules may omit the API group of a kind, because each of these plurals belongs to one group only. */
const withGroup = (plural: string): string =>
  ['jobs', 'cronjobs'].includes(plural) ? `${plural}.batch` : `${plural}.apps`;

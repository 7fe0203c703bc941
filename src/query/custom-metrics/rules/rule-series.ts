import { metricName, type Labels } from '../../../promql/index.ts';
import { describedResource, type DescribedResource } from '../../../api/described-resources.ts';
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

/** The metrics that the rules make from the series that exist now. */
export interface RuleMetrics {
  readonly custom: readonly RuleMetric[];
  readonly external: readonly RuleMetric[];
}

/**
 * The metrics that a rule makes from the found series that pass its filters. Each has its name, and the kinds of
 * objects that the labels name. Pure.
 */
export function ruleMetrics(rule: AdapterRule, found: Iterable<Labels>): RuleMetric[] {
  /** By series' name; undefined for a name that gives no metric. */
  const metrics = new Map<string, ReturnType<typeof emptyMetric>>();
  const kinds = new Map<string, DescribedResource | undefined>();
  for (const labels of found) {
    const series = metricName(labels) ?? '';
    if (!metrics.has(series)) metrics.set(series, emptyMetric(rule, series));
    const known = metrics.get(series);
    if (!known) continue;
    for (const [label] of labels) {
      if (!kinds.has(label)) kinds.set(label, resourceOf(rule, label));
      const resource = kinds.get(label);
      if (resource) known.labels.set(resource.name, label);
    }
  }
  return [...metrics.values()].filter((metric) => metric !== undefined);
}

function emptyMetric(rule: AdapterRule, series: string): (RuleMetric & { labels: Map<string, string> }) | undefined {
  if (!rule.selects(series) || !takesSeries(rule.metricsQuery, series)) return undefined;
  const metric = rule.nameOf(series);
  return metric === undefined ? undefined : { rule, metric, series, labels: new Map<string, string>() };
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

function resourceOf({ overrides, kindOf }: AdapterRule, label: string): DescribedResource | undefined {
  const override = overrides.get(label);
  if (override !== undefined) return describedResource(override) ?? describedResource(withGroup(override));
  const kind = kindOf?.(label);
  if (!kind) return undefined;
  const { resource, group } = kind;
  const plural = resource.endsWith('s') ? resource : `${resource}s`;
  return describedResource(group === '' ? plural : `${plural}.${group}`) ?? describedResource(withGroup(plural));
}

/** Rules may omit the API group of a kind, because each of these plurals belongs to one group only. */
const withGroup = (plural: string): string =>
  ['jobs', 'cronjobs'].includes(plural) ? `${plural}.batch` : `${plural}.apps`;

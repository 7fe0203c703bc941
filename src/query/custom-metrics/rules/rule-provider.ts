import { parse, type Matcher } from '../../../promql/index.ts';
import { anyOf } from '../../../base/text/texts.ts';
import type { MetricProvider, MetricQuery } from '../providers/provider.ts';
import { sampleSelectors, widestRange } from '../providers/selectors.ts';
import { describedResource } from '../resources.ts';
import { fillTemplate } from './query-template.ts';
import type { RuleMetric } from './rule-series.ts';
import type { WatchedRules } from './watch-rules.ts';

/** The metrics that the rules make from the series that exist now. */
export interface RuleMetrics {
  readonly custom: readonly RuleMetric[];
  readonly external: readonly RuleMetric[];
}

/** Metrics of rules in the style of prometheus-adapter. The first rule that makes a metric for a kind applies. */
export function ruleProvider({ metrics, notReady }: WatchedRules): MetricProvider {
  return {
    name: 'rule',
    notReady,
    names: () =>
      metrics().custom.flatMap(({ metric, labels }) =>
        [...labels.keys()].map((name) => ({ resource: describedResource(name)!, metric })),
      ),
    externalNames: () => metrics().external.map(({ metric }) => metric),
    find({ resource, namespace, metric, matchers, names }) {
      if (!resource) {
        const found = metrics().external.find((m) => m.metric === metric);
        return found && ruleQuery(found, [...(namespaceMatcher(found, namespace!) ?? []), ...matchers], undefined);
      }
      const found = metrics().custom.find((m) => m.metric === metric && m.labels.has(resource.name));
      const label = found?.labels.get(resource.name);
      if (!found || label === undefined) return undefined;
      const scope = namespace === undefined ? [] : namespaceMatcher(found, namespace);
      if (!scope) return undefined;
      return ruleQuery(found, [...scope, objectMatcher(label, names), ...matchers], label);
    },
  };
}

/** Undefined when the series carry no namespace: they then cannot be assigned to the objects of a namespace. */
function namespaceMatcher({ labels }: RuleMetric, value: string): Matcher[] | undefined {
  const name = labels.get('namespaces');
  return name === undefined ? undefined : [{ type: '=', name, value }];
}

function objectMatcher(name: string, names: readonly string[] | undefined): Matcher {
  if (names === undefined || names.length === 0) return { type: '!=', name, value: '' };
  return names.length === 1 ? { type: '=', name, value: names[0]! } : { type: '=~', name, value: anyOf(names) };
}

function ruleQuery({ rule, series }: RuleMetric, matchers: readonly Matcher[], label: string | undefined): MetricQuery {
  const value = fillTemplate(rule.metricsQuery, { series, matchers, label });
  const expr = parse(value);
  return { value, samples: sampleSelectors(expr), windowMs: widestRange(expr), label };
}

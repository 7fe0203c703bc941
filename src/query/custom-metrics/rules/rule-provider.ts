import { parse, type Matcher } from '../../../promql/index.ts';
import { anyOf } from '../../../base/text/texts.ts';
import type { MetricProvider, MetricQuery } from '../providers/provider.ts';
import { sampleTimes, widestRange } from '../providers/selectors.ts';
import { describedResource } from '../../../api/described-resources.ts';
import { fillTemplate, insertsValueOf } from './query-template.ts';
import type { RuleMetric } from './rule-series.ts';
import type { WatchedRules } from './watch-rules.ts';

/**
 * The longest list of names in a query: a rule may contain it several times, and a query has at most 131,072
 * characters. Units: characters.
 */
const longestNames = 8_192;

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
        if (!found) return undefined;
        const scope = found.rule.namespaced ? (namespaceMatcher(found, namespace!) ?? []) : [];
        return ruleQuery(found, [...scope, ...matchers], undefined);
      }
      const found = metrics().custom.find((m) => m.metric === metric && m.labels.has(resource.name));
      const label = found?.labels.get(resource.name);
      if (!found || label === undefined) return undefined;
      const scope = namespace === undefined ? [] : namespaceMatcher(found, namespace);
      if (!scope) return undefined;
      return ruleQuery(found, [...scope, objectMatcher(found, label, names), ...matchers], label);
    },
  };
}

/** Undefined when the series carry no namespace: they then cannot be assigned to the objects of a namespace. */
function namespaceMatcher({ labels }: RuleMetric, value: string): Matcher[] | undefined {
  const name = labels.get('namespaces');
  return name === undefined ? undefined : [{ type: '=', name, value }];
}

/**
 * The condition on the series of the requested objects. The value service picks its rows anyway, so a list that could
 * make the query too long is left out, unless the rule inserts the names themselves.
 */
function objectMatcher({ rule }: RuleMetric, name: string, names: readonly string[] | undefined): Matcher {
  if (names?.length === 1) return { type: '=', name, value: names[0]! };
  const value = anyOf(names ?? []);
  const isNeeded = value.length <= longestNames || insertsValueOf(rule.metricsQuery, name);
  return value !== '' && isNeeded ? { type: '=~', name, value } : { type: '!=', name, value: '' };
}

function ruleQuery({ rule, series }: RuleMetric, matchers: readonly Matcher[], label: string | undefined): MetricQuery {
  const value = fillTemplate(rule.metricsQuery, { series, matchers, label });
  const expr = parse(value);
  return { value, times: sampleTimes(expr), windowMs: widestRange(expr), label };
}

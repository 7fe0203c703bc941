import type { TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { metricsOffered } from './metric-conditions.ts';

type Metrics = NonNullable<NonNullable<TrafficMonitorSpec['autoscaling']>['metrics']>;

const declaring = (...metrics: Metrics): TrafficMonitorSpec => ({
  mode: 'Capture',
  selector: {},
  autoscaling: { metrics },
});
const spec = (...exprs: string[]): TrafficMonitorSpec =>
  declaring(...exprs.map((expr, i) => ({ name: `m${i}`, expr, resource: 'pods' })));
const preset = (resource: string) => ({ name: 'rps', preset: 'RequestsPerSecond' as const, resource });

test.each([
  ['no metrics', { mode: 'Capture', selector: {} } satisfies TrafficMonitorSpec, undefined],
  ['nothing in force', null, undefined],
  ['metrics, but suspended', { ...spec('sum(x)'), suspend: true }, undefined],
  ['sound expressions', spec('sum(x)', 'rate(x[1m])'), 'True Offered '],
  ['a preset', declaring(preset('deployments.apps')), 'True Offered '],
  ['a broken expression', spec('sum(x)', 'sum('), 'False ExpressionInvalid spec.autoscaling metric m1: expr: '],
  ['a costly expression', spec('avg_over_time(x[30d])'), 'False ExpressionTooCostly spec.autoscaling metric m0: '],
  [
    'a kind without its group',
    declaring(preset('deployments')),
    'False ResourceUnknown spec.autoscaling metric rps: resource: no captured series names deployments; a metric can describe pods, deployments.apps, ',
  ],
  [
    'a kind without namespace, and a broken expression',
    declaring({ name: 'm0', expr: 'sum(', resource: 'nodes' }, ...spec('sum(x)', 'sum(').autoscaling!.metrics!),
    'False ResourceUnknown spec.autoscaling metric m0: resource: a monitor covers one namespace, and nodes are in none; spec.autoscaling metric m0: expr: 1:5: parse error: unclosed left parenthesis; spec.autoscaling metric m1: expr: ',
  ],
])('metricsOffered judges a monitor with %s', (_, own, expected) => {
  const [condition] = metricsOffered(own);
  const text = condition && `${condition.status} ${condition.reason} ${condition.message}`;
  if (expected === undefined) expect(text).toBeUndefined();
  else expect(text?.slice(0, expected.length)).toBe(expected);
});

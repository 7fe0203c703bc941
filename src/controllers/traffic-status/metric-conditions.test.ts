import type { TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { metricsOffered } from './metric-conditions.ts';

const spec = (...exprs: string[]): TrafficMonitorSpec => ({
  mode: 'Capture',
  selector: {},
  autoscaling: { metrics: exprs.map((expr, i) => ({ name: `m${i}`, expr, resource: 'pods' })) },
});

test.each([
  ['no metrics', { mode: 'Capture', selector: {} } satisfies TrafficMonitorSpec, undefined],
  ['sound expressions', spec('sum(x)', 'rate(x[1m])'), 'True Offered '],
  ['a broken expression', spec('sum(x)', 'sum('), 'False ExpressionInvalid spec.autoscaling metric m1: expr: '],
  ['a costly expression', spec('avg_over_time(x[30d])'), 'False ExpressionTooCostly spec.autoscaling metric m0: '],
])('metricsOffered judges a monitor with %s', (_, own, expected) => {
  const [condition] = metricsOffered(own);
  const text = condition && `${condition.status} ${condition.reason} ${condition.message}`;
  if (expected === undefined) expect(text).toBeUndefined();
  else expect(text?.startsWith(expected)).toBe(true);
});

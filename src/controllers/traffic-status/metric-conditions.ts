import type { TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { judgeMetric, type MetricFault } from '../../promql/index.ts';
import type { ConditionInput } from '../../runtime/index.ts';

/** A metric of a monitor that autoscalers are not offered, and why. */
export interface FaultyMetric extends MetricFault {
  readonly name: string;
  readonly expr: string;
}

/** A monitor's metrics whose expressions cannot be evaluated or cost too much. Pure. */
export function faultyMetrics(spec: TrafficMonitorSpec): FaultyMetric[] {
  return (spec.autoscaling?.metrics ?? []).flatMap(({ name, expr }) => {
    const fault = expr === undefined ? undefined : judgeMetric(expr);
    return expr === undefined || fault === undefined ? [] : [{ name, expr, ...fault }];
  });
}

/** One sentence for each faulty metric. */
export function faultText(faults: readonly FaultyMetric[]): string {
  return faults.map(({ name, message }) => `spec.autoscaling metric ${name}: expr: ${message}`).join('; ');
}

/** `MetricsOffered`: whether autoscalers can query the expressions of a monitor; absent without expressions. */
export function metricsOffered(spec: TrafficMonitorSpec): ConditionInput[] {
  const type = 'MetricsOffered';
  if (!spec.autoscaling?.metrics?.some(({ expr }) => expr !== undefined)) return [];
  const faults = faultyMetrics(spec);
  if (faults.length === 0) return [{ type, status: 'True', reason: 'Offered', message: '' }];
  const reason = faults.some((one) => one.reason === 'invalid') ? 'ExpressionInvalid' : 'ExpressionTooCostly';
  return [{ type, status: 'False', reason, message: faultText(faults).slice(0, 1_024) }];
}

import { cutToUnits } from '../../base/text/texts.ts';
import { unofferedKind } from '../../api/described-resources.ts';
import type { TrafficMonitorSpec } from '../../api/v1alpha1/index.ts';
import { judgeMetric, type MetricFault } from '../../promql/index.ts';
import type { ConditionInput } from '../../runtime/index.ts';

/** A fault for which autoscalers are not offered a monitor's metric. */
export interface FaultyMetric {
  readonly name: string;
  readonly reason: MetricFault['reason'] | 'resource';
  readonly message: string;
  /** The field at fault, and its value. */
  readonly field: 'resource' | 'expr';
  readonly value: string;
}

/**
 * The faults of a monitor's metrics: kinds that it cannot describe, and expressions that cannot be evaluated or cost too
 * much. A metric may have both. Pure.
 */
export function faultyMetrics(spec: TrafficMonitorSpec): FaultyMetric[] {
  return (spec.autoscaling?.metrics ?? []).flatMap(({ name, expr, resource }) => {
    const faults: FaultyMetric[] = [];
    const unoffered = unofferedKind(resource);
    if (unoffered !== undefined) {
      faults.push({ name, reason: 'resource', message: unoffered, field: 'resource', value: resource });
    }
    const fault = expr === undefined ? undefined : judgeMetric(expr);
    if (expr !== undefined && fault !== undefined) faults.push({ name, ...fault, field: 'expr', value: expr });
    return faults;
  });
}

/** One sentence for each fault. */
export function faultText(faults: readonly FaultyMetric[]): string {
  return faults.map(({ name, field, message }) => `spec.autoscaling metric ${name}: ${field}: ${message}`).join('; ');
}

/**
 * `MetricsOffered`: whether autoscalers can ask for every metric of a monitor, by the spec that is in force. Absent
 * while the monitor is suspended, and where the spec in force has no metrics or there is none.
 */
export function metricsOffered(inForce: TrafficMonitorSpec | null): ConditionInput[] {
  const type = 'MetricsOffered';
  if (!inForce?.autoscaling?.metrics?.length || inForce.suspend) return [];
  const faults = faultyMetrics(inForce);
  if (faults.length === 0) return [{ type, status: 'True', reason: 'Offered', message: '' }];
  const reason = faultReasons.find(([fault]) => faults.some((one) => one.reason === fault))![1];
  return [{ type, status: 'False', reason, message: cutToUnits(faultText(faults), 1_024) }];
}

/** The reason of the condition for each fault, in order of precedence. */
const faultReasons = [
  ['resource', 'ResourceUnknown'],
  ['invalid', 'ExpressionInvalid'],
  ['costly', 'ExpressionTooCostly'],
] as const satisfies readonly (readonly [FaultyMetric['reason'], string])[];

import type { Condition, KubeObject } from '../../../api/meta.ts';
import {
  clusterTrafficPolicyConditions,
  minterDeploymentConditions,
  trafficMonitorConditions,
  type ClusterTrafficPolicy,
  type TrafficMonitor,
} from '../../../api/v1alpha1/index.ts';
import type { Reading } from '../cluster/view.ts';
import { about, type Check, type CheckState, type Section } from './check.ts';
import { wayOut, ways } from './hints.ts';
import { badConditions, conditionLine, readinessOf, type Conditioned, type ConditionTable } from './readiness.ts';

/** One of our kinds, as a report shows it. */
export interface ObjectKind {
  readonly section: Section;
  readonly plural: string;
  readonly table: ConditionTable;
  /** Conditions other than Ready whose bad status is a fault; the bad status of any other condition is a note. */
  readonly faults: ReadonlySet<string>;
  /** Reasons of bad conditions that are normal for a healthy object. */
  readonly quiet: ReadonlySet<string>;
  /** The numbers in the status of an object, as text. */
  figures(object: Conditioned): string;
}

export const monitorKind: ObjectKind = {
  section: 'monitors',
  plural: 'trafficmonitors',
  table: trafficMonitorConditions,
  faults: new Set(['Exporting']),
  quiet: new Set(['NoTraffic', 'NoMatchingPods']),
  figures({ status }: TrafficMonitor & KubeObject) {
    const { desired = 0, capturing = 0 } = status?.nodes ?? {};
    return `${status?.matchedPods ?? 0} pods, ${capturing}/${desired} nodes with data, ${status?.activeSeries ?? 0} series`;
  },
};
export const policyKind: ObjectKind = {
  section: 'policies',
  plural: 'clustertrafficpolicies',
  table: clusterTrafficPolicyConditions,
  faults: new Set(['Degraded', 'Exporting', 'CertificateExpiring']),
  // A policy switches flows off on purpose.
  quiet: new Set(['SwitchedOff']),
  figures({ status }: ClusterTrafficPolicy & KubeObject) {
    const { desired = 0, updated = 0, failed = 0 } = status?.nodes ?? {};
    return `${updated}/${desired} nodes${failed > 0 ? `, ${failed} failed` : ''}, ${status?.monitors?.accepted ?? 0} monitors`;
  },
};
export const minterKind: ObjectKind = {
  section: 'minters',
  plural: 'minterdeployments',
  table: minterDeploymentConditions,
  faults: new Set(),
  quiet: new Set(),
  figures: () => '',
};

/** Whether flows are captured is a condition of each policy; without a policy only this line shows it. */
export function flowChecks(reading: Reading<ClusterTrafficPolicy & KubeObject>): Check[] {
  if (reading.fault !== undefined || reading.items.length > 0) return [];
  return [about('nodes', 'flows')('note', 'off: no policy enables them', ways['NotEnabled'])];
}

/** A line for each object of a kind. */
export function objectChecks(reading: Reading<KubeObject>, kind: ObjectKind): Check[] {
  if (reading.fault !== undefined) return [about(kind.section, kind.plural)('unknown', reading.fault)];
  return reading.items.map((object) => objectCheck(object, kind));
}

function objectCheck(object: Conditioned, kind: ObjectKind): Check {
  const { namespace, name = '' } = object.metadata;
  const readiness = readinessOf(object);
  const other = badConditions(object.status?.conditions, kind.table).find(
    (c) => !['Ready', 'Reconciling', 'Stalled'].includes(c.type) && !kind.quiet.has(c.reason),
  );
  const state = readiness.state === 'ok' && other ? besides(other, kind) : readiness.state;
  const reason = readiness.reason ?? (state === 'ok' ? undefined : other?.reason);
  const told = readiness.state === 'ok' && other && other.message !== '' ? `${other.type}: ${other.message}` : '';
  const words = [readiness.text, conditionLine(object.status?.conditions, kind.table), kind.figures(object), told];
  const hint = reason === undefined ? undefined : wayOut(reason, { plural: kind.plural, name, namespace });
  const subject = namespace === undefined ? name : `${namespace}/${name}`;
  return about(kind.section, subject)(state, words.filter((part) => part !== '').join('; '), hint);
}

function besides({ type }: Condition, kind: ObjectKind): CheckState {
  return kind.faults.has(type) ? 'bad' : 'note';
}

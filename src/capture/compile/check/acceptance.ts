import type {
  ClusterTrafficPolicy,
  ClusterTrafficPolicySpec,
  TrafficMonitor,
  TrafficMonitorSpec,
} from '../../../api/v1alpha1/index.ts';
import { errorText } from '../../../base/errors.ts';
import { largestSpanRing, maxPolicies } from '../../capture-config.ts';
import { parseBytes } from '../bytes.ts';
import { headerFault } from '../headers.ts';
import { lastMonitorSpec, lastPolicySpec } from './last-accepted.ts';
import { monitorFinding } from './monitor-checks.ts';
import { policyFinding } from './policy-checks.ts';
import { byAge, comparePolicies } from '../select/precedence.ts';
import { matchesSelector } from '../select/selector.ts';
import type { PolicyInForce } from '../settings.ts';
import type { CompileEnvironment, Finding, NamedLabels } from '../types.ts';

/** The verdict on one policy or monitor, and the spec that goes into the nodes' configs for it. */
export interface Judged<T extends { spec: unknown }> {
  object: T;
  accepted: { ok: boolean; reason: string; message: string };
  /** Null if nothing of the object goes into the configs. */
  inForce: T['spec'] | null;
}

const accepted = { ok: true, reason: 'Accepted', message: '' } as const;

/**
 * Judges the policies, and returns the strongest first. An invalid one is represented by its last accepted spec, if it
 * has one that still compiles: a typing mistake must not switch off exclusions or ceilings. Of more policies than a
 * config can hold the oldest are in force.
 */
export function judgePolicies(
  policies: readonly ClusterTrafficPolicy[],
  environment: Pick<CompileEnvironment, 'instrumentVersion' | 'allowExtraConfig'>,
): Judged<ClusterTrafficPolicy>[] {
  const judged = policies.map((object): Judged<ClusterTrafficPolicy> => {
    const last = lastPolicySpec(object.status);
    const findingOf = (spec: ClusterTrafficPolicySpec): Finding | null =>
      findingBy(() => policyFinding(spec, environment, last));
    const finding = findingOf(object.spec);
    if (!finding) return { object, accepted: acceptedPolicy(object.spec), inForce: object.spec };
    return {
      object,
      accepted: { ok: false, reason: finding.reason, message: finding.message },
      inForce: last && findingOf(last) === null ? last : null,
    };
  });
  return withinBound(judged).toSorted((a, b) =>
    comparePolicies(
      { metadata: a.object.metadata, spec: a.inForce ?? a.object.spec },
      { metadata: b.object.metadata, spec: b.inForce ?? b.object.spec },
    ),
  );
}

/** Refuses the youngest of the policies in force if they are more than a config can hold. */
function withinBound(judged: readonly Judged<ClusterTrafficPolicy>[]): readonly Judged<ClusterTrafficPolicy>[] {
  const inForce = judged.filter((one) => one.inForce);
  if (inForce.length <= maxPolicies) return judged;
  const oldestFirst = inForce.toSorted((a, b) => byAge(a.object.metadata, b.object.metadata));
  const beyond = new Set(oldestFirst.slice(maxPolicies));
  const message = `${maxPolicies} older policies are in force, as many as an agent takes`;
  const refusal = { ok: false, reason: 'TooManyPolicies', message };
  return judged.map((one) =>
    beyond.has(one) ? { ...one, accepted: one.accepted.ok ? refusal : one.accepted, inForce: null } : one,
  );
}

/** The policies with a spec in force, in their order. */
export function policiesInForce(judged: readonly Judged<ClusterTrafficPolicy>[]): PolicyInForce[] {
  return judged.flatMap(({ object, inForce }) =>
    inForce ? [{ name: object.metadata.name ?? '', spec: inForce }] : [],
  );
}

/** Accepted, with a note if an agent gives spans less memory than the policy asks for. */
function acceptedPolicy({ retention }: ClusterTrafficPolicySpec): Judged<ClusterTrafficPolicy>['accepted'] {
  const size = retention?.spans?.size;
  if (size === undefined || parseBytes(size) <= largestSpanRing) return accepted;
  const message = `spec.retention.spans.size: ${size} is lowered to ${largestSpanRing / 1024 ** 2}Mi, the most memory that an agent gives to spans`;
  return { ok: true, reason: 'LimitClamped', message };
}

/**
 * Judges the monitors, and returns the oldest first. A monitor whose namespace may not have monitors, or already has as
 * many as allowed, is refused even if its spec was accepted before. An invalid spec is represented by the last accepted
 * one if that is still valid.
 */
export function judgeMonitors(
  monitors: readonly TrafficMonitor[],
  policies: readonly PolicyInForce[],
  namespaces: readonly NamedLabels[],
): Judged<TrafficMonitor>[] {
  const labels = new Map(namespaces.map((ns) => [ns.name, ns.labels]));
  const coverings = new Map<string, readonly PolicyInForce[]>();
  const taken = new Map<string, number>();
  return monitors
    .toSorted((a, b) => byAge(a.metadata, b.metadata))
    .map((object) => {
      const namespace = object.metadata.namespace ?? '';
      const own = labels.get(namespace) ?? {};
      const covering =
        coverings.get(namespace) ?? policies.filter((p) => matchesSelector(p.spec.namespaceSelector, own));
      coverings.set(namespace, covering);
      const verdict = judgeSpec(object, covering);
      if (!verdict.inForce && !verdict.accepted.ok) return verdict;
      const refused = namespaceFault(namespace, own, covering, taken.get(namespace) ?? 0);
      if (refused) {
        return { object, accepted: { ok: false, reason: 'NamespaceNotAllowed', message: refused }, inForce: null };
      }
      taken.set(namespace, (taken.get(namespace) ?? 0) + 1);
      return verdict;
    });
}

function judgeSpec(object: TrafficMonitor, covering: readonly PolicyInForce[]): Judged<TrafficMonitor> {
  const findingOf = (spec: TrafficMonitorSpec): Finding | null =>
    findingBy(() => {
      const headers = headerFault(spec, covering);
      return monitorFinding(spec) ?? (headers ? { reason: 'Invalid', message: headers } : null);
    });
  const finding = findingOf(object.spec);
  if (!finding) return { object, accepted, inForce: object.spec };
  const last = lastMonitorSpec(object.status);
  return {
    object,
    accepted: { ok: false, reason: finding.reason, message: finding.message },
    inForce: last && findingOf(last) === null ? last : null,
  };
}

/**
 * The finding of a check. A check that throws counts as a fault of this object, so that it does not stop the compile of
 * the others. The API server does not check an object that was stored before a rule was added.
 */
function findingBy(check: () => Finding | null): Finding | null {
  try {
    return check();
  } catch (error) {
    return { reason: 'Invalid', message: `spec: cannot be read: ${errorText(error)}` };
  }
}

/** Why a namespace may not have one more monitor. Each policy that covers the namespace must allow it. */
function namespaceFault(
  namespace: string,
  labels: Readonly<Record<string, string>>,
  covering: readonly PolicyInForce[],
  taken: number,
): string | null {
  const forbids = covering.find((p) => p.spec.monitorNamespaces && !matchesSelector(p.spec.monitorNamespaces, labels));
  if (forbids) {
    return `namespace ${namespace} may not have monitors: ClusterTrafficPolicy ${forbids.name} monitorNamespaces`;
  }
  const ceilings = covering.flatMap((p) => p.spec.limits?.maxMonitorsPerNamespace ?? []);
  const max = ceilings.length > 0 ? Math.min(...ceilings) : builtinMaxMonitors;
  return taken >= max ? `namespace ${namespace} already has ${max} older monitors, as many as allowed` : null;
}

/** Monitors per namespace unless a policy sets another number. */
const builtinMaxMonitors = 20;

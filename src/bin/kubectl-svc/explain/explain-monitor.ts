import type { ExplainStep } from '../../../api/page/types.ts';
import type { KubeObject } from '../../../api/meta.ts';
import { trafficMonitorConditions, type TrafficMonitor } from '../../../api/v1alpha1/index.ts';
import { no, note, unknown, yes } from '../../../capture/explain/index.ts';
import { matchPods, podMismatch, silencedMonitors, type MonitorOutcome } from '../../../capture/index.ts';
import { itemsOf } from '../cluster/view.ts';
import { ways, nodeWayOut } from '../status/hints.ts';
import { isGood } from '../status/readiness.ts';
import type { Known } from './explain-pod.ts';

/** Why a monitor captures or does not: its own conditions, step by step. Pods are explained one by one. Pure. */
export function monitorSteps(monitor: TrafficMonitor & KubeObject, all: Known): ExplainStep[] {
  const path = `${monitor.metadata.namespace}/${monitor.metadata.name}`;
  const outcome = all.compiled?.monitors.get(path);
  return [
    observedStep(monitor),
    ...(outcome
      ? [acceptedStep(outcome), activeStep(outcome), matchStep(monitor, outcome, all), policyStep(outcome, path, all)]
      : [unknown('accepted', 'not everything that monitors are compiled from could be read')]),
    ...['ResolvedRefs', 'Programmed', 'Capturing', 'Conflicted', 'LimitsExceeded', 'Exporting'].flatMap((type) =>
      conditionStep(monitor, type),
    ),
    ...(monitor.status?.failedNodes ?? []).map(({ name, reason, message = '' }) =>
      no(`node ${name}`, [reason, message].filter(Boolean).join(': '), nodeWayOut(reason, name)),
    ),
  ];
}

/** Names of the pods that a monitor selects now. */
export function podsOfMonitor(monitor: TrafficMonitor & KubeObject, all: Known): string[] {
  const own = all.input.pods.filter(({ namespace }) => namespace === monitor.metadata.namespace);
  return matchPods(monitor.spec, own).map(({ name }) => name);
}

function observedStep({ metadata, status }: TrafficMonitor): ExplainStep {
  const [generation, observed] = [metadata.generation ?? 0, status?.observedGeneration ?? 0];
  if (observed >= generation) return yes('judged', `generation ${generation}`);
  return no(
    'judged',
    `generation ${generation} is not judged yet, the last one is ${observed}`,
    'wait; if it stays so: kubectl svc status, Operator',
  );
}

function acceptedStep({ accepted, inForce }: MonitorOutcome): ExplainStep {
  if (accepted.ok)
    return accepted.message === '' ? yes('accepted', 'the spec is accepted') : note('accepted', accepted.message);
  const still = inForce ? '; the last accepted spec stays in force' : '; nothing of it is in force';
  return no('accepted', `${accepted.reason}: ${accepted.message}${still}`, ways[accepted.reason] ?? 'correct the spec');
}

function activeStep({ suspended, pausedBy, inForce }: MonitorOutcome): ExplainStep {
  if (suspended) return no('active', 'spec.suspend is true', 'set suspend: false');
  if (pausedBy)
    return no(
      'active',
      `ClusterTrafficPolicy/${pausedBy} pauses capture here`,
      `set paused: false on ClusterTrafficPolicy ${pausedBy}`,
    );
  return yes('active', inForce?.mode === 'Exclude' ? 'it excludes what it selects' : 'neither suspended nor paused');
}

function matchStep(
  monitor: TrafficMonitor,
  { matchedPods, nodes }: MonitorOutcome,
  { input, view }: Known,
): ExplainStep {
  const asks = 'pods';
  if (view.pods.fault !== undefined) return unknown(asks, view.pods.fault);
  if (matchedPods > 0) return yes(asks, `${matchedPods} pods on ${nodes.length} nodes`);
  const others = input.pods.filter(({ namespace }) => namespace === monitor.metadata.namespace);
  if (others.length === 0)
    return no(asks, `no pod runs in namespace ${monitor.metadata.namespace}`, 'kubectl get pods there');
  const reasons = Map.groupBy(others, (pod) => podMismatch(monitor.spec, pod) ?? '');
  const [why, pods] = [...reasons].toSorted(([, a], [, b]) => b.length - a.length)[0]!;
  return no(
    asks,
    `none of ${others.length} pods matches; ${pods[0]!.name}: ${why}`,
    'correct selector, workloads or containers',
  );
}

function policyStep({ policyRefs, overriddenFields }: MonitorOutcome, path: string, { input }: Known): ExplainStep {
  const silenced = silencedMonitors(input).get(path);
  if (silenced)
    return no(
      'policy',
      `it captures nothing: ${silenced}`,
      'change the overrides of the policy, or what the monitor asks for',
    );
  const by = policyRefs.length > 0 ? `under ${policyRefs.join(', ')}` : 'no policy counts';
  return yes('policy', overriddenFields.length > 0 ? `${by}; overridden: ${overriddenFields.join(', ')}` : by);
}

/** Reasons that need no action: the steps of the pods have the details. */
const quiet = new Set([
  'NoTraffic',
  'NoMatchingPods',
  'OverriddenByPolicy',
  'OverriddenByMonitor',
  'SeriesLimit',
  'SpanRateLimit',
  'RollingOut',
  'RestartsLimited',
  'RestartBackOff',
]);

/** The question that each condition answers, in a word. */
const questions: Readonly<Record<string, string>> = {
  ResolvedRefs: 'references',
  Programmed: 'programmed',
  Capturing: 'capturing',
  Conflicted: 'conflicts',
  LimitsExceeded: 'limits',
  Exporting: 'exports',
};

function conditionStep({ status }: TrafficMonitor, type: string): ExplainStep[] {
  const condition = status?.conditions?.find((c) => c.type === type);
  if (!condition) return [];
  const asks = questions[type] ?? type;
  const fact = [condition.reason, condition.message].filter(Boolean).join(': ');
  if (isGood(condition, trafficMonitorConditions)) return [yes(asks, fact)];
  const way = ways[condition.reason] ?? 'kubectl describe the monitor';
  return [quiet.has(condition.reason) ? note(asks, fact, way) : no(asks, fact, way)];
}

/** The monitor with this name. */
export function findMonitor(all: Known, namespace: string, name: string): (TrafficMonitor & KubeObject) | undefined {
  return itemsOf(all.view.monitors).find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}
